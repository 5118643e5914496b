// SPDX-License-Identifier: MIT
#include "device/spec.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "device/gpus.h"
#include "flashmoe/error.h"

namespace flashmoe::device {
namespace {

constexpr Spec with_limits(int arch) {
  Spec spec;
  const ArchLimits* limits = &kArchLimits[0];
  for (const ArchLimits& row : kArchLimits) {
    if (row.arch <= arch) limits = &row;
  }
  spec.arch = arch;
  spec.smem_per_block = limits->smem_per_block;
  spec.smem_per_sm = limits->smem_per_sm;
  spec.threads_per_sm = limits->threads_per_sm;
  spec.blocks_per_sm = limits->blocks_per_sm;
  return spec;
}

constexpr Spec spec_of(const Row& row) {
  Spec spec = with_limits(row.arch);
  spec.name = row.name;
  spec.sms = row.sms;
  spec.l2_bytes = row.l2_mib * kMiB;
  spec.bandwidth_gbs = row.gbs;
  spec.tflops_16bit = row.tflops_16bit;
  spec.tflops_fp32 = row.tflops_fp32;
  spec.tflops_tf32 = row.tflops_tf32;
  spec.tflops_8bit = row.tflops_8bit;
  spec.boost_mhz = row.boost_mhz;
  spec.memory_gb = row.memory_gb;
  spec.max_cluster = row.max_cluster;
  spec.sheet = row.sheet;
  spec.chip = row.chip == nullptr ? row.sheet : row.chip;
  spec.chip_origin = row.chip_origin;
  // The shares were measured on an H200; elsewhere they are estimates.
  const double l2_width = spec.threads_per_sm < 2048 ? kSmallL2BytesPerClockAndSm : kL2BytesPerClockAndSm;
  const Origin origin = spec.name == "H200" ? Origin::measured : Origin::estimated;
  spec.reached = {{kBandwidthShare * row.gbs, origin},
                  {l2_width * row.sms * row.boost_mhz * 1e-3, origin},
                  {kTensorShare * row.tflops_16bit, origin},
                  {kExpShare * spec.gexps(), origin},
                  {kLaunchUs, origin},
                  {kHostLaunchUs, origin}};
  return spec;
}

constexpr auto specs_of_rows() {
  std::array<Spec, std::size(kRows)> specs;
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i] = spec_of(kRows[i]);
  return specs;
}
constexpr auto kKnown = specs_of_rows();

// Lower case, letters and digits alone.
std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

// What people and drivers call a GPU, in the order in which to look: an L40S is no L4.
struct Alias {
  const char* part;  // of the plain name
  const char* name;
};
constexpr Alias kAliases[] = {
    {"rtxa", ""},
    {"a100sxm440gb", "A100 40GB"},
    {"a100pcie40gb", "A100 40GB"},
    {"a10040gb", "A100 40GB"},
    {"a10080gb", "A100 80GB"},
    {"a100", "A100 80GB"},
    {"rtx3090ti", ""},
    {"rtx3090", "RTX 3090"},
    {"rtx4090d", ""},
    {"rtx4090laptop", ""},
    {"rtx4090", "RTX 4090"},
    {"l40s", "L40S"},
    {"l40", ""},
    {"a10g", ""},
    {"a10", "A10"},
    {"h100nvl", ""},
    {"h100pcie", "H100 PCIe"},
    {"h100", "H100 SXM"},
    {"gh200", ""},
    {"h200nvl", ""},
    {"h200", "H200"},
    {"gb200", ""},
    {"b200", "B200"},
    {"l4", "L4"},
};

const Spec* by_name(std::string_view name) {
  const auto* spec =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Spec& s) { return s.name == name; });
  return spec == kKnown.end() ? nullptr : &*spec;
}

}  // namespace

const char* name_of(Origin origin) {
  switch (origin) {
    case Origin::unknown:
      return "unknown";
    case Origin::datasheet:
      return "datasheet";
    case Origin::third_party:
      return "third party";
    case Origin::measured:
      return "measured";
    case Origin::estimated:
      return "estimated";
  }
  return "?";
}

std::span<const Spec> known() { return kKnown; }

const Spec& find(std::string_view name) {
  const std::string letters = plain(name);
  for (const Spec& spec : kKnown) {
    if (plain(spec.name) == letters) return spec;
  }
  for (const Alias& alias : kAliases) {
    if (letters == alias.part && alias.name[0] != '\0') return *by_name(alias.name);
  }
  std::string names;
  for (const Spec& s : kKnown) names += (names.empty() ? "" : ", ") + std::string(s.name);
  throw Error(ErrorCode::invalid_argument,
              "device: no GPU called \"" + std::string(name) + "\" is known; known are " + names);
}

const Spec* recognise(std::string_view driver_name) {
  const std::string letters = plain(driver_name);
  for (const Alias& alias : kAliases) {
    if (letters.find(alias.part) != std::string::npos)
      return alias.name[0] == '\0' ? nullptr : by_name(alias.name);
  }
  return nullptr;
}

Spec limits_of(int arch) { return with_limits(arch); }

std::vector<Entry> entries(const Spec& s) {
  constexpr auto sheet = Origin::datasheet;
  constexpr std::string_view guide = "CUDA programming guide, by compute capability";
  constexpr std::string_view ours = "dent devices --measure, or this project's benchmarks on an H200";
  constexpr std::string_view carried = "the share of the peak that an H200 reaches";
  const auto reached = [&](const char* name, Figure figure, const char* unit) {
    return Entry{name, figure, unit, figure.origin, figure.origin == Origin::measured ? ours : carried};
  };
  return {
      {"compute_capability", s.arch / 10.0, "", sheet, guide},
      {"sms", static_cast<double>(s.sms), "", s.chip_origin, s.chip},
      {"boost_mhz", s.boost_mhz, "MHz", s.chip_origin, s.chip},
      {"memory_gb", s.memory_gb, "GB", sheet, s.sheet},
      {"registers_per_sm", static_cast<double>(Spec::registers_per_sm), "", sheet, guide},
      {"threads_per_sm", static_cast<double>(s.threads_per_sm), "", sheet, guide},
      {"blocks_per_sm", static_cast<double>(s.blocks_per_sm), "", sheet, guide},
      {"smem_per_sm", static_cast<double>(s.smem_per_sm), "bytes", sheet, guide},
      {"smem_per_block", static_cast<double>(s.smem_per_block), "bytes", sheet, guide},
      {"l2_bytes", static_cast<double>(s.l2_bytes), "bytes", s.chip_origin, s.chip},
      {"bandwidth_gbs", s.bandwidth_gbs, "GB/s", sheet, s.sheet},
      {"tflops_16bit", s.tflops_16bit, "TFLOP/s", sheet, s.sheet},
      {"tflops_8bit", s.tflops_8bit, "TFLOP/s", sheet, s.sheet},
      {"tflops_tf32", s.tflops_tf32, "TFLOP/s", sheet, s.sheet},
      {"tflops_fp32", s.tflops_fp32, "TFLOP/s", sheet, s.sheet},
      {"gexps", s.gexps(), "exp/ns", s.chip_origin,
       "CUDA programming guide: 16 a clock and SM, of which the chip has so many"},
      reached("reached_bandwidth_gbs", s.reached.bandwidth_gbs, "GB/s"),
      reached("reached_l2_gbs", s.reached.l2_gbs, "GB/s"),
      reached("reached_tflops_16bit", s.reached.tflops_16bit, "TFLOP/s"),
      reached("reached_gexps", s.reached.gexps, "exp/ns"),
      reached("launch_us", s.reached.launch_us, "us"),
      reached("host_launch_us", s.reached.host_launch_us, "us"),
  };
}

}  // namespace flashmoe::device
