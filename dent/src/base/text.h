// SPDX-License-Identifier: MIT
// Text: what is in a file, its first line, and words without what stands around them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace dent {

// A file's bytes; nothing where it can't be read.
std::optional<std::string> read_text(const std::filesystem::path& file);
std::string text_of(const std::filesystem::path& file);  // the same, with "" for nothing

// Foreign text for a terminal: one line without control characters, cut after so many bytes.
std::string printable(std::string_view text, std::size_t most = 400);

std::string first_line(std::string_view text);
std::string trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

}  // namespace dent
