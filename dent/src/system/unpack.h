// SPDX-License-Identifier: MIT
// Accepts files from other authors and machines: plain files and folders only, within limits. An archive may
// contain links that point outside, or unpack to files of unlimited size.
#pragma once

#include <cstdint>
#include <filesystem>

namespace dent {

struct SentLimits {
  std::int64_t bytes = std::int64_t{4} << 30;
  std::int64_t files = 100'000;
  double seconds = 3600;
};

// Unpacks a tar archive, compressed or not, into an empty folder. Throws Error if it is refused; files
// unpacked before remain.
void unpack(const std::filesystem::path& archive, const std::filesystem::path& folder,
            const SentLimits& limits = {});

// Moves or copies a folder's contents into another folder, replacing files of the same name. Throws Error
// before it begins if there is anything but plain files and folders, or too much.
void take_files(const std::filesystem::path& from, const std::filesystem::path& to,
                const SentLimits& limits = {});

}  // namespace dent
