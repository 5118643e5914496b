// SPDX-License-Identifier: MIT
// The append-only record of everything that was measured: one JSON record a line, each on disk before
// append() returns. Whoever dies while writing leaves at most a torn last line, which the next to open the
// ledger removes.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "system/file_descriptor.h"
#include "records/record.h"

namespace dent {

struct LedgerContent {
  std::vector<Record> records;
  std::size_t whole_bytes = 0;  // up to the end of the last whole record
  std::size_t torn_bytes = 0;   // behind that
};

// For readers: changes nothing. Throws Error when a line other than the last is broken or out of number.
LedgerContent read_ledger(const std::filesystem::path& file);

class Ledger {
 public:
  // Opens for writing, creates the file when there is none, and cuts a torn last line off. The caller holds
  // the project's lock.
  explicit Ledger(const std::filesystem::path& file);

  // On disk when this returns. Throws Error (environment) when it can't be, for example on a full disk: the
  // ledger then ends with the record before, and appending may be tried again.
  const Record& append(std::string_view kind, nlohmann::json data);

  const std::vector<Record>& records() const { return records_; }
  std::size_t torn_bytes() const { return torn_bytes_; }  // that were cut off at the start

 private:
  void roll_back();

  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::vector<Record> records_;
  std::size_t bytes_ = 0;
  std::size_t torn_bytes_ = 0;
  bool beyond_trust_ = false;  // a sync failed or a roll-back did: what is on disk is unknown
};

}  // namespace dent
