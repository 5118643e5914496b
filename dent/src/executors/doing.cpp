// SPDX-License-Identifier: MIT
#include "executors/doing.h"

#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "records/json.h"

namespace dent {

// Not in the unnamed namespace: Fields looks for fields() here.
struct Doing {
  std::string where{}, doing{};
};
static void fields(Fields& f, Doing& doing) {
  f("where", doing.where, "machine and device");
  f("doing", doing.doing, "the step, and what it does");
}

namespace {

constexpr auto kPause = std::chrono::milliseconds(500);
constexpr const char* kFile = "doing.json";

}  // namespace

DoingFile::DoingFile(std::filesystem::path folder, std::string where)
    : file_(std::move(folder) / kFile), where_(std::move(where)) {
  write("begins");
}

void DoingFile::begin(const Step& step, std::size_t, std::size_t) {
  step_ = step.name;
  write(step_);
}

void DoingFile::begin_part(const Step& step) { begin(step, 0, 0); }

void DoingFile::progress(double, const std::string& doing) {
  if (std::chrono::steady_clock::now() - written_ < kPause) return;
  write(doing.starts_with(step_) ? doing : step_ + ": " + doing);
}

// Whole or not at all; not on disk for good.
void DoingFile::write(const std::string& doing) {
  written_ = std::chrono::steady_clock::now();
  const std::filesystem::path prepared = std::filesystem::path(file_) += ".new";
  std::ofstream(prepared) << to_json_text(Doing{where_, doing});
  std::error_code ignored;
  std::filesystem::rename(prepared, file_, ignored);
}

void add_doing(JobStatus& status, const std::filesystem::path& folder) {
  const auto text = read_text(folder / kFile);
  if (!text) return;
  try {
    Doing doing = from_json_text<Doing>(*text);
    status.where = std::move(doing.where);
    status.doing = std::move(doing.doing);
  } catch (const Error&) {  // a disk that is full
  }
}

}  // namespace dent
