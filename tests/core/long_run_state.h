// What the long run has done so far, kept in a small text file so that it can stop and go on.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_CORE_LONG_RUN_STATE_H_
#define TENSORCAST_TESTS_CORE_LONG_RUN_STATE_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tensorcast::testing {

// Of one destination under one set of options.
struct Tally {
  std::uint64_t codes = 0;
  std::uint64_t wrong = 0;
  // The first wrong ones met: source, expected, got.
  std::vector<std::array<std::uint64_t, 3>> examples;
};
inline constexpr std::size_t kMostExamples = 5;

struct DestinationState {
  std::uint64_t batches = 0;  // done, from the first on
  double seconds = 0;
  std::vector<Tally> tallies;  // by set of options
};

struct LongRunState {
  // Results of other code are not added to: both must be as they were.
  std::string target;
  std::string commit;
  std::map<std::string, DestinationState> destinations;  // by canonical name
};

// Reads a state file; false where there is none. The program ends where it cannot be understood or
// was written for another target or commit.
bool ReadState(const std::string& path, LongRunState* state);
// Writes beside the file, then renames: a run that is killed loses one batch at most.
void WriteState(const std::string& path, const LongRunState& state);

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_CORE_LONG_RUN_STATE_H_
