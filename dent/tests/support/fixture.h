// SPDX-License-Identifier: MIT
// A fixture that is a program (fixture.py says what it speaks): an sshd, a Slurm cluster. It lives as long as
// this object, and ends with the test program, however that ends.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dent::test {

class Fixture {
 public:
  // Of dent/tests/support: Fixture cluster("slurm_cluster.py", {"--forget", "5"});
  explicit Fixture(const std::string& program, const std::vector<std::string>& arguments = {});
  ~Fixture();
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  // Why there is none here; empty when it is up:
  //   if (!cluster.missing().empty()) GTEST_SKIP() << cluster.missing();
  const std::string& missing() const { return missing_; }
  const std::string& fact(const std::string& name) const { return facts_.at(name); }
  // Calls one of its methods, as `lose n2`; throws std::runtime_error when that fails.
  std::string tell(const std::string& line);

 private:
  std::string read_line();

  int process_ = -1;
  int to_ = -1, from_ = -1;
  std::string unread_;
  std::string missing_;
  std::map<std::string, std::string> facts_;
};

}  // namespace dent::test
