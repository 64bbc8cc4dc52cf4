// Hostile floating-point environments, and what the library left of them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_CORE_ENVIRONMENT_H_
#define TENSORCAST_TESTS_CORE_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tensorcast::testing {

struct HostileEnvironment {
  const char* name;
  int rounding;  // FE_TONEAREST ...
  bool flush;    // FTZ and DAZ
  bool trap;     // every exception unmasked
  bool sticky;   // every flag raised beforehand
};
std::vector<HostileEnvironment> HostileEnvironments();

// The words a call must give back unchanged: MXCSR, x87 control and status; FPCR, FPSR.
struct EnvironmentWords {
  std::uint64_t words[3] = {};
  friend bool operator==(const EnvironmentWords&, const EnvironmentWords&) = default;
};

// Sets an environment for its lifetime; the one before comes back at its end. Between the two no
// gtest and no arithmetic of the test's own.
class HostileScope {
 public:
  explicit HostileScope(const HostileEnvironment& environment);
  ~HostileScope();
  HostileScope(const HostileScope&) = delete;
  HostileScope& operator=(const HostileScope&) = delete;

  // As the constructor left them.
  const EnvironmentWords& set() const { return set_; }

 private:
  EnvironmentWords before_;
  EnvironmentWords set_;
};

EnvironmentWords ReadEnvironment();
std::string Describe(const EnvironmentWords& words);

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_CORE_ENVIRONMENT_H_
