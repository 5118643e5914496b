// SPDX-License-Identifier: MIT
// The append-only record of everything that was measured: one record a line (records/line.h), on disk before
// append() returns. Whoever dies while writing leaves at most a torn last line, which the next to open the
// ledger removes. Lines are chained by their hashes: a ledger that was edited in place is not read. The seal, a
// file beside it, holds the number of lines and the hash of the last: a ledger whose end was cut off is not
// read either.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "records/any_record.h"
#include "system/file_descriptor.h"

namespace dent {

struct LedgerContent {
  std::vector<Record> records;
  std::int64_t lines = 0;
  std::int64_t unchained = 0;   // of them, at the beginning: schema 1 has no chain
  std::string chain;            // of the last whole line
  std::size_t whole_bytes = 0;  // up to the end of the last whole record
  std::size_t torn_bytes = 0;   // behind that
};

// ledger.jsonl -> ledger.seal
std::filesystem::path seal_of(const std::filesystem::path& ledger);

// For readers: changes nothing. Throws Error naming the first line that is broken, out of number, or does not
// fit the chain, and where lines are missing at the end; of the last one the end may be missing.
LedgerContent read_ledger(const std::filesystem::path& file);

class Ledger {
 public:
  // Opens for writing, creates the file when there is none, and cuts a torn last line off. The caller holds
  // the project's lock.
  explicit Ledger(const std::filesystem::path& file);

  // On disk when this returns. Throws Error (environment) when it can't be, for example on a full disk: the
  // ledger then ends with the record before, and appending may be tried again.
  void append(AnyRecord record, const std::string& step = {});
  void append(std::vector<AnyRecord> records, const std::string& step);  // all of them or none
  // What a job wrote into a ledger of its own, with our number, time and chain.
  void take_in(const Record& theirs, const std::string& job);

  const std::vector<Record>& records() const { return records_; }
  const std::string& chain() const {
    return chain_;
  }  // of the last line: whoever has it can tell an edited ledger
  std::size_t torn_bytes() const { return torn_bytes_; }  // that were cut off at the start

 private:
  void write(std::vector<Record> records);  // without number and time
  void seal() const;
  void roll_back();

  std::filesystem::path file_;
  FileDescriptor descriptor_, seal_;
  std::vector<Record> records_;
  std::int64_t lines_ = 0;
  std::string chain_;
  std::size_t bytes_ = 0;
  std::size_t torn_bytes_ = 0;
  bool beyond_trust_ = false;  // a sync failed or a roll-back did: what is on disk is unknown
};

}  // namespace dent
