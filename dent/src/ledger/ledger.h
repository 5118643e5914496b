// SPDX-License-Identifier: MIT
// The append-only file of everything that was measured: one record per line (records/line.h), on disk before
// append() returns. A process that dies while writing leaves at most a torn last line, which the next writer
// removes. Lines form a hash chain, so an edited ledger is rejected. The seal, a file next to it, holds the
// number of lines and the hash of the last one, so a ledger whose end was removed is rejected too.
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
  std::int64_t unchained = 0;   // lines at the beginning without a chain (schema 1)
  std::string chain;            // hash of the last complete line
  std::size_t whole_bytes = 0;  // size up to the end of the last complete record
  std::size_t torn_bytes = 0;   // size of the torn rest
};

// ledger.jsonl -> ledger.seal
std::filesystem::path seal_of(const std::filesystem::path& ledger);

// Reads a ledger without changing it. Throws Error naming the first line that is malformed, wrongly numbered
// or does not fit the chain, or if lines are missing at the end; a torn last line is not an error.
LedgerContent read_ledger(const std::filesystem::path& file);

class Ledger {
 public:
  // Opens for writing, creates the file if needed, and removes a torn last line. The caller must hold the
  // project's lock.
  explicit Ledger(const std::filesystem::path& file);

  // The record is on disk when this returns. Throws Error (environment) if it can't be written, for example
  // on a full disk; the ledger then ends with the previous record, and append() may be called again.
  void append(AnyRecord record, const std::string& step = {});
  void append(std::vector<AnyRecord> records, const std::string& step);  // writes all records or none
  // Copies a record of a job's own ledger, with this ledger's number, time and chain.
  void take_in(const Record& theirs, const std::string& job);

  const std::vector<Record>& records() const { return records_; }
  const std::string& chain() const { return chain_; }     // hash of the last line, which reveals later edits
  std::size_t torn_bytes() const { return torn_bytes_; }  // bytes of a torn line that the constructor removed

 private:
  void write(std::vector<Record> records);  // sets number and time
  void seal() const;
  void roll_back();

  std::filesystem::path file_;
  FileDescriptor descriptor_, seal_;
  std::vector<Record> records_;
  std::int64_t lines_ = 0;
  std::string chain_;
  std::size_t bytes_ = 0;
  std::size_t torn_bytes_ = 0;
  bool beyond_trust_ = false;  // a sync or roll-back failed, so the file's state on disk is unknown
};

}  // namespace dent
