// SPDX-License-Identifier: MIT
// dent cost: what sessions took, in time and money.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "cli/commands.h"
#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "project/manifest.h"
#include "report/document.h"
#include "report/format.h"

namespace dent::cli {
namespace {

struct CostArguments {
  Common common;
  std::string session;  // empty: all
};

std::string row(const std::string& id, const Cost& cost, const Money& money) {
  return fmt::format("{:<20} {:>12} {:>12} {:>12} {:>12} {:>9} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f}\n", id,
                     show_seconds(cost.wall_s), show_seconds(cost.build_s), show_seconds(cost.device_s),
                     cost.machine_s > 0 ? show_seconds(cost.machine_s) : "-",
                     cost.iterations > 0 ? fmt::format("{} of {}", cost.kept, cost.iterations) : "-",
                     money.device, money.agent, money.engineer, money.total());
}

ExitCode cost(const CostArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionStore store(project.directory);
  const auto sessions = arguments.session.empty() ? store.list() : std::vector{store.find(arguments.session)};
  JsonList list;
  std::string text =
      fmt::format("{:<20} {:>12} {:>12} {:>12} {:>12} {:>9} {:>8} {:>8} {:>8} {:>8}\n", "session", "time",
                  "building", "on device", "machine up", "kept", "device", "agent", "engineer", "all USD");
  Cost all;
  Money sum;
  for (const SessionFolder& session : sessions) {
    try {
      const auto records = read_ledger(session.ledger()).records;
      const Cost one = cost_of(records);
      // Today's rates where the session had none of its own: money is counted, not remembered.
      const Rates then = rates_of(records);
      const bool priced = then.device_usd_per_hour + then.agent_usd_per_hour + then.engineer_usd_per_hour > 0;
      const Money money = money_of(one, priced ? then : project.rates);
      all += one;
      sum += money;
      list.add(cost_json(one, money).add("session", session.id));
      text += row(session.id, one, money);
    } catch (const std::exception& problem) {  // one broken session hides no other
      list.add(JsonObject{{"session", session.id}, {"error", in_one_line(problem)}});
      text += fmt::format("{}  unreadable: {}\n", session.id, in_one_line(problem));
    }
  }
  if (sessions.size() > 1) text += row("all", all, sum);
  if (arguments.common.json)
    print_json("cost", {{"sessions", list}, {"all", cost_json(all, sum)}});
  else
    std::fputs(sessions.empty() ? "no sessions yet: dent run\n" : text.c_str(), stdout);
  return ExitCode::ok;
}

}  // namespace

void add_cost(Command& dent) {
  auto arguments = std::make_shared<CostArguments>();
  Command& command = dent.command("cost", "What sessions took: time, device time, money");
  add_common(command, arguments->common);
  command.option("session", arguments->session,
                 "Its id, the beginning of it, or \"latest\"; without it: all");
  command.examples("  dent cost\n  dent cost latest --json");
  command.run([arguments] { return cost(*arguments); });
}

}  // namespace dent::cli
