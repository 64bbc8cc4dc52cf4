// Tensors in memory, and what goes with a run of them through a graph or a model: what session.hpp
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
  std::span<const std::byte> data;       // StorageBytes(type, elements), packed; not of kString
  Strings strings;                       // of kString
};

// What a graph says of an input or an output.
struct ValueInfo {
  std::string name;
  DataType type = DataType::kUndefined;
  bool has_shape = false;
  // Of each dimension its size, or nothing where it is symbolic. Sizes are not enforced.
  std::vector<std::optional<std::uint64_t>> shape;
  bool has_default = false;  // an input with an initializer of its name: it need not be given
};

// What one node took.
struct NodeProfile {
  std::string node;  // its name, or its first output's
  std::string op_type;
  DataType from = DataType::kUndefined;
  DataType to = DataType::kUndefined;
  double seconds = 0;
  std::uint64_t bytes_read = 0;  // 0 where only a view was made (Identity)
  std::uint64_t bytes_written = 0;
};

// How a run goes.
struct GraphRun {
  Executor* executor = nullptr;  // none: the calling thread alone
  std::vector<NodeProfile>* profile = nullptr;
  const std::atomic<bool>* interrupted = nullptr;  // once true the run ends with kInterrupted
};

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_TENSOR_VIEW_HPP_
