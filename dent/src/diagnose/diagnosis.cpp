// SPDX-License-Identifier: MIT
#include "diagnose/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace dent {
namespace {

using Kind = Condition::Answer::Kind;

constexpr double kNear = 0.25;  // share of the threshold within which a small change may flip an answer

struct Look {
  bool holds = false;
  bool open = false;                 // depends on unknown quantities
  std::vector<std::string> missing;  // those quantities, if open
};

Look look_at(const Bottleneck& bottleneck, const Quantities& quantities) {
  Look look;
  bool no = false;
  const auto ask = [&](const Condition& condition, Kind wanted) {
    const auto answer = condition.ask(quantities);
    if (answer.kind == Kind::unknown) {
      look.missing.push_back(answer.absent.empty() ? condition.text() : answer.absent);
    } else if (wanted == Kind::yes ? answer.kind != Kind::yes : answer.kind == Kind::yes) {
      no = true;
    }
  };
  for (const Condition& condition : bottleneck.when) ask(condition, Kind::yes);
  for (const Condition& condition : bottleneck.unless) ask(condition, Kind::no);
  look.open = !no && !look.missing.empty();
  look.holds = !no && look.missing.empty();
  return look;
}

// The only condition that keeps a bottleneck from being the answer, if there is exactly one.
struct Miss {
  const Condition* condition = nullptr;
  bool wanted = true;  // whether the condition should hold
  double distance = 1;
};

std::optional<Miss> near_miss(const Bottleneck& bottleneck, const Quantities& quantities) {
  std::optional<Miss> miss;
  int count = 0;
  const auto ask = [&](const Condition& condition, bool wanted) {
    const auto answer = condition.ask(quantities);
    if (answer.kind == Kind::not_applicable || answer.kind == Kind::unknown) {
      count += wanted ? 2 : 0;
      return;
    }
    if (answer.yes() == wanted) return;
    ++count;
    miss = Miss{&condition, wanted, Condition::distance(answer)};
  };
  for (const Condition& condition : bottleneck.when) ask(condition, true);
  for (const Condition& condition : bottleneck.unless) ask(condition, false);
  return count == 1 ? miss : std::nullopt;
}

std::string turned(const Condition& condition, bool to) {
  return to ? condition.text() : "not " + condition.text();
}

void refuse(Diagnosis& diagnosis, const Bottleneck& bottleneck, const Look& look) {
  diagnosis.missing = look.missing;
  std::sort(diagnosis.missing.begin(), diagnosis.missing.end());
  diagnosis.missing.erase(std::unique(diagnosis.missing.begin(), diagnosis.missing.end()),
                          diagnosis.missing.end());
  diagnosis.refusal = fmt::format("whether it is \"{}\" depends on {}, which was not measured",
                                  bottleneck.title, fmt::join(diagnosis.missing, ", "));
}

void name_runner_up(Diagnosis& diagnosis, const Tree& tree, std::size_t winner,
                    const Quantities& quantities) {
  double nearest = 1;
  for (std::size_t i = 0; i < tree.bottlenecks.size(); ++i) {
    const Bottleneck& other = tree.bottlenecks[i];
    if (i == winner || other.when.empty()) continue;
    if (i > winner && look_at(other, quantities).holds) {
      diagnosis.runner_up = other.name;
      diagnosis.runner_up_says = with_numbers(other.says, quantities);
      diagnosis.runner_up_holds = true;
      return;
    }
    const auto miss = near_miss(other, quantities);
    if (!miss || miss->distance >= nearest) continue;
    nearest = miss->distance;
    diagnosis.runner_up = other.name;
    diagnosis.runner_up_says =
        fmt::format("{}, if {}; now {}", other.title, turned(*miss->condition, miss->wanted),
                    miss->condition->readings(quantities));
  }
}

void say_what_overturns(Diagnosis& diagnosis, const Tree& tree, std::size_t winner,
                        const Quantities& quantities) {
  const Bottleneck& answer = tree.bottlenecks[winner];
  for (const Condition& condition : answer.when) {
    diagnosis.overturned.push_back(
        fmt::format("{}; now {}", turned(condition, false), condition.readings(quantities)));
  }
  // Bottlenecks earlier in the tree win as soon as their conditions hold.
  for (std::size_t i = 0; i < winner; ++i) {
    const auto miss = near_miss(tree.bottlenecks[i], quantities);
    if (!miss || miss->distance > kNear) continue;
    diagnosis.overturned.push_back(
        fmt::format("{} (then: {}); now {}", turned(*miss->condition, miss->wanted),
                    tree.bottlenecks[i].title, miss->condition->readings(quantities)));
  }
}

constexpr std::string_view kWhy = "why ";

std::string word_for(const std::string& key, const Quantities& quantities) {
  if (key.starts_with(kWhy)) return quantities.at(key.substr(kWhy.size())).why;
  const Reading reading = quantities.at(key);
  if (reading.presence != Presence::value) return "?";
  const double v = reading.value;
  return v >= 1000 && v < 1e15 ? fmt::format("{:.0f}", v) : fmt::format("{:.3g}", v);
}

bool all_present(const std::string& text, const Quantities& quantities) {
  for (auto at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const std::string key = text.substr(at + 1, text.find('}', at) - at - 1);
    if (!quantities.has(key.starts_with(kWhy) ? key.substr(kWhy.size()) : key)) return false;
  }
  return true;
}

}  // namespace

std::string with_numbers(const std::string& text, const Quantities& quantities) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '[') {
      const auto close = std::min(text.find(']', at), text.size());
      const std::string part = text.substr(at + 1, close - at - 1);
      if (all_present(part, quantities)) result += with_numbers(part, quantities);
      at = close + 1;
    } else if (text[at] == '{') {
      const auto close = std::min(text.find('}', at), text.size());
      result += word_for(text.substr(at + 1, close - at - 1), quantities);
      at = close + 1;
    } else {
      result += text[at++];
    }
  }
  return result;
}

Diagnosis diagnose(const Tree& tree, const Quantities& quantities) {
  Diagnosis diagnosis;
  for (std::size_t i = 0; i < tree.bottlenecks.size(); ++i) {
    const Bottleneck& bottleneck = tree.bottlenecks[i];
    const Look look = look_at(bottleneck, quantities);
    if (look.open) {
      refuse(diagnosis, bottleneck, look);
      return diagnosis;
    }
    if (!look.holds) continue;
    diagnosis.bottleneck = bottleneck.name;
    diagnosis.title = bottleneck.title;
    diagnosis.says = with_numbers(bottleneck.says, quantities);
    diagnosis.phase = bottleneck.phase;
    diagnosis.advice = with_numbers(bottleneck.advice, quantities);
    for (const Condition& condition : bottleneck.when) {
      diagnosis.decided.push_back(condition.in_numbers(quantities));
    }
    name_runner_up(diagnosis, tree, i, quantities);
    say_what_overturns(diagnosis, tree, i, quantities);
    return diagnosis;
  }
  diagnosis.refusal = "no bottleneck of the tree describes it";  // can't happen: see parse_tree
  return diagnosis;
}

std::vector<Judged> judge_targets(const Tree& tree, const Quantities& quantities) {
  std::vector<Judged> all;
  for (const Target& target : tree.targets) {
    Judged judged{&target, quantities.at(target.quantity)};
    for (const Condition& good : target.good) {
      const auto answer = good.ask(quantities);
      if (answer.kind == Kind::no) judged.verdict = Judged::Verdict::bad;
      if (answer.kind == Kind::yes && judged.verdict == Judged::Verdict::none) {
        judged.verdict = Judged::Verdict::good;
      }
    }
    all.push_back(std::move(judged));
  }
  return all;
}

}  // namespace dent
