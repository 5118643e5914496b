// SPDX-License-Identifier: MIT
#include "diagnose/ncu_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace dent {
namespace {

constexpr const char* kLoads = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
constexpr const char* kLoadSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
constexpr const char* kStores = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
constexpr const char* kStoreSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
constexpr const char* kAtomics = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum";
constexpr const char* kReductions = "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum";  // no return value
constexpr const char* kLocalLoadSectors = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum";
constexpr const char* kLocalStoreSectors = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum";
// L2 sectors that the accesses touch, and that contiguous accesses would touch; both include cp.async.
constexpr const char* kSectors = "memory_l2_theoretical_sectors_global";
constexpr const char* kIdealSectors = "memory_l2_theoretical_sectors_global_ideal";
constexpr const char* kLoadUse = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct";
constexpr const char* kStoreUse = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct";
constexpr const char* kSharedWavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
constexpr const char* kSharedAtomics = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum";
constexpr const char* kConflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
// Instructions, counted per executing thread.
constexpr const char* kFp16 = "smsp__sass_thread_inst_executed_op_fp16_pred_on.sum";
constexpr const char* kFp32 = "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum";
constexpr const char* kFp64 = "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum";
constexpr const char* kInteger = "smsp__sass_thread_inst_executed_op_integer_pred_on.sum";
constexpr const char* kConversions = "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum";
// Instructions of the unit for special functions and conversions, counted per warp.
constexpr const char* kSpecial = "smsp__inst_executed_pipe_xu.sum";

// Quantities that equal one counter.
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
    {"alu", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"},
    {"fp64", "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active"},
    {"constants", "idc__request_cycles_active.avg.pct_of_peak_sustained_elapsed"},
    {"dram", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"l2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"l1", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"atomic_slice", "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed"},
    {"atomic_mean", "lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed"},
    {"active_lanes", "smsp__thread_inst_executed_per_inst_executed.ratio"},
    {"useful_lanes", "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"},
};

// Counters that only enter computed quantities.
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
    kStores,
    kStoreSectors,
    kAtomics,
    kReductions,
    kLocalLoadSectors,
    kLocalStoreSectors,
    kSectors,
    kIdealSectors,
    kLoadUse,
    kStoreUse,
    kSharedWavefronts,
    kSharedAtomics,
    kConflicts,
    kFp16,
    kFp32,
    kFp64,
    kInteger,
    kConversions,
    kSpecial,
};

// Units whose utilisation is measured, in per cent of its peak.
constexpr const char* kUnits[] = {"tensor", "exp", "fma", "alu", "fp64", "dram", "l2", "l1", "issue"};

struct Stall {
  const char* name;  // as Nsight Compute names it
  const char* for_what;
};
constexpr Stall kStalls[] = {
    {"barrier", "the other warps of their CTA, at a barrier"},
    {"branch_resolving", "the targets of branches"},
    {"dispatch_stall", "the dispatcher"},
    {"drain", "their stores and atomics to leave, at the end"},
    {"imc_miss", "constants that the cache does not have"},
    {"lg_throttle", "room in the queue of loads, stores and atomics"},
    {"long_scoreboard", "loads from global or local memory"},
    {"math_pipe_throttle", "a busy arithmetic pipe"},
    {"membar", "memory fences"},
    {"mio_throttle", "room in the queue of shared memory, shuffles and special functions"},
    {"misc", "reasons that have no name"},
    {"no_instruction", "instructions to be fetched"},
    {"not_selected", ""},  // ready, but another warp was chosen
    {"selected", ""},
    {"short_scoreboard", "shared memory, shuffles or special functions"},
    {"sleeping", "the end of their sleep"},
    {"tex_throttle", "room in the queue of textures"},
    {"wait", "fixed latencies of instructions"},
};
constexpr Stall kHopperStall = {"gmma", "matrix instructions of their warpgroup"};

std::string stall_metric(const std::string& stall) {
  return "smsp__average_warps_issue_stalled_" + stall + "_per_issue_active.ratio";
}

std::vector<Stall> stalls_of(int arch) {
  std::vector<Stall> stalls(std::begin(kStalls), std::end(kStalls));
  if (arch == 90) stalls.push_back(kHopperStall);
  return stalls;
}

struct Limit {
  const char* metric;
  const char* name;
};
// If several limits are equal, the first in this list is named; limits that no kernel can change come first.
constexpr Limit kLimits[] = {{"launch__occupancy_limit_blocks", "CTAs"},
                             {"launch__occupancy_limit_warps", "threads"},
                             {"launch__occupancy_limit_registers", "registers"},
                             {"launch__occupancy_limit_shared_mem", "shared memory"}};

// Sets left / right as a quantity; "not applicable" if the right side is zero.
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

// Shares of the warps' waiting time by reason, together 100. stall_most is the largest share that is real
// waiting.
void put_stalls(Quantities& to, const Quantities& metrics, int arch) {
  double total = 0;
  for (const Stall& stall : stalls_of(arch)) {
    const Reading reading = metrics.at(stall_metric(stall.name));
    if (reading.presence == Presence::value) total += reading.value;
  }
  Reading most{Presence::missing, 0, "no stall was counted"};
  for (const Stall& stall : stalls_of(arch)) {
    const Reading reading = metrics.at(stall_metric(stall.name));
    const std::string name = std::string("stall_") + stall.name;
    if (reading.presence != Presence::value) {
      to.put(name, reading);
    } else if (total > 0) {
      to.set(name, 100 * reading.value / total);
      const bool waits = *stall.for_what != '\0';
      if (waits && (most.presence != Presence::value || to[name] > most.value)) {
        most = {Presence::value, to[name], stall.for_what};
      }
    } else {
      to.not_applicable(name, "no warp was ever active");
    }
  }
  to.put("stall_most", most);
}

// Utilisation of the unit that is nearest to its peak, among those whose counter was returned.
void put_busiest(Quantities& to) {
  Reading most{Presence::missing, 0, "no unit was counted"};
  for (const char* unit : kUnits) {
    const Reading reading = to.at(unit);
    if (reading.presence == Presence::value &&
        (most.presence != Presence::value || reading.value > most.value)) {
      most = {Presence::value, reading.value, unit};
    }
  }
  to.put("busiest", most);
}

// Shares of kinds of instructions.
void put_mix(Quantities& to, const Quantities& metrics) {
  const Reading floating = sum(metrics, {kFp16, kFp32, kFp64});
  put_ratio(to, "fp64_share", metrics.at(kFp64), floating, 100,
            "the kernel has no floating-point arithmetic");
  put_ratio(to, "integer_share", metrics.at(kInteger), sum(metrics, {kFp16, kFp32, kFp64, kInteger}), 100,
            "no arithmetic");
  put_ratio(to, "conversion_share", metrics.at(kConversions), metrics.at(kSpecial), 100.0 / 32,
            "the unit for special functions and conversions is not used");
  if (to.has("conversion_share")) to.set("conversion_share", std::min(100.0, to["conversion_share"]));
}

// Counters of one rate come from different passes and may contradict each other for kernels of microseconds.
Reading believable(const Reading& rate) {
  if (rate.presence != Presence::value || (rate.value >= 0 && rate.value <= 102)) return rate;
  return {Presence::not_a_number, 0, fmt::format("ncu gave a rate of {:.0f} %", rate.value)};
}

// Sectors that loads or stores touched, and those that contiguous accesses would need.
struct Sectors {
  double taken = 0, needed = 0;
};

// Computed from the used share of each sector. An access of at most four sectors wastes none, even if all
// lanes read one number. cp.async counts as a load that uses nothing, so its accesses are left out.
std::optional<Sectors> by_use(const Quantities& metrics, const char* sectors, const char* use,
                              const Reading& each) {
  const Reading count = metrics.at(sectors), used = metrics.at(use);
  if (count.presence != Presence::value || used.presence != Presence::value) return std::nullopt;
  if (each.presence != Presence::value || used.value == 0) return Sectors{};
  return Sectors{count.value, each.value <= 4 ? count.value : count.value * used.value / 100};
}

// All accesses including cp.async, from ncu's own counters; computed from use if ncu does not return them.
std::optional<Sectors> all_sectors(const Quantities& metrics, const std::optional<Sectors>& loads,
                                   const std::optional<Sectors>& stores) {
  const Reading taken = metrics.at(kSectors), needed = metrics.at(kIdealSectors);
  if (taken.presence == Presence::value && needed.presence == Presence::value)
    return Sectors{taken.value, needed.value};
  if (!loads || !stores) return std::nullopt;
  return Sectors{loads->taken + stores->taken, loads->needed + stores->needed};
}

// wasted_sectors: share of sectors that contiguous accesses would not need. store_waste: share of those that
// belong to stores. dram_excess: bytes moved to and from DRAM per byte of needed sectors, about 1 if caches
// absorb the waste.
void put_waste(Quantities& to, const Quantities& metrics) {
  constexpr double kSectorBytes = 32;
  constexpr const char* kNone = "no plain loads and stores: they go by cp.async or TMA";
  const auto stores = by_use(metrics, kStoreSectors, kStoreUse, to.at("sectors_per_store"));
  const auto loads = by_use(metrics, kLoadSectors, kLoadUse, to.at("sectors_per_load"));
  const auto all = all_sectors(metrics, loads, stores);
  if (!all) {
    for (const char* name : {"wasted_sectors", "store_waste", "dram_excess"})
      to.put(name, {Presence::missing, 0, "ncu did not return the sectors of contiguous accesses"});
    return;
  }
  const Reading taken{Presence::value, all->taken}, wasted{Presence::value, all->taken - all->needed};
  put_ratio(to, "wasted_sectors", wasted, taken, 100, kNone);
  put_ratio(to, "dram_excess", to.at("dram_bytes"), {Presence::value, all->needed}, 1 / kSectorBytes, kNone);
  if (!stores) return to.put("store_waste", metrics.at(kStoreUse));
  put_ratio(to, "store_waste", {Presence::value, stores->taken - stores->needed}, wasted, 100,
            "no sector is wasted");
  if (to.has("store_waste")) to.set("store_waste", std::min(100.0, to["store_waste"]));
}

// Loads and stores through the L1 cache; a kernel that loads by TMA has none.
void put_accesses(Quantities& to, const Quantities& metrics) {
  constexpr const char* kNone = "no loads through the L1 cache (it has none, or they go by TMA)";
  put_ratio(to, "sectors_per_load", metrics.at(kLoadSectors), metrics.at(kLoads), 1, kNone);
  to.put("load_use", metrics.at(kLoadUse));
  put_ratio(to, "sectors_per_store", metrics.at(kStoreSectors), metrics.at(kStores), 1, "no stores");
  put_ratio(to, "atomic_share", sum(metrics, {kAtomics, kReductions}),
            sum(metrics, {kLoads, kStores, kAtomics, kReductions}), 100, "no accesses through the L1 cache");
  const Reading loads = metrics.at(kLoads);
  if (loads.presence == Presence::value && loads.value == 0) {
    to.not_applicable("l1_hit", kNone);
  } else {
    to.put("l1_hit", believable(metrics.at("l1tex__t_sector_hit_rate.pct")));
  }
  to.put("l2_hit", believable(metrics.at("lts__t_sector_hit_rate.pct")));
  put_waste(to, metrics);
  put_ratio(to, "local_share", sum(metrics, {kLocalLoadSectors, kLocalStoreSectors}),
            sum(metrics, {kLocalLoadSectors, kLocalStoreSectors, kLoadSectors, kStoreSectors}), 100, kNone);
}

}  // namespace

std::vector<std::string> ncu_metrics(int arch) {
  std::vector<std::string> names(std::begin(kIngredients), std::end(kIngredients));
  for (const Plain& plain : kPlain) names.emplace_back(plain.metric);
  for (const Stall& stall : stalls_of(arch)) names.push_back(stall_metric(stall.name));
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
  put_ratio(found, "shared_atomic_share", metrics.at(kSharedAtomics), metrics.at(kSharedWavefronts), 100,
            "shared memory is not used");
  put_accesses(found, metrics);
  put_mix(found, metrics);
  put_busiest(found);
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
