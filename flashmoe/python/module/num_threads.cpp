// SPDX-License-Identifier: MIT
#include "num_threads.h"

#include <atomic>
#include <climits>
#include <cstdlib>

#include "arguments.h"

namespace flashmoe_python {
namespace {

std::atomic<int> chosen{0};

}  // namespace

bool read_num_threads_of_environment() {
  const char* text = std::getenv("FLASHMOE_NUM_THREADS");
  if (text == nullptr || *text == '\0') return true;
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (*end != '\0' || count < 0 || count > INT_MAX) {
    return fail(PyExc_ValueError,
                "flashmoe_science: FLASHMOE_NUM_THREADS is '%s'; accepted are 0 (all cores) and above", text);
  }
  chosen = static_cast<int>(count);
  return true;
}

int num_threads() { return chosen.load(std::memory_order_relaxed); }

bool set_num_threads(PyObject* object) {
  int32_t count = 0;
  if (!read_count(object, "num_threads", count)) return false;
  if (count < 0)
    return fail(PyExc_ValueError, "attention: num_threads is %d; accepted are 0 (all cores) and above",
                count);
  chosen = count;
  return true;
}

}  // namespace flashmoe_python
