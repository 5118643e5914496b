// SPDX-License-Identifier: MIT
// Text: what is in a file, its first line, and words without what stands around them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace dent {

// A file's bytes; nothing where it can't be read.
std::optional<std::string> read_text(const std::filesystem::path& file);
std::string text_of(const std::filesystem::path& file);  // the same, with "" for nothing

std::string first_line(std::string_view text);
std::string trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

}  // namespace dent
