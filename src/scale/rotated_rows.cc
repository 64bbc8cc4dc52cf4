// The matrix of a group of 4^n is H (x) H (x) ... / 2^n with n factors H, of ones but for -1 where
// row and column add up to 3. The codes of a group are rotated as integers, which stay below 2^16;
// then one product with the scale is exact in double.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/rotated_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "scale/matrix_parts.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

constexpr std::size_t kMostGroup = 256;
using Group = std::array<std::int32_t, kMostGroup>;

std::int32_t SignedByte(std::byte byte) {
  const auto code = static_cast<std::uint8_t>(byte);
  return code - (code >> 7 << 8);
}

// The sums of a group, one base-4 digit of the index after the other.
void Rotate(std::int32_t* codes, std::size_t size) {
  for (std::size_t step = 1; step < size; step *= 4) {
    for (std::size_t begin = 0; begin < size; begin += 4 * step) {
      std::int32_t *const a = codes + begin, *const b = a + step, *const c = b + step,
                          *const d = c + step;
      for (std::size_t i = 0; i < step; ++i) {
        const std::int32_t sum = (a[i] + b[i]) + (c[i] + d[i]);
        const std::int32_t one = sum - 2 * d[i], two = sum - 2 * c[i], three = sum - 2 * b[i],
                           four = sum - 2 * a[i];
        a[i] = one;
        b[i] = two;
        c[i] = three;
        d[i] = four;
      }
    }
  }
}

struct LoadedRotated {
  std::uint64_t first_element = 0, columns = 0, first_row = 0;
  std::vector<std::byte> codes;
  std::vector<double> scales;
};

class RotatedPart final : public PackedWeight::Part {
 public:
  RotatedPart(const RotatedRows& rows, LoadedRotated loaded)
      : bits_(rows.form.bits),
        group_(static_cast<std::size_t>(rows.group)),
        root_(std::sqrt(static_cast<double>(rows.group))),
        has_one_scale_(rows.has_one_scale),
        loaded_(std::move(loaded)) {}

  bool HasOddScales() const override {
    return !std::ranges::all_of(loaded_.scales,
                                [](double scale) { return scale > 0 && std::isfinite(scale); });
  }

  void Read(std::uint64_t first, Rounding, std::span<double> values) const override {
    std::array<double, kMostGroup> group;
    for (std::size_t at = 0; at < values.size();) {
      const std::uint64_t element = first + at;
      const auto skipped = static_cast<std::size_t>(element % group_);
      const std::size_t n = std::min(values.size() - at, group_ - skipped);
      if (n == group_) {
        ReadGroup(element, values.data() + at);
      } else {
        ReadGroup(element - skipped, group.data());
        std::copy_n(group.data() + skipped, n, values.data() + at);
      }
      at += n;
    }
  }

 private:
  // A row has whole groups.
  void ReadGroup(std::uint64_t first, double* out) const {
    Group codes;
    Unpack(static_cast<std::size_t>(first - loaded_.first_element), codes);
    const double scale =
        loaded_.scales[has_one_scale_ ? 0 : first / loaded_.columns - loaded_.first_row];
    if (scale == 0 || !std::isfinite(scale)) return AddSigns(codes, scale, out);
    Rotate(codes.data(), group_);
    const double factor = scale / root_;
    // A sum of 0 is +0, whatever the sign of the scale.
    for (std::size_t i = 0; i < group_; ++i) out[i] = codes[i] * factor + 0.0;
  }

  // Sums of products that are all 0 or all Inf but for their signs: only where these agree, in all
  // terms of a sum, it is what they are; else +0, or NaN.
  void AddSigns(Group& codes, double scale, double* out) const {
    const auto group = std::span(codes).first(group_);
    const bool is_nan = std::isnan(scale) || (scale != 0 && std::ranges::count(group, 0) != 0);
    for (std::int32_t& code : group) code = std::signbit(code * scale) ? -1 : 1;
    Rotate(codes.data(), group_);
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const auto all = static_cast<std::int32_t>(group_);
    for (std::size_t i = 0; i < group_; ++i) {
      const bool agree = !is_nan && (codes[i] == all || codes[i] == -all);
      out[i] = agree ? std::copysign(scale, codes[i]) : is_nan || scale != 0 ? kNan : 0.0;
    }
  }

  void Unpack(std::size_t first, Group& codes) const {
    if (bits_ == 8) {
      for (std::size_t i = 0; i < group_; ++i) codes[i] = SignedByte(loaded_.codes[first + i]);
      return;
    }
    for (std::size_t i = 0; i < group_ / 2; ++i) {
      const auto both = static_cast<std::uint8_t>(loaded_.codes[first / 2 + i]);
      codes[2 * i] = static_cast<std::int8_t>(both << 4) >> 4;
      codes[2 * i + 1] = static_cast<std::int8_t>(both) >> 4;
    }
  }

  const int bits_;
  const std::size_t group_;
  const double root_;
  const bool has_one_scale_;
  const LoadedRotated loaded_;
};

class RotatedWeight final : public PackedWeight {
 public:
  explicit RotatedWeight(RotatedRows rows)
      : rows_(std::move(rows)), parts_(rows_.rows, rows_.columns, rows_.form.bits) {}

  const Form& form() const override { return rows_.form; }
  Place PlaceOf(std::uint64_t element) const override { return parts_.PlaceOf(element); }

  std::unique_ptr<const Part> Load(const formats::TensorReader& reader,
                                   std::uint64_t part) const override {
    const Rectangle place = parts_.At(part);
    const auto bits = static_cast<std::uint64_t>(rows_.form.bits);
    LoadedRotated loaded;
    loaded.first_element = place.row * rows_.columns + place.column;
    loaded.columns = rows_.columns;
    loaded.first_row = place.row;
    loaded.codes.resize(static_cast<std::size_t>(place.rows * place.columns * bits / 8));
    reader.Read(rows_.codes, loaded.first_element * bits / 8, loaded.codes);
    const std::uint64_t n = rows_.has_one_scale ? 1 : place.rows;
    const std::uint64_t size = *StorageBytes(rows_.scale, 1);
    std::vector<std::byte> scales(static_cast<std::size_t>(n * size));
    reader.Read(rows_.scales, rows_.has_one_scale ? 0 : place.row * size, scales);
    loaded.scales.resize(static_cast<std::size_t>(n));
    Require(Cast(rows_.scale, scales, DataType::kFloat64,
                 std::as_writable_bytes(std::span(loaded.scales)), n));
    return std::make_unique<RotatedPart>(rows_, std::move(loaded));
  }

 private:
  const RotatedRows rows_;
  const MatrixParts parts_;
};

}  // namespace

void RotateValues(std::span<double> values, std::size_t group) {
  const double root = std::sqrt(static_cast<double>(group));
  for (std::size_t step = 1; step < group; step *= 4) {
    for (std::size_t begin = 0; begin < values.size(); begin += 4 * step) {
      double *const a = values.data() + begin, *const b = a + step, *const c = b + step,
                    *const d = c + step;
      for (std::size_t i = 0; i < step; ++i) {
        const double one = a[i] + b[i] + c[i] - d[i], two = a[i] + b[i] - c[i] + d[i],
                     three = a[i] - b[i] + c[i] + d[i], four = -a[i] + b[i] + c[i] + d[i];
        a[i] = one;
        b[i] = two;
        c[i] = three;
        d[i] = four;
      }
    }
  }
  for (double& value : values) value /= root;
}

void DecodeRotated(std::span<const std::byte> codes, double scale, std::size_t group,
                   std::span<double> values) {
  const double factor = scale / std::sqrt(static_cast<double>(group));
  Group some;
  for (std::size_t first = 0; first < codes.size(); first += group) {
    for (std::size_t i = 0; i < group; ++i) some[i] = SignedByte(codes[first + i]);
    Rotate(some.data(), group);
    for (std::size_t i = 0; i < group; ++i) values[first + i] = some[i] * factor + 0.0;
  }
}

std::shared_ptr<const PackedWeight> MakeRotatedRows(RotatedRows rows) {
  return std::make_shared<const RotatedWeight>(std::move(rows));
}

}  // namespace tensorcast::scale
