// SPDX-License-Identifier: MIT
// Files that another author or another machine has sent: plain files and folders, and no more of them than is
// allowed. An archive may hold links that lead elsewhere, and files that grow without end when it is unpacked.
#pragma once

#include <cstdint>
#include <filesystem>

namespace dent {

struct SentLimits {
  std::int64_t bytes = std::int64_t{4} << 30;
  std::int64_t files = 100'000;
  double seconds = 3600;
};

// A tar archive, compressed or not, into an empty folder. Throws Error; what was unpacked by then stays.
void unpack(const std::filesystem::path& archive, const std::filesystem::path& folder,
            const SentLimits& limits = {});

// Moves or copies what lies in a folder into another, over what has the same name there. Throws Error before
// it has begun where there is something else than plain files and folders, or too much.
void take_files(const std::filesystem::path& from, const std::filesystem::path& to,
                const SentLimits& limits = {});

}  // namespace dent
