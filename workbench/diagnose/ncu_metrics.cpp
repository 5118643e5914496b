// SPDX-License-Identifier: MIT
#include "diagnose/ncu_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace dent {
namespace {

constexpr const char* kLoads = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
constexpr const char* kLoadSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
constexpr const char* kStoreSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
constexpr const char* kLocalLoadSectors = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum";
constexpr const char* kLocalStoreSectors = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum";
// What the addresses ask for, and what the same bytes would take side by side; cp.async included.
constexpr const char* kSectors = "memory_l2_theoretical_sectors_global";
constexpr const char* kIdealSectors = "memory_l2_theoretical_sectors_global_ideal";
constexpr const char* kLoadUse = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct";
constexpr const char* kSharedWavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
constexpr const char* kConflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";

// Quantities that are a counter as it is.
struct Plain {
  const char* quantity;
  const char* metric;
};
constexpr Plain kPlain[] = {
    {"ctas", "launch__grid_size"},
    {"cta_threads", "launch__block_size"},
    {"registers", "launch__registers_per_thread"},
    {"sms", "launch__sm_count"},
    {"waves", "launch__waves_per_multiprocessor"},
    {"occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"occupancy_possible", "sm__maximum_warps_per_active_cycle_pct"},
    {"issue", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {"tensor", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
    {"exp", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"},
    {"fma", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"},
    {"dram", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"l2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"l1", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"active_lanes", "smsp__thread_inst_executed_per_inst_executed.ratio"},
};

// Made of several; requested all the same.
constexpr const char* kIngredients[] = {
    "gpu__time_duration.sum",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "sm__cycles_active.avg",
    "sm__cycles_active.max",
    "sm__cycles_elapsed.max",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    kLoads,
    kLoadSectors,
    kStoreSectors,
    kLocalLoadSectors,
    kLocalStoreSectors,
    kSectors,
    kIdealSectors,
    kLoadUse,
    kSharedWavefronts,
    kConflicts,
};

constexpr const char* kStalls[] = {"barrier",
                                   "branch_resolving",
                                   "dispatch_stall",
                                   "drain",
                                   "imc_miss",
                                   "lg_throttle",
                                   "long_scoreboard",
                                   "math_pipe_throttle",
                                   "membar",
                                   "mio_throttle",
                                   "misc",
                                   "no_instruction",
                                   "not_selected",
                                   "selected",
                                   "short_scoreboard",
                                   "sleeping",
                                   "tex_throttle",
                                   "wait"};

std::string stall_metric(const std::string& stall) {
  return "smsp__average_warps_issue_stalled_" + stall + "_per_issue_active.ratio";
}

std::vector<std::string> stalls_of(int arch) {
  std::vector<std::string> stalls(std::begin(kStalls), std::end(kStalls));
  if (arch == 90) stalls.emplace_back("gmma");
  return stalls;
}

struct Limit {
  const char* metric;
  const char* name;
};
// Of equal limits the first is named: what no kernel can change, then what it can.
constexpr Limit kLimits[] = {{"launch__occupancy_limit_blocks", "CTAs"},
                             {"launch__occupancy_limit_warps", "threads"},
                             {"launch__occupancy_limit_registers", "registers"},
                             {"launch__occupancy_limit_shared_mem", "shared memory"}};

// left / right as a quantity; where the right side is zero there is nothing to divide, and it is not
// applicable.
void put_ratio(Quantities& to, const char* name, const Reading& left, const Reading& right, double factor,
               const char* without) {
  if (left.presence != Presence::value) return to.put(name, left);
  if (right.presence != Presence::value) return to.put(name, right);
  if (right.value == 0) return to.not_applicable(name, without);
  to.set(name, factor * left.value / right.value);
}

Reading sum(const Quantities& metrics, std::initializer_list<const char*> names) {
  Reading total{Presence::value, 0};
  for (const char* metric : names) {
    const Reading reading = metrics.at(metric);
    if (reading.presence != Presence::value) return reading;
    total.value += reading.value;
  }
  return total;
}

// Shares of the time that warps wait, by reason; together 100.
void put_stalls(Quantities& to, const Quantities& metrics, int arch) {
  double total = 0;
  for (const std::string& stall : stalls_of(arch)) {
    const Reading reading = metrics.at(stall_metric(stall));
    if (reading.presence == Presence::value) total += reading.value;
  }
  for (const std::string& stall : stalls_of(arch)) {
    const Reading reading = metrics.at(stall_metric(stall));
    const std::string name = "stall_" + stall;
    if (reading.presence != Presence::value) {
      to.put(name, reading);
    } else if (total > 0) {
      to.set(name, 100 * reading.value / total);
    } else {
      to.not_applicable(name, "no warp was ever active");
    }
  }
}

// Counters of a rate come from different passes; on a kernel of microseconds they can contradict each other.
Reading believable(const Reading& rate) {
  if (rate.presence != Presence::value || (rate.value >= 0 && rate.value <= 102)) return rate;
  return {Presence::not_a_number, 0, fmt::format("ncu gave a rate of {:.0f} %", rate.value)};
}

// Sectors that neighbours side by side would not need. Where ncu does not tell, by how much of each loaded
// sector plain loads use; a load of four sectors or fewer wastes none, even if all lanes read one number.
void put_waste(Quantities& to, const Quantities& metrics, const char* none) {
  put_ratio(to, "wasted_sectors", metrics.at(kIdealSectors), metrics.at(kSectors), 100, none);
  if (to.has("wasted_sectors")) return to.set("wasted_sectors", 100 - to["wasted_sectors"]);
  if (to.at("wasted_sectors").presence == Presence::not_applicable) return;
  const Reading use = metrics.at(kLoadUse);
  if (use.presence != Presence::value) return;
  if (!to.has("sectors_per_load") || use.value == 0) {
    to.not_applicable("wasted_sectors", "no plain loads: they go by cp.async or TMA");
  } else {
    to.set("wasted_sectors", to["sectors_per_load"] <= 4 ? 0 : 100 - use.value);
  }
}

// Loads that go through the L1 cache; a kernel that loads by TMA has none.
void put_loads(Quantities& to, const Quantities& metrics) {
  constexpr const char* kNone = "no loads through the L1 cache (it has none, or they go by TMA)";
  put_ratio(to, "sectors_per_load", metrics.at(kLoadSectors), metrics.at(kLoads), 1, kNone);
  const Reading loads = metrics.at(kLoads);
  if (loads.presence == Presence::value && loads.value == 0) {
    to.not_applicable("l1_hit", kNone);
  } else {
    to.put("l1_hit", believable(metrics.at("l1tex__t_sector_hit_rate.pct")));
  }
  to.put("l2_hit", believable(metrics.at("lts__t_sector_hit_rate.pct")));
  put_waste(to, metrics, kNone);
  put_ratio(to, "local_share", sum(metrics, {kLocalLoadSectors, kLocalStoreSectors}),
            sum(metrics, {kLocalLoadSectors, kLocalStoreSectors, kLoadSectors, kStoreSectors}), 100, kNone);
}

}  // namespace

std::vector<std::string> ncu_metrics(int arch) {
  std::vector<std::string> names(std::begin(kIngredients), std::end(kIngredients));
  for (const Plain& plain : kPlain) names.emplace_back(plain.metric);
  for (const std::string& stall : stalls_of(arch)) names.push_back(stall_metric(stall));
  return names;
}

std::vector<std::string> absent_metrics(const ProfiledLaunch& launch, int arch) {
  std::vector<std::string> absent;
  for (const std::string& metric : ncu_metrics(arch)) {
    if (!launch.metrics.has(metric)) absent.push_back(metric);
  }
  return absent;
}

Quantities quantities_of(const ProfiledLaunch& launch) {
  const Quantities& metrics = launch.metrics;
  Quantities found;
  for (const Plain& plain : kPlain) found.put(plain.quantity, metrics.at(plain.metric));
  if (launch.arch > 0) found.set("arch", launch.arch);
  const Reading ns = metrics.at("gpu__time_duration.sum");
  if (ns.presence == Presence::value) {
    found.set("duration_us", ns.value / 1e3);
  } else {
    found.put("duration_us", ns);
  }
  found.put("smem_bytes",
            sum(metrics, {"launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"}));
  found.put("dram_bytes", sum(metrics, {"dram__bytes_read.sum", "dram__bytes_write.sum"}));
  double fewest = std::numeric_limits<double>::infinity();
  for (const Limit& limit : kLimits) {
    const Reading reading = metrics.at(limit.metric);
    if (reading.presence == Presence::value) fewest = std::min(fewest, reading.value);
  }
  if (std::isfinite(fewest)) found.set("ctas_per_sm", fewest);
  put_ratio(found, "sm_busy", metrics.at("sm__cycles_active.avg"), metrics.at("sm__cycles_elapsed.max"), 100,
            "no cycle passed");
  put_ratio(found, "busiest_sm", metrics.at("sm__cycles_active.max"), metrics.at("sm__cycles_active.avg"), 1,
            "no SM was ever active");
  put_ratio(found, "chip_share", metrics.at("launch__grid_size"), metrics.at("launch__sm_count"), 100,
            "no SMs");
  if (found.has("chip_share")) found.set("chip_share", std::min(100.0, found["chip_share"]));
  put_ratio(found, "conflict_share", metrics.at(kConflicts), metrics.at(kSharedWavefronts), 100,
            "shared memory is not used");
  put_loads(found, metrics);
  put_stalls(found, metrics, launch.arch);
  return found;
}

std::string occupancy_limiter(const ProfiledLaunch& launch) {
  std::string limiter;
  double fewest = std::numeric_limits<double>::infinity();
  for (const Limit& limit : kLimits) {
    const Reading reading = launch.metrics.at(limit.metric);
    if (reading.presence != Presence::value || reading.value >= fewest) continue;
    fewest = reading.value;
    limiter = limit.name;
  }
  return limiter;
}

}  // namespace dent
