// SPDX-License-Identifier: MIT
#include "ledger/ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.h"
#include "system/durable_file.h"

namespace dent {
namespace {

std::string read_all(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse("can't read", file, errno);
  return {std::istreambuf_iterator<char>(in), {}};
}

[[noreturn]] void broken(const std::filesystem::path& file, std::size_t line, const std::string& why) {
  throw Error(
      ErrorCode::invalid, fmt::format("{} line {}: {}", file.string(), line, why),
      "the file was changed by something else than dent: restore it from a copy, or remove the session");
}

}  // namespace

LedgerContent read_ledger(const std::filesystem::path& file) {
  const std::string text = read_all(file);
  LedgerContent content;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::size_t number = content.records.size() + 1;
    if (end == std::string::npos) break;  // torn: the line end is written last
    const auto line = std::string_view(text).substr(begin, end - begin);
    // After a power cut a file may have grown before all of its bytes arrived. Only its end can be like that.
    if (end + 1 == text.size() && line.find('\0') != std::string_view::npos) break;
    try {
      content.records.push_back(parse_record(line));
    } catch (const Error& error) {
      broken(file, number, error.what());
    }
    if (content.records.back().number != static_cast<std::int64_t>(number)) {
      broken(file, number, fmt::format("record number {}", content.records.back().number));
    }
    begin = content.whole_bytes = end + 1;
  }
  content.torn_bytes = text.size() - content.whole_bytes;
  return content;
}

Ledger::Ledger(const std::filesystem::path& file) : file_(file) {
  const bool is_new = !std::filesystem::exists(file);
  descriptor_ = open_file(file, O_WRONLY | O_CREAT | O_APPEND, "can't open the ledger");
  if (is_new) {
    sync_folder(file.parent_path());
    return;
  }
  LedgerContent content = read_ledger(file);
  records_ = std::move(content.records);
  bytes_ = content.whole_bytes;
  torn_bytes_ = content.torn_bytes;
  if (torn_bytes_ > 0) roll_back();
  if (beyond_trust_) refuse("can't repair the torn last line of", file_, errno);
}

const Record& Ledger::append(std::string_view kind, nlohmann::json data) {
  if (beyond_trust_) {
    throw Error(ErrorCode::environment, fmt::format("{} could not be written before", file_.string()),
                "see to the disk, then `dent resume`");
  }
  struct stat now {};
  if (::fstat(descriptor_.get(), &now) != 0 || static_cast<std::size_t>(now.st_size) != bytes_) {
    throw Error(ErrorCode::invalid,
                fmt::format("{} was changed while this session ran: {} bytes instead of {}", file_.string(),
                            now.st_size, bytes_),
                "only dent writes there: look at what the kernel or its build does to files");
  }
  Record record{static_cast<std::int64_t>(records_.size()) + 1, utc_now(), std::string(kind),
                std::move(data)};
  const std::string line = to_line(record) + '\n';
  try {
    write_all(descriptor_.get(), line, file_);
  } catch (...) {
    roll_back();
    throw;
  }
  if (::fsync(descriptor_.get()) != 0) {
    const int error = errno;
    beyond_trust_ = true;  // after a failed sync the system may have dropped what it could not write
    refuse("can't sync", file_, error);
  }
  bytes_ += line.size();
  records_.push_back(std::move(record));
  return records_.back();
}

void Ledger::roll_back() {
  beyond_trust_ =
      ::ftruncate(descriptor_.get(), static_cast<off_t>(bytes_)) != 0 || ::fsync(descriptor_.get()) != 0;
}

}  // namespace dent
