// SPDX-License-Identifier: MIT
#include "report/record_rows.h"

#include <fmt/format.h>

#include "report/format.h"

namespace dent {
namespace {

// Turns a field's name into words: memory_bytes -> memory, max_clock_mhz -> max clock (MHz).
std::string in_words(std::string name) {
  static constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
      {"_bytes", ""}, {"_mhz", " (MHz)"}, {"_mib", " (MiB)"}, {"_w", " (W)"}};
  for (const auto& [ending, unit] : kUnits) {
    if (name.ends_with(ending)) {
      name.replace(name.size() - ending.size(), ending.size(), unit);
      break;
    }
  }
  for (char& c : name) c = c == '_' ? ' ' : c;
  return name;
}

class RowWriter : public Fields {
 public:
  Rows take() { return std::move(rows_); }

 private:
  struct Open {
    std::string name;
    std::size_t next = 0;  // index of the item in its list
  };

  void text(const Field& field, std::string& value) override { put(field, value); }
  void number(const Field& field, double& value) override { put(field, fmt::format("{}", value)); }
  void any_number(const Field& field, double& value) override { put(field, fmt::format("{}", value)); }
  void whole(const Field& field, std::int64_t& value) override {
    put(field,
        field.name.ends_with("_bytes") ? show_bytes(static_cast<double>(value)) : std::to_string(value));
  }
  void flag(const Field& field, bool& value) override { put(field, value ? "yes" : "no"); }
  void word(const Field& field, std::span<const std::string_view> words, std::size_t& chosen) override {
    put(field, std::string(words[chosen]));
  }
  void quantity(const Field& field, Reading& reading) override {
    put(field, reading.presence == Presence::value ? fmt::format("{}", reading.value)
                                                   : std::string(name(reading.presence)));
  }
  bool has(const Field&, bool there) override { return there; }
  std::size_t enter(const Field& field, Structure, std::size_t size) override {
    open_.push_back({called(field)});
    return size;
  }
  void leave() override { open_.pop_back(); }
  std::string key(std::size_t) override { return {}; }
  bool keeps() const override { return true; }

  std::string called(const Field& field) {
    if (!field.name.empty()) return in_words(std::string(field.name));
    return std::to_string(open_.back().next++);
  }
  void put(const Field& field, const std::string& value) {
    const std::string last = called(field);
    std::string row;
    for (const Open& open : open_) row += open.name + " ";
    rows_.emplace_back(row + last, value);
  }

  std::vector<Open> open_;
  Rows rows_;
};

}  // namespace

Rows rows_of(const Pass& pass) {
  RowWriter writer;
  pass(writer);
  return writer.take();
}

}  // namespace dent
