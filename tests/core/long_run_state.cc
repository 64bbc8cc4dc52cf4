// The long run's state file; see long_run_state.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/long_run_state.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tensorcast::testing {
namespace {

constexpr const char* kHeading = "all_float32-state-1";

[[noreturn]] void Fail(const std::string& path, const std::string& what) {
  std::fprintf(stderr, "all_float32: %s: %s\n", path.c_str(), what.c_str());
  std::exit(2);
}

}  // namespace

bool ReadState(const std::string& path, LongRunState* state) {
  std::ifstream file(path);
  if (!file) return false;
  std::string heading, target, commit;
  file >> heading >> target >> commit;
  if (heading != kHeading) Fail(path, "is no state file of this program");
  if (target != state->target || commit != state->commit) {
    Fail(path, "was written for target " + target + ", commit " + commit +
                   "; take another --state to begin anew");
  }
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word, name;
    std::size_t set = 0;
    words >> word >> name;
    DestinationState& destination = state->destinations[name];
    if (word == "destination") {
      words >> destination.batches >> destination.seconds;
    } else if (word == "tally") {
      Tally tally;
      words >> tally.codes >> tally.wrong;
      destination.tallies.push_back(tally);
    } else if (word == "wrong") {
      std::array<std::uint64_t, 3> example = {};
      words >> set >> std::hex >> example[0] >> example[1] >> example[2];
      if (set >= destination.tallies.size()) Fail(path, "cannot be understood: " + line);
      destination.tallies[set].examples.push_back(example);
    }
    if (!words) Fail(path, "cannot be understood: " + line);
  }
  return true;
}

void WriteState(const std::string& path, const LongRunState& state) {
  const std::string beside = path + ".new";
  {
    std::ofstream file(beside);
    file << kHeading << ' ' << state.target << ' ' << state.commit << '\n';
    for (const auto& [name, destination] : state.destinations) {
      file << "destination " << name << ' ' << destination.batches << ' ' << destination.seconds
           << '\n';
      for (const Tally& tally : destination.tallies) {
        file << "tally " << name << ' ' << tally.codes << ' ' << tally.wrong << '\n';
      }
      for (std::size_t set = 0; set < destination.tallies.size(); ++set) {
        for (const auto& example : destination.tallies[set].examples) {
          file << "wrong " << name << ' ' << std::dec << set << std::hex;
          for (const std::uint64_t code : example) file << ' ' << code;
          file << std::dec << '\n';
        }
      }
    }
    file.flush();
    if (!file) Fail(beside, "cannot be written");
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) Fail(path, "cannot be renamed to");
}

}  // namespace tensorcast::testing
