// Numbers are taken as doubles, which hold a zero point times a scale, and stored again: what is
// not the same when it is read back cannot be stored.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/group_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

std::size_t SizeOf(DataType type) { return static_cast<std::size_t>(FindType(type)->bits) / 8; }

std::vector<double> Decoded(DataType type, std::span<const std::byte> stored) {
  std::vector<double> values(stored.size() / SizeOf(type));
  Require(Cast(type, stored, DataType::kFloat64, std::as_writable_bytes(std::span(values)),
               values.size()));
  return values;
}

std::vector<std::byte> Stored(DataType type, std::span<const double> values) {
  std::vector<std::byte> stored(values.size() * SizeOf(type));
  Require(Cast(DataType::kFloat64, std::as_bytes(values), type, stored, values.size()));
  return stored;
}

// The same number: of zeros the sign counts, and no NaN is one.
bool IsSame(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }

bool AreHeld(DataType type, std::span<const double> values) {
  return std::ranges::equal(Decoded(type, Stored(type, values)), values, IsSame);
}

// Numbers of a size, each in as many groups as come to lie in one of the source's.
std::vector<std::byte> Spread(std::span<const std::byte> numbers, std::size_t size,
                              const RowChange& change) {
  if (change.group == change.from.group) return {numbers.begin(), numbers.end()};
  const std::uint64_t groups = change.groups(), of = change.from.groups();
  const std::uint64_t rows = numbers.size() / size / of;
  std::vector<std::byte> spread(static_cast<std::size_t>(rows * groups) * size);
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (std::uint64_t g = 0; g < groups; ++g) {
      const std::uint64_t from = r * of + g * change.group / change.from.group;
      std::memcpy(spread.data() + (r * groups + g) * size, numbers.data() + from * size, size);
    }
  }
  return spread;
}

// What a source has of the groups of some rows.
struct SourceValues {
  std::vector<std::byte> scale_bytes, bias_bytes;
  std::vector<double> scales, biases, zeros;
};

// Of a sum the zero point that makes it a product; NaN: there is none.
double ZeroOf(double scale, double bias, int bits) {
  const double zero = std::nearbyint(-bias / scale);
  const bool is_one =
      scale > 0 && std::isfinite(scale) && zero >= 0 && zero < (1 << bits) && zero * scale == -bias;
  return is_one ? zero : NAN;
}

SourceValues Read(const formats::TensorReader& reader, const StoredCodes& codes,
                  const RowChange& change, const RowRange& rows) {
  SourceValues source;
  const StoredForm& from = change.from;
  source.scale_bytes = codes.ReadScales(reader, rows.batch, rows.first, rows.count);
  const bool is_counted = change.bias != DataType::kUndefined || change.has_zeros;
  if (is_counted || change.scale != from.scale) {
    source.scales = Decoded(from.scale, source.scale_bytes);
  }
  if (from.bias != DataType::kUndefined) {
    source.bias_bytes = codes.ReadBiases(reader, rows.batch, rows.first, rows.count);
    source.biases = Decoded(from.bias, source.bias_bytes);
    if (change.has_zeros) {
      source.zeros.resize(source.scales.size());
      for (std::size_t i = 0; i < source.zeros.size(); ++i) {
        source.zeros[i] = ZeroOf(source.scales[i], source.biases[i], from.bits);
      }
    }
  } else if (is_counted && from.IsInteger()) {
    const std::vector<std::int16_t> stored =
        codes.ReadZeros(reader, rows.batch, rows.first, rows.count);
    if (stored.empty()) {
      source.zeros.assign(source.scales.size(), from.zero);
    } else {
      source.zeros.assign(stored.begin(), stored.end());
    }
    if (change.bias != DataType::kUndefined) {
      source.biases.resize(source.zeros.size());
      for (std::size_t i = 0; i < source.biases.size(); ++i) {
        // Of a zero point 0 as of any other: -0 added to a product of 0 leaves it.
        source.biases[i] = source.zeros[i] == 0 ? 0.0 : -source.zeros[i] * source.scales[i];
      }
    }
  }
  return source;
}

}  // namespace

GroupValues ValuesOf(const formats::TensorReader& reader, const StoredCodes& codes,
                     const RowChange& change, const RowRange& rows) {
  const SourceValues source = Read(reader, codes, change, rows);
  const StoredForm& from = change.from;
  GroupValues values;
  const auto made = [&](DataType was, DataType is, const std::vector<std::byte>& bytes,
                        const std::vector<double>& numbers) {
    return Spread(was == is ? bytes : Stored(is, numbers), SizeOf(is), change);
  };
  values.scales = made(from.scale, change.scale, source.scale_bytes, source.scales);
  if (change.bias != DataType::kUndefined) {
    values.biases = made(from.bias, change.bias, source.bias_bytes, source.biases);
  }
  if (change.has_zeros) {
    std::vector<std::byte> zeros;
    for (const double zero : source.zeros) {
      zeros.push_back(static_cast<std::byte>(static_cast<std::uint8_t>(zero)));
    }
    zeros = Spread(zeros, 1, change);
    for (const std::byte zero : zeros) values.zeros.push_back(static_cast<std::uint8_t>(zero));
  }
  return values;
}

std::string WhyNoValues(const formats::TensorReader& reader, const StoredCodes& codes,
                        const RowChange& change, const RowRange& rows) {
  const SourceValues source = Read(reader, codes, change, rows);
  const StoredForm& from = change.from;
  const auto type = [](DataType one) { return std::string(TypeName(one)); };
  if (from.scale != change.scale && !AreHeld(change.scale, source.scales)) {
    return "has scales that are not " + type(change.scale) + " numbers";
  }
  const bool is_sum = change.bias != DataType::kUndefined;
  if (is_sum && from.bias == DataType::kUndefined) {
    // Where q is z the product is a 0 with the sign of the scale, and the sum +0; where the scale
    // is 0 it has the sign of q - z.
    if (!std::ranges::all_of(source.scales, [](double s) { return s > 0 && std::isfinite(s); })) {
      return "has scales that are not greater than 0 and finite: as sums its zeros would have "
             "other signs, or be NaN";
    }
    if (!AreHeld(change.bias, source.biases)) {
      return "has zero points whose products with their scales are not " + type(change.bias) +
             " numbers";
    }
  } else if (is_sum && from.bias != change.bias && !AreHeld(change.bias, source.biases)) {
    return "has biases that are not " + type(change.bias) + " numbers";
  }
  if (change.has_zeros && from.bias != DataType::kUndefined &&
      std::ranges::any_of(source.zeros, [](double zero) { return std::isnan(zero); })) {
    return "has biases that are not whole multiples of their scales, from 0 to -" +
           std::to_string((1 << from.bits) - 1) + " times these";
  }
  if (change.has_zeros && std::ranges::any_of(source.zeros, [&](double zero) {
        return zero < 0 || zero >= (1 << from.bits);
      })) {
    return "has zero points outside of 0 to " + std::to_string((1 << from.bits) - 1);
  }
  return {};
}

bool AreZeros(const formats::TensorReader& reader, const StoredCodes& codes,
              const RowChange& change, const RowRange& rows, int zero) {
  RowChange with_zeros = change;
  with_zeros.bias = DataType::kUndefined;
  with_zeros.has_zeros = true;
  const SourceValues source = Read(reader, codes, with_zeros, rows);
  return std::ranges::all_of(source.zeros, [&](double one) { return one == zero; });
}

std::vector<float> GlobalsOf(std::vector<float> globals, bool is_reciprocal) {
  if (globals.empty()) globals = {1.0F};
  if (is_reciprocal) {
    // A quotient of float32 in double, rounded again, is the one that is rounded once.
    for (float& one : globals) one = static_cast<float>(1.0 / static_cast<double>(one));
  }
  return globals;
}

std::vector<std::uint32_t> OrderOf(std::uint64_t columns, std::uint64_t group) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(columns));
  for (std::uint64_t i = 0; i < columns; ++i) order[i] = static_cast<std::uint32_t>(i / group);
  return order;
}

}  // namespace tensorcast::scale
