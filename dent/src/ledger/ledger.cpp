// SPDX-License-Identifier: MIT
#include "ledger/ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "records/line.h"
#include "system/durable_file.h"

namespace dent {
namespace {

std::string read_all(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse("can't read", file, errno);
  return {std::istreambuf_iterator<char>(in), {}};
}

[[noreturn]] void broken(const std::filesystem::path& file, std::int64_t line, const std::string& why) {
  throw Error(ErrorCode::invalid, fmt::format("{} line {}: {}", file.string(), line, why),
              "another program changed the file: restore it from a copy, or remove the session");
}

// Contents of the seal file. It is written after a line is on disk, so it may lag behind the ledger but never
// precede it.
struct Seal {
  std::int64_t lines = 0;
  std::string chain;
};

std::optional<Seal> read_seal(const std::filesystem::path& ledger) {
  std::ifstream in(seal_of(ledger));
  Seal seal;
  if (!(in >> seal.lines >> seal.chain)) return std::nullopt;
  return seal;
}

}  // namespace

std::filesystem::path seal_of(const std::filesystem::path& ledger) {
  return std::filesystem::path(ledger).replace_extension(".seal");
}

LedgerContent read_ledger(const std::filesystem::path& file) {
  const auto seal = read_seal(file);  // read first, since lines may be added meanwhile
  const std::string text = read_all(file);
  LedgerContent content;
  std::string step;  // the open step; lines of schema 1 don't name theirs
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::int64_t number = content.lines + 1;
    if (end == std::string::npos) break;  // torn line: the line end is written last
    const auto line = std::string_view(text).substr(begin, end - begin);
    // After a power failure the end of a file may hold zeros in place of its last bytes.
    if (end + 1 == text.size() && line.find('\0') != std::string_view::npos) break;
    ParsedLine parsed;
    try {
      parsed = parse_line(line, content.chain);
    } catch (const Error& error) {
      broken(file, number, error.in_one_line());
    }
    if (parsed.number != number) broken(file, number, fmt::format("its record number is {}", parsed.number));
    if (!parsed.chain_fits) {
      const Record& record = parsed.records.front();
      broken(file, number,
             fmt::format("the hash chain is broken: record {} ({}{}) was edited after dent wrote it, or one "
                         "before it was removed",
                         number, kind_of(record.data), record.step.empty() ? "" : " of " + record.step));
    }
    if (parsed.schema == 1) ++content.unchained;
    for (Record& record : parsed.records) {
      if (const auto* opened = record.as<record::Begin>()) step = opened->step;
      if (record.step.empty()) record.step = step;
      if (record.as<record::Gate>() != nullptr) step.clear();
      content.records.push_back(std::move(record));
    }
    ++content.lines;
    begin = content.whole_bytes = end + 1;
    if (seal && seal->lines == content.lines && seal->chain != content.chain)
      broken(file, number, "it is not the line that was sealed: the end of the ledger was written anew");
  }
  if (seal && seal->lines > content.lines) {
    broken(file, content.lines + 1,
           fmt::format("the end was cut off: {} of {} records are missing", seal->lines - content.lines,
                       seal->lines));
  }
  content.torn_bytes = text.size() - content.whole_bytes;
  return content;
}

Ledger::Ledger(const std::filesystem::path& file) : file_(file) {
  const bool is_new = !std::filesystem::exists(file);
  if (is_new) std::filesystem::remove(seal_of(file));
  descriptor_ = open_file(file, O_WRONLY | O_CREAT | O_APPEND, "can't open the ledger");
  seal_ = open_file(seal_of(file), O_WRONLY | O_CREAT, "can't open the ledger's seal");
  if (is_new) {
    sync_folder(file.parent_path());
    return;
  }
  LedgerContent content = read_ledger(file);
  records_ = std::move(content.records);
  lines_ = content.lines;
  chain_ = std::move(content.chain);
  bytes_ = content.whole_bytes;
  torn_bytes_ = content.torn_bytes;
  if (torn_bytes_ > 0) roll_back();
  if (beyond_trust_) refuse("can't repair the torn last line of", file_, errno);
}

void Ledger::append(AnyRecord record, const std::string& step) {
  std::vector<AnyRecord> one;
  one.push_back(std::move(record));
  append(std::move(one), step);
}

void Ledger::append(std::vector<AnyRecord> records, const std::string& step) {
  std::vector<Record> all;
  for (AnyRecord& data : records) all.push_back({0, {}, step, std::move(data)});
  write(std::move(all));
}

void Ledger::take_in(const Record& theirs, const std::string& job) {
  write({{0, {}, theirs.step, theirs.data, job, theirs.number}});
}

void Ledger::write(std::vector<Record> added) {
  if (beyond_trust_) {
    throw Error(ErrorCode::environment, fmt::format("an earlier write to {} failed", file_.string()),
                "check the disk, then: dent resume");
  }
  struct stat now {};
  if (::fstat(descriptor_.get(), &now) != 0 || static_cast<std::size_t>(now.st_size) != bytes_) {
    throw Error(ErrorCode::invalid,
                fmt::format("{} was changed while this session ran: {} bytes instead of {}", file_.string(),
                            now.st_size, bytes_),
                "only dent may write there: check which files the kernel and its build write");
  }
  struct stat there {};
  if (::stat(file_.c_str(), &there) != 0 || there.st_ino != now.st_ino || there.st_dev != now.st_dev) {
    throw Error(ErrorCode::invalid, fmt::format("{} was replaced while this session ran", file_.string()),
                "only dent may write there: check which files the kernel and its build write");
  }
  std::string text, chain = chain_;
  std::int64_t number = lines_;
  for (Record& record : added) {
    record.number = ++number;
    record.time = utc_now();
    text += to_line(record, chain) + '\n';
  }
  try {
    write_all(descriptor_.get(), text, file_);
  } catch (...) {
    roll_back();
    throw;
  }
  if (::fsync(descriptor_.get()) != 0) {
    const int error = errno;
    beyond_trust_ = true;  // after a failed sync the system may have dropped unwritten data
    refuse("can't sync", file_, error);
  }
  bytes_ += text.size();
  lines_ += static_cast<std::int64_t>(added.size());
  chain_ = std::move(chain);
  seal();
  std::move(added.begin(), added.end(), std::back_inserter(records_));
}

// On a full disk the seal can't be written; it then lags behind the complete ledger, which is no error.
void Ledger::seal() const {
  const std::string text =
      fmt::format("{:>12} {}\n", lines_, chain_);  // fixed width, so that it can be overwritten in place
  [[maybe_unused]] const ssize_t written = ::pwrite(seal_.get(), text.data(), text.size(), 0);
}

void Ledger::roll_back() {
  beyond_trust_ =
      ::ftruncate(descriptor_.get(), static_cast<off_t>(bytes_)) != 0 || ::fsync(descriptor_.get()) != 0;
}

}  // namespace dent
