// SPDX-License-Identifier: MIT
// Reading text files, and trimming text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace dent {

// A file's bytes; nothing if it can't be read.
std::optional<std::string> read_text(const std::filesystem::path& file);
std::string text_of(const std::filesystem::path& file);  // as read_text, but "" if it can't be read

// Untrusted text made safe for a terminal: one line without control characters, at most `most` bytes.
std::string printable(std::string_view text, std::size_t most = 400);

std::string first_line(std::string_view text);
std::string trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

}  // namespace dent
