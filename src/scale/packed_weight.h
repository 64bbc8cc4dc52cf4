// A weight whose tensors hold more than codes in their order and scales over cells: codes in words,
// transposed or in blocks with their scales, groups in an order of their own, values by tables. It
// says where its parts are, and decodes them in memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_PACKED_WEIGHT_H_
#define TENSORCAST_SRC_SCALE_PACKED_WEIGHT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_reader.h"
#include "scale/cell_values.h"
#include "scale/scaled_tensor.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

class StoredCodes;  // scale/stored_codes.h

class PackedWeight {
 public:
  // What it is, in words and for a configuration to be held against.
  struct Form {
    std::string_view name;    // "int4-group"; static storage
    std::string cells;        // "groups of 128, with zero points"
    int bits = 0;             // of a code
    bool is_integer = false;  // else floating
    std::uint64_t group = 0;  // columns that share a scale; 0: all of a row, or nothing of the kind
    std::uint64_t blocks = 0;    // which have their scales among their codes; 0: it has none
    std::uint64_t rotation = 0;  // columns that were rotated together; 0: they were not
  };

  // Elements [begin, end), which are read and held together.
  struct Place {
    std::uint64_t part = 0;
    std::uint64_t begin = 0, end = 0;
  };

  // A part in memory. Any number of threads may read one at once, in the default floating-point
  // environment.
  class Part {
   public:
    virtual ~Part() = default;
    // The values of elements of the weight from `first` on, all of which the part holds: exact
    // where a double holds them, else rounded once as `rounding` says. A NaN that is none of a
    // stored value is the positive quiet one.
    virtual void Read(std::uint64_t first, Rounding rounding, std::span<double> values) const = 0;
    // Whether each value of the part is one of float32.
    virtual bool IsFloat() const { return false; }
    // Whether it has met a scale that no quantiser writes.
    virtual bool HasOddScales() const { return false; }
    // The values rounded once to float32.
    virtual void Read(std::uint64_t first, std::span<float> values) const;
    // The values as `plan` casts float64; false: there is no shorter way to them than by Read.
    virtual bool Cast(const CastPlan& plan, std::uint64_t first, std::span<std::byte> out) const;
  };

  virtual ~PackedWeight() = default;
  virtual const Form& form() const = 0;
  virtual Place PlaceOf(std::uint64_t element) const = 0;
  // Throws files::Error where the tensors hold what the layout does not allow: "NAME: why".
  virtual std::unique_ptr<const Part> Load(const formats::TensorReader& reader,
                                           std::uint64_t part) const = 0;
  // The blocks whose scales no quantiser writes, where these stand among the codes.
  virtual ScaleFindings FindOddBlocks(const formats::TensorReader&) const { return {}; }
  // Whether its quantiser writes negative scales.
  virtual bool HasNegativeScales() const { return false; }
  // Its codes and what belongs to them as they stand; null: they have no rows, or are more than
  // codes (rotated, by tables).
  virtual const StoredCodes* stored_codes() const { return nullptr; }
  // All scales that no quantiser writes, counted; nothing: they are the numbers of one tensor.
  virtual std::optional<ScaleFindings> CountScales(const formats::TensorReader& reader) const;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_PACKED_WEIGHT_H_
