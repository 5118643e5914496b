// SPDX-License-Identifier: MIT
// What a launch will do on a GPU: how much of the chip works, what each unit needs at least, and how long it
// will take. Pure functions of plain numbers; dent/docs/predict.md has the model and how well it agrees with
// measurements.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "device/occupancy.h"

namespace flashmoe::device {

// What the launch asks for.
struct Launch {
  int64_t ctas = 1;
  BlockNeeds block;
  int cluster = 1;      // CTAs that run together
  int64_t items = 0;    // equal pieces of work, where persistent CTAs take several; 0: as many as CTAs
  double largest = 1;   // the largest piece over the mean one; above 1 they are taken longest first
  double launches = 1;  // kernels one after the other (a second one that merges)
  double trips = 0;  // plain kernels: times that a thread waits for memory, one after the other; 0: guessed
};

enum class MatrixType { bits16, bits8, tf32 };

// What the whole launch has to do.
struct Work {
  double matrix_flops = 0;  // on tensor cores
  MatrixType matrix_type = MatrixType::bits16;
  double fp32_flops = 0;  // on the other units, a multiply-add counts two
  double exps = 0;        // exponentials and other special functions
  double dram_bytes = 0;  // that have to come from, and go to, memory
  double l2_bytes =
      0;  // that SMs read through the L2 cache, repeated reads included; 0: as many as dram_bytes
  double l1_bytes = 0;  // that threads load and store, in shared memory and L1 too; 0: as many as l2_bytes
};

// How near a kind of kernel comes to the ceilings, where it was calibrated: dispatch/predict.h.
struct Manner {
  double tensor = 0.55;      // of the tensor cores' peak
  double fp32 = 0.5;         // of the fp32 units' peak
  double exp_exposed = 0.5;  // share of the exponentials' time that nothing else hides
  double memory_exposed =
      0.5;                    // the same for memory, where arithmetic takes longer: first loads, last stores
  double sm_gbs = 70;         // that one SM draws from memory: bytes in flight over latency
  double sm_l2_gbs = 105;     // the same from the L2 cache
  double alone = 1;           // share of an SM's rate that one CTA reaches where no other hides its waiting
  double start_cycles = 0;    // once: until data is there and the last result is out
  double item_cycles = 2000;  // each piece of work, beside its share of the units' time
  double spread = 2;          // honest range: expected / spread ... expected * spread
};

enum class Unit { tensor, fp32, exp, dram, l2, l1, launch };
inline constexpr int kUnits = 7;
const char* name_of(Unit unit);  // "tensor cores"

struct Prediction {
  int64_t ctas = 0;
  int sms = 0;
  Occupancy occupancy;
  double waves = 0;       // CTAs over those that run at once
  double tail = 0;        // share of the last wave that is empty; 0 where waves don't matter
  int64_t busy_sms = 0;   // that get any work
  double chip_share = 0;  // of the SMs' time, from the first CTA's start to the last one's end
  // Microseconds that each unit needs at least: at its peak on the whole chip, and on the SMs that work.
  std::array<double, kUnits> floor_us{}, busy_floor_us{};
  Unit dominating = Unit::launch;  // of busy_floor_us, or launch and latency where they are larger
  double least_us = 0;             // no kernel with this work and launch is faster
  double expected_us = 0, low_us = 0, high_us = 0;
  bool fits = true;  // false: a block asks for more than an SM has, and the launch fails
};

Prediction predict(const Spec& spec, const Launch& launch, const Work& work, const Manner& manner);

// Any kernel: CTAs that share an SM hide each other's waiting. Constants from kernels of many kinds.
Prediction predict_plain(const Spec& spec, const Launch& launch, const Work& work);

// "2 CTAs on 58 SMs: 3.4 % of the L4 works"
std::string headline(const Prediction& prediction, const Spec& spec);

}  // namespace flashmoe::device
