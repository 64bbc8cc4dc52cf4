// Parts of packed weights, held while what is read lies in them: a weight is read from its
// beginning to its end, by several threads, and each part is loaded once or little more.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_HELD_PARTS_H_
#define TENSORCAST_SRC_SCALE_HELD_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "formats/tensor_reader.h"
#include "scale/packed_weight.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// Safe to call from several threads. Its functions throw what PackedWeight::Load throws.
class HeldParts {
 public:
  // `reader` has to outlive this.
  explicit HeldParts(const formats::TensorReader& reader) : reader_(reader) {}

  // The weight's values from element `first` on. True where a part that was read has scales that no
  // quantiser writes.
  bool Read(const PackedWeight& weight, std::uint64_t first, Rounding rounding,
            std::span<double> values) const;
  // The same, as `plan` casts float64: to another type of at least 8 bits.
  bool Cast(const PackedWeight& weight, const CastPlan& plan, std::uint64_t first,
            std::span<std::byte> out) const;

 private:
  struct Held;

  std::shared_ptr<const PackedWeight::Part> PartOf(const PackedWeight& weight,
                                                   std::uint64_t part) const;

  const formats::TensorReader& reader_;
  mutable std::mutex mutex_;                         // guards what follows
  mutable std::vector<std::shared_ptr<Held>> held_;  // the last used, newest last
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_HELD_PARTS_H_
