// The fuzzers by name: each file adds its own, replay.cc and libfuzzer.cc find them here.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_FUZZ_FUZZERS_H_
#define TENSORCAST_FUZZ_FUZZERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

// Takes one input; ends the process where something does not hold.
using Fuzz = void (*)(const std::uint8_t* data, std::size_t size);

inline std::map<std::string_view, Fuzz>& Fuzzers() {
  static std::map<std::string_view, Fuzz> fuzzers;
  return fuzzers;
}

// One at namespace scope for each fuzzer.
struct Fuzzer {
  Fuzzer(const char* name, Fuzz fuzz) { Fuzzers()[name] = fuzz; }
};

#endif  // TENSORCAST_FUZZ_FUZZERS_H_
