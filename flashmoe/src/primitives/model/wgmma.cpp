// SPDX-License-Identifier: MIT
// Asynchronous products of a warpgroup. Issuing never blocks: the n-th wgmma of each of the 128 threads
// belongs to the n-th product, which may start when all 128 have issued it; products run in order. From the
// first issue to the wait, accumulator registers hold a marker value and must not change: a kernel that reads
// them too soon gets wrong numbers, one that writes them is reported. Register operands must not change
// either.
#include "primitives/model/wgmma.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <list>
#include <utility>

#include "primitives/model/order.h"
#include "primitives/model/reports.h"

namespace flashmoe::model {

// The marker: finite, since a NaN would survive a rescale that comes too soon and hide it.
static const float kOwned = std::bit_cast<float>(0x4B3A5C71U);

// Accumulators of all threads while products that add to them are in flight.
struct Sums {
  int width;
  std::vector<float> values;                          // [64][width]
  std::array<float*, kWarpgroupThreads> registers{};  // by thread; null: not issued yet, or already returned
  int given = 0;
  uint64_t last_product = 0;
  Where where;  // location of the first product

  // The sum that thread t keeps in its element i.
  float& element(std::size_t t, int i) {
    const std::size_t row = t / 32 * 16 + t % 32 / 4 + static_cast<std::size_t>(i / 2 % 2 * 8);
    const std::size_t column = static_cast<std::size_t>(i / 4 * 8 + i % 2) + 2 * (t % 4);
    return values[row * static_cast<std::size_t>(width) + column];
  }
  int count() const { return width / 2; }
};

struct Product {
  ProductOperands operands;
  Sums* sums;
  Where where;
  uint64_t issued;  // step of issue, for the trace
  int arrived = 0;
  int waited = 0;
  std::array<int, 4> lanes_arrived{};
  std::array<const uint32_t*, kWarpgroupThreads> a{};
  RegisterOperand a_at_issue{};
  Clock clock{};
};

struct Warpgroup {
  Block* block;
  std::deque<Product> products;  // products that some thread has not waited for
  uint64_t first = 0;            // the number of products.front()
  uint64_t performed = 0;
  std::list<Sums> sums;
  std::vector<Thread*> waiting;

  Product& product(uint64_t number) { return products[number - first]; }
};

Block::Block() = default;
Block::Block(Block&&) noexcept = default;
Block::~Block() = default;

void prepare_warpgroups(Block& block) {
  block.warpgroups.clear();
  for (std::size_t i = 0; i + 3 < block.warps.size(); i += 4) {
    block.warpgroups.push_back(std::make_unique<Warpgroup>());
    block.warpgroups.back()->block = &block;
  }
}

namespace {

Warpgroup& own_group(const char* what, const Where& where) {
  const auto index = static_cast<std::size_t>(current->index) / kWarpgroupThreads;
  if (index >= current->block->warpgroups.size()) {
    report(std::string(what) + ": this warp is not in a warpgroup of 4 whole warps", where);
  }
  return *current->block->warpgroups[index];
}

std::size_t index_in_group() { return static_cast<std::size_t>(current->index) % kWarpgroupThreads; }

void check_untouched(const Sums& sums, const float* registers, const Where& where) {
  for (int i = 0; i < sums.count(); ++i) {
    if (std::bit_cast<uint32_t>(registers[i]) == std::bit_cast<uint32_t>(kOwned)) continue;
    report("accumulator register " + std::to_string(i) +
               " was written while it belonged to the wgmma issued at " + describe(sums.where) +
               ", which this thread had not waited for",
           where);
  }
}

// The accumulators that a product adds to: those already in flight, or new ones.
Sums& sums_for(Warpgroup& group, const float* registers, int width, const Where& where) {
  const std::size_t t = index_in_group();
  for (Sums& sums : group.sums) {
    if (sums.registers[t] == registers) return sums;
  }
  group.sums.push_back(
      {width, std::vector<float>(static_cast<std::size_t>(kProductRows * width)), {}, 0, 0, where});
  return group.sums.back();
}

void give(Sums& sums, float* registers, int width, const Where& where) {
  const std::size_t t = index_in_group();
  if (sums.width != width)
    report("wgmma: accumulators of another width are under way in the same registers", where);
  if (sums.registers[t] == registers) {
    check_untouched(sums, registers, where);
    return;
  }
  if (sums.registers[t] != nullptr) {
    report("wgmma: other threads of the warpgroup add to accumulators that are under way, this one to others",
           where);
  }
  for (int i = 0; i < sums.count(); ++i) sums.element(t, i) = std::exchange(registers[i], kOwned);
  sums.registers[t] = registers;
  ++sums.given;
}

void take_back(Sums& sums, const Where& where) {
  const std::size_t t = index_in_group();
  float* registers = sums.registers[t];
  check_untouched(sums, registers, where);
  for (int i = 0; i < sums.count(); ++i) registers[i] = sums.element(t, i);
  sums.registers[t] = nullptr;
  --sums.given;
}

std::string perform_next(Warpgroup& group) {
  Product& product = group.product(group.performed++);
  multiply(*group.block, product.operands, product.a_at_issue, product.sums->values);
  if (tracing) trace_async("wgmma", product.where, *group.block, product.issued);
  for (Thread* thread : std::exchange(group.waiting, {})) wake(*thread);
  return "";
}

// Counts that the running thread has waited for the product.
void leave(Product& product, const Where& where) {
  const std::size_t t = index_in_group();
  if (product.operands.a_in_registers &&
      !std::equal(product.a_at_issue[t].begin(), product.a_at_issue[t].end(), product.a[t])) {
    report("a register operand of the wgmma issued at " + describe(product.where) +
               " was written while the wgmma was under way",
           where);
  }
  order_acquire(product.clock);
  ++product.waited;
}

}  // namespace

void issue_product(const ProductOperands& operands, float* sums, const uint32_t* a, const Where& where) {
  note("wgmma", where);
  Warpgroup& group = own_group("wgmma", where);
  if (!current->products_fenced) report("wgmma: no wgmma_fence since the last wait, or the beginning", where);
  const uint64_t number = current->products++;
  const std::size_t t = index_in_group();
  if (number == group.first + group.products.size()) {
    check_operands(operands, where);
    Sums& added_to = sums_for(group, sums, operands.width, where);
    group.products.push_back({operands, &added_to, where, tracing ? trace_now() : 0});
  }
  Product& product = group.product(number);
  if (product.where.line() != where.line() || !(product.operands == operands)) {
    report("wgmma: other threads of the warpgroup are at " + describe(product.where) +
               (product.where.line() != where.line() ? "" : ", with other operands"),
           where);
  }
  give(*product.sums, sums, operands.width, where);
  product.sums->last_product = std::max(product.sums->last_product, number);
  if (operands.a_in_registers) {
    product.a[t] = a;
    std::copy_n(a, 4, product.a_at_issue[t].begin());
  }
  const std::size_t warp = t / 32;
  if (++product.lanes_arrived[warp] == 32) {
    order_release(product.clock);
    if (order_is_checked()) {
      each_chunk(*group.block, operands, static_cast<int>(warp), [&](const std::byte* chunk) {
        order_async_read(Reader::product, chunk, 16, number + 1, where);
      });
    }
  }
  if (++product.arrived == static_cast<int>(kWarpgroupThreads)) {
    run_async(
        settings().wgmma, [&group] { return perform_next(group); }, where);
  }
}

void wait_for_products(std::size_t pending, const Where& where) {
  note("wgmma_wait", where);
  Warpgroup& group = own_group("wgmma_wait", where);
  const std::vector<uint64_t>& groups = current->product_groups;
  if (pending == 0 && current->products > (groups.empty() ? 0 : groups.back())) {
    report("wgmma_wait: this thread has issued wgmmas that it never committed", where);
  }
  const uint64_t end = groups.size() > pending ? groups[groups.size() - 1 - pending] : 0;
  while (group.performed < end) {
    group.waiting.push_back(current);
    wait("wgmma_wait", where);
  }
  for (; current->products_waited < end; ++current->products_waited) {
    leave(group.product(current->products_waited), where);
  }
  for (auto sums = group.sums.begin(); sums != group.sums.end();) {
    if (sums->registers[index_in_group()] != nullptr && sums->last_product < end) take_back(*sums, where);
    sums = sums->given == 0 ? group.sums.erase(sums) : std::next(sums);
  }
  while (!group.products.empty() && group.products.front().waited == static_cast<int>(kWarpgroupThreads)) {
    group.products.pop_front();
    ++group.first;
  }
  order_waited_for(Reader::product, end);
  current->products_fenced = false;
}

void check_products_at_end(const Thread& thread) {
  if (thread.products == thread.products_waited) return;
  report("a thread ends with " + std::to_string(thread.products - thread.products_waited) +
             " wgmmas that it never waited for",
         thread.last);
}

}  // namespace flashmoe::model

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

void wgmma_fence(const model::Where& where) {
  model::note("wgmma_fence", where);
  model::current->products_fenced = true;
}

void wgmma_commit(const model::Where& where) {
  model::note("wgmma_commit", where);
  model::current->product_groups.push_back(model::current->products);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
