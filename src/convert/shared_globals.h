// Global scales that several weights share, as runtimes load them as one matrix
// (scale/fused_names.h): which weights these are, and the largest magnitude of each group of them,
// found once.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_SHARED_GLOBALS_H_
#define TENSORCAST_SRC_CONVERT_SHARED_GLOBALS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "formats/tensor_reader.h"

namespace tensorcast::convert {

// The global scales that weights of one file share, with others whose weights are only looked at.
// One thread may use it at a time.
class SharedGlobals {
 public:
  // A weight that gets a global scale, by the index of its reader and its own.
  struct Member {
    std::uint32_t file = 0;
    std::uint32_t tensor = 0;
  };

  SharedGlobals() = default;
  // The readers outlive this; the first is the converted file's. A weight that has no other beside
  // it among the members shares its scale with none.
  SharedGlobals(std::vector<const formats::TensorReader*> readers, std::vector<Member> members);

  // The group that a tensor of the converted file is in.
  std::optional<std::uint32_t> GroupOf(std::size_t tensor) const;
  // What is still to be read before its scale is known.
  std::uint64_t BytesToRead(std::uint32_t group) const;
  // The largest of what `measure` gives of its members, each of which is measured once.
  using Measure = std::function<double(const formats::TensorReader& reader, std::size_t tensor)>;
  double AmaxOf(std::uint32_t group, const Measure& measure);

 private:
  std::span<const Member> MembersOf(std::uint32_t group) const;

  static constexpr double kUnknown = -1;

  std::vector<const formats::TensorReader*> readers_;
  std::vector<Member> members_;        // group by group
  std::vector<std::uint32_t> ends_;    // of each group's, in members_
  std::vector<double> amax_;           // of each group
  std::vector<std::uint32_t> groups_;  // by tensor of the converted file; 0: none, else from 1 on
};

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_SHARED_GLOBALS_H_
