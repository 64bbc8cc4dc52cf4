// Tensors in memory, and what goes with running them through a graph or a model: what session.hpp
// takes and gives.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TENSOR_VIEW_HPP_
#define TENSORCAST_TENSOR_VIEW_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

// A tensor in memory, not owned.
struct TensorView {
  DataType type = DataType::kUndefined;
  std::span<const std::uint64_t> shape;  // in elements; empty for a scalar
  std::span<const std::byte> data;       // StorageBytes(type, elements), packed; not for kString
  Strings strings;                       // for kString
};

// What a graph declares about an input or an output.
struct ValueInfo {
  std::string name;
  DataType type = DataType::kUndefined;
  bool has_shape = false;
  // The size of each dimension, or nullopt if it is symbolic. Sizes are not enforced.
  std::vector<std::optional<std::uint64_t>> shape;
  bool has_default = false;  // an input with an initializer of its name, which need not be given
};

// What one node took.
struct NodeProfile {
  std::string node;  // its name, or its first output's
  std::string op_type;
  DataType from = DataType::kUndefined;
  DataType to = DataType::kUndefined;
  double seconds = 0;
  std::uint64_t bytes_read = 0;  // 0 if it only made a view (Identity)
  std::uint64_t bytes_written = 0;
};

// How a run goes.
struct GraphRun {
  Executor* executor = nullptr;  // none: the calling thread alone
  std::vector<NodeProfile>* profile = nullptr;
  const std::atomic<bool>* interrupted = nullptr;  // once true, the run ends with kInterrupted
};

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_TENSOR_VIEW_HPP_
