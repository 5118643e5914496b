// SPDX-License-Identifier: MIT
// The tasks of several plans in one list, longest first.
#pragma once

#include <algorithm>
#include <cstdint>

namespace flashmoe::cpu {

// Tasks of one plan that take about equally long.
struct TaskRun {
  double us;      // one of them, roughly
  int64_t plan;   // its number
  int64_t first;  // the first of them in its plan
  int64_t count;
  int64_t number;  // of the first in the list: TaskList sets it
};

class TaskList {
 public:
  // Sorts the runs in place.
  TaskList(TaskRun* runs, int64_t count) : runs_(runs), count_(count) {
    std::sort(runs, runs + count, [](const TaskRun& a, const TaskRun& b) {
      if (a.us != b.us) return a.us > b.us;
      return a.plan != b.plan ? a.plan < b.plan : a.first < b.first;
    });
    for (int64_t i = 0; i < count; ++i) {
      runs[i].number = tasks_;
      tasks_ += runs[i].count;
    }
  }

  int64_t tasks() const { return tasks_; }

  struct Found {
    int64_t plan;
    int64_t index;  // in that plan
  };
  Found operator[](int64_t task) const {
    const TaskRun* behind = std::upper_bound(
        runs_, runs_ + count_, task, [](int64_t number, const TaskRun& run) { return number < run.number; });
    const TaskRun& run = behind[-1];
    return {run.plan, run.first + task - run.number};
  }

 private:
  const TaskRun* runs_;
  int64_t count_;
  int64_t tasks_ = 0;
};

}  // namespace flashmoe::cpu
