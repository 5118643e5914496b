// SPDX-License-Identifier: MIT
// Any program as the proposer: an agent's command line, a script. It gets the brief as JSON (on stdin, and in
// the file $DENT_BRIEF), may edit the allowed files in the worktree it is started in, and answers with a JSON
// object on stdout, or in the file $DENT_ANSWER:
//
//   {"bottleneck": "2 CTAs on 132 SMs", "change": "8 query rows a block", "expected": "up to 8x at S = 128",
//    "files": ["naive.cu"],                                 an edit: declares what it touches
//    "variant": "split",  or  "tunable": "WARPS", "value": "4",                     or one of these
//    "usd": 0.02, "input_tokens": 5200, "output_tokens": 340}                       what it took, if it knows
//   {"done": true, "reason": "..."}                          no more ideas
//
// It says what to try, never whether it helped. Time and output are limited, its process group is killed at
// the end, and whatever it touched outside the allowed files refuses its proposal. In a cell it can write to
// the worktree and to its own folder only.
#pragma once

#include <filesystem>
#include <string>

#include "cell/cell.h"
#include "loop/proposers/proposer.h"
#include "loop/proposers/protected_files.h"
#include "workers/resources.h"

namespace dent {

struct CommandLimits {
  double seconds = 600;
  std::size_t output_bytes = std::size_t{4} << 20;
  int refused_in_a_row = 3;  // then it has no more ideas
};

// The cell that it runs in, and what it finds there besides the worktree. By default none.
struct CommandCell {
  Cell cell{Sandbox::off};
  CellView view{};
};
CommandCell command_cell(const Project& project);  // as the manifest wants it

class CommandProposer : public Proposer {
 public:
  // `command`: for /bin/sh. `scratch`: a folder for brief, answer and what it prints, outside of the
  // worktree. `own`: files and folders that it may not touch, beside those that the brief leads to.
  CommandProposer(std::string command, CommandLimits limits, std::filesystem::path scratch,
                  std::vector<std::filesystem::path> own, CommandCell around = {});

  std::string_view name() const override { return "command"; }
  std::optional<Proposal> propose(const Brief& brief) override;

 private:
  struct Ran;
  Ran run(const Brief& brief);
  void protect(const Brief& brief);

  std::string command_;
  CommandLimits limits_;
  std::filesystem::path scratch_;
  std::vector<std::filesystem::path> own_;
  CommandCell around_;
  ProtectedFiles protected_;
  std::filesystem::path protected_for_;  // the worktree that it was set up for
};

// The programs and files that dent itself consists of.
std::vector<std::filesystem::path> files_of_dent(const Resources& own);

}  // namespace dent
