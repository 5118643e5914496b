// SPDX-License-Identifier: MIT
#include "executors/record_stream.h"

#include <fmt/format.h>

#include "base/error.h"
#include "records/line.h"

namespace dent {
namespace {

// Without the characters by which a text steers the terminal that shows it. They may be written as they are,
// or as JSON's escapes.
std::string without_control(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = line.substr(i);
    if (rest.starts_with("\\\\")) {  // a backslash of the text, whatever follows
      plain += "\\\\";
      ++i;
    } else if (rest.starts_with("\\u00") && rest.size() >= 6 &&
               (std::string_view("0189").find(rest[4]) != std::string_view::npos ||
                rest.substr(4, 2) == "7f" || rest.substr(4, 2) == "7F")) {
      plain += '?';
      i += 5;
    } else if (rest.starts_with("\\b") || rest.starts_with("\\r")) {
      plain += '?';
      ++i;
    } else if (rest.size() >= 2 && rest[0] == '\xC2' && static_cast<unsigned char>(rest[1]) < 0xA0) {
      plain += '?';
      ++i;
    } else if (rest[0] == '\x7F') {
      plain += '?';
    } else {
      plain += rest[0];
    }
  }
  return plain;
}

}  // namespace

Record RecordStream::take(std::string_view line) {
  std::string chain = chain_;
  ParsedLine parsed = parse_line(line, chain);
  if (parsed.number == 1 && number_ > 0) {  // from the beginning again
    *this = {};
    return take(line);
  }
  if (parsed.number != number_ + 1 || parsed.records.size() != 1) {
    throw Error(ErrorCode::environment,
                fmt::format("record {} of the job came behind record {}", parsed.number, number_));
  }
  if (!parsed.chain_fits) {
    throw Error(ErrorCode::environment,
                fmt::format("record {} of the job does not fit the chain of its ledger", parsed.number),
                "only dent writes there: look at what the kernel or its build does to files");
  }
  number_ = parsed.number;
  chain_ = std::move(chain);
  if (const std::string plain = without_control(line); plain != line) {
    std::string ignored;
    return std::move(parse_line(plain, ignored).records.front());
  }
  return std::move(parsed.records.front());
}

}  // namespace dent
