// One folder of ONNX's node tests: its model run on its inputs, and held against its outputs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_COMMANDS_NODE_TEST_H_
#define TENSORCAST_PROGRAMS_COMMANDS_NODE_TEST_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tensorcast/onnx.hpp"

namespace tensorcast::tool {

// Of one test_data_set_*.
struct NodeTestResult {
  enum class Outcome { kPass, kFail, kUnusable };
  std::string test;  // the folder's last parts, with the data set where it is not the first
  std::int64_t opset = 0;
  Outcome outcome = Outcome::kPass;
  // Why it fails or is unusable; of one that passes, how it differs in bits, else empty.
  std::string detail;
};

// Adds a result for each data set. Returns false, and adds none, where the model is of other
// operators, which a folder named test_cast... never is.
bool RunNodeTest(const std::filesystem::path& folder, onnx::Contradictions contradictions,
                 std::vector<NodeTestResult>& results);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_COMMANDS_NODE_TEST_H_
