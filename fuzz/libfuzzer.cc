// The fuzzer FUZZER_NAME as a libFuzzer program.
//
// SPDX-License-Identifier: Apache-2.0
#include "fuzzers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fuzz fuzz = Fuzzers().at(FUZZER_NAME);
  fuzz(data, size);
  return 0;
}
