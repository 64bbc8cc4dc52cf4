// Counts raw fields of codes, and finds out what exponents they are once for each piece that is
// read.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/exponents.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::convert {
namespace {

constexpr std::uint64_t kStretch = 32;  // values; a bit of a word for each
constexpr std::uint64_t kLeastSample = 1024;
constexpr std::uint64_t kLargestBlock = 8192;
constexpr std::uint32_t kAll = ~std::uint32_t{0};

// Which values of a tensor are looked at: stretches in each block of its elements.
struct Sample {
  explicit Sample(std::uint64_t elements) {
    if (elements <= kLeastSample) {
      stretches = block / kStretch;
    } else if (elements < kLeastSample * kStretch) {
      stretches = std::bit_ceil((kLeastSample * kStretch - 1) / elements + 1);
    } else {
      while (block < kLargestBlock && elements / block >= 512) block *= 2;
    }
  }

  // Where the j-th stretch of block b begins: elsewhere in each, or columns of a matrix whose rows
  // are multiples of a block would never be seen.
  std::uint64_t Begin(std::uint64_t b, std::uint64_t j) const {
    const std::uint64_t places = block / kStretch;
    const std::uint64_t turn = (b * 0x9E3779B97F4A7C15u) >> 32;
    return b * block + (turn + j * (places / stretches)) % places * kStretch;
  }

  std::uint64_t block = 1024;
  std::uint64_t stretches = 1;
};

// Counts of raw fields: of a floating type of 16 bits or more its exponent, of an integer of as
// many the bits that its magnitude takes, of other types the code.
struct Fields {
  std::array<std::uint32_t, 2048> counts;
  std::uint64_t zeros = 0;
  ExponentCounts subnormals;
};

struct Stretch {
  const std::byte* source;
  std::uint64_t first;   // value of the source
  std::uint32_t values;  // a bit for each that is counted
};

// Calls use(i) for the values of a stretch.
template <class Use> void ForValues(const Stretch& stretch, const Use& use) {
  if (stretch.values == kAll) {
    for (std::uint64_t k = 0; k < kStretch; ++k) use(stretch.first + k);
    return;
  }
  for (std::uint32_t left = stretch.values; left != 0; left &= left - 1) {
    use(stretch.first + static_cast<std::uint64_t>(std::countr_zero(left)));
  }
}

template <class Code> Code Load(const Stretch& stretch, std::uint64_t i) {
  Code code;
  std::memcpy(&code, stretch.source + i * sizeof(Code), sizeof(Code));
  return code;
}

using CountStretch = void (*)(const TypeInfo& type, const Stretch& stretch, Fields& fields);

template <class Code, int mantissa_bits, int exponent_bits>
void CountFloats(const TypeInfo& type, const Stretch& stretch, Fields& fields) {
  constexpr Code kField = (Code{1} << exponent_bits) - 1;
  constexpr Code kMantissa = (Code{1} << mantissa_bits) - 1;
  const std::uint32_t small = fields.counts[0];
  ForValues(stretch, [&](std::uint64_t i) {
    ++fields.counts[static_cast<std::size_t>(Load<Code>(stretch, i) >> mantissa_bits & kField)];
  });
  if (fields.counts[0] == small) return;
  fields.counts[0] = small;
  ForValues(stretch, [&](std::uint64_t i) {
    const Code code = Load<Code>(stretch, i);
    if ((code >> mantissa_bits & kField) != 0) return;
    const auto mantissa = static_cast<Code>(code & kMantissa);
    if (mantissa == 0) {
      ++fields.zeros;
    } else {
      fields.subnormals.Add(1 - type.bias - mantissa_bits + std::bit_width(mantissa) - 1, 1);
    }
  });
}

template <class Code>
void CountIntegers(const TypeInfo& type, const Stretch& stretch, Fields& fields) {
  ForValues(stretch, [&](std::uint64_t i) {
    const Code code = Load<Code>(stretch, i);
    const bool is_negative = type.has_sign && (code >> (8 * sizeof(Code) - 1)) != 0;
    const auto magnitude = static_cast<Code>(is_negative ? Code{0} - code : code);
    ++fields.counts[static_cast<std::size_t>(std::bit_width(magnitude))];
  });
}

void CountCodes(const TypeInfo& type, const Stretch& stretch, Fields& fields) {
  ForValues(stretch, [&](std::uint64_t i) {
    ++fields.counts[detail::LoadCode(stretch.source, i, type.bits)];
  });
}

bool HasFields(const TypeInfo& type) { return type.is_float() && type.bits >= 16; }

CountStretch CounterOf(const TypeInfo& type) {
  switch (type.type) {
    case DataType::kFloat64: return CountFloats<std::uint64_t, 52, 11>;
    case DataType::kFloat32: return CountFloats<std::uint32_t, 23, 8>;
    case DataType::kBfloat16: return CountFloats<std::uint16_t, 7, 8>;
    case DataType::kFloat16: return CountFloats<std::uint16_t, 10, 5>;
    default: break;
  }
  if (type.bits == 64) return CountIntegers<std::uint64_t>;
  if (type.bits == 32) return CountIntegers<std::uint32_t>;
  if (type.bits == 16) return CountIntegers<std::uint16_t>;
  return CountCodes;
}

// How many fields a type has.
std::size_t FieldsOf(const TypeInfo& type) {
  if (HasFields(type)) return std::size_t{1} << type.exponent_bits;
  return type.bits > 8 ? static_cast<std::size_t>(type.bits) + 1 : std::size_t{1} << type.bits;
}

void AddField(const TypeInfo& type, std::size_t field, std::uint64_t n, ExponentCounts& counts) {
  const int number = static_cast<int>(field);
  if (HasFields(type)) {
    if (field + 1 == FieldsOf(type)) {
      counts.not_finite += n;
    } else {
      counts.Add(number - type.bias, n);
    }
    return;
  }
  if (type.bits > 8) {
    if (field == 0) {
      counts.zeros += n;
    } else {
      counts.Add(number - 1, n);
    }
    return;
  }
  const auto value =
      std::bit_cast<double>(CastBits(type.type, DataType::kFloat64, std::uint64_t{field}));
  if (!std::isfinite(value)) {
    counts.not_finite += n;
  } else if (value == 0) {
    counts.zeros += n;
  } else {
    counts.Add(std::ilogb(value), n);
  }
}

void AddFields(const TypeInfo& type, const Fields& fields, std::uint64_t counted,
               ExponentCounts& counts) {
  counts.sampled += counted;
  counts.zeros += fields.zeros;
  for (std::size_t field = 0; field < FieldsOf(type); ++field) {
    if (fields.counts[field] != 0) AddField(type, field, fields.counts[field], counts);
  }
  counts.Merge(fields.subnormals);
}

}  // namespace

void CountExponents(const TypeInfo& type, std::span<const std::byte> piece, std::uint64_t values,
                    ExponentCounts& counts) {
  const CountStretch count = CounterOf(type);
  Fields fields;
  std::fill_n(fields.counts.begin(), FieldsOf(type), 0);
  for (std::uint64_t first = 0; first < values; first += kStretch) {
    const std::uint64_t left = values - first;
    count(type, {piece.data(), first, left < kStretch ? kAll >> (kStretch - left) : kAll}, fields);
  }
  AddFields(type, fields, values, counts);
}

struct CountingReader::Tally {
  explicit Tally(std::uint64_t elements)
      : seen((elements / Sample(elements).block + 1) * Sample(elements).stretches) {}

  std::vector<std::atomic<std::uint32_t>> seen;  // a word for each stretch
  ExponentCounts counts;
};

void ExponentCounts::Add(int exponent, std::uint64_t n) {
  if (counts.empty()) first = exponent;
  if (exponent < first) {
    counts.insert(counts.begin(), static_cast<std::size_t>(first - exponent), 0);
    first = exponent;
  }
  const auto place = static_cast<std::size_t>(exponent - first);
  if (place >= counts.size()) counts.resize(place + 1);
  counts[place] += n;
}

void ExponentCounts::Merge(const ExponentCounts& other) {
  sampled += other.sampled;
  zeros += other.zeros;
  not_finite += other.not_finite;
  for (std::size_t i = 0; i < other.counts.size(); ++i) {
    if (other.counts[i] != 0) Add(other.first + static_cast<int>(i), other.counts[i]);
  }
}

double ZeroBelow(DataType type) {
  const TypeInfo* const row = FindType(type);
  const bool truncates = row != nullptr && row->is_integer() && row->bits >= 8;
  return truncates ? 1 : LimitsOf(type).least_positive / 2;
}

Zone ZoneOf(DataType type, int exponent) {
  const TypeLimits limits = LimitsOf(type);
  const double begin = std::ldexp(1.0, exponent), end = 2 * begin;
  if (begin > limits.greatest) return Zone::kBeyond;
  if (end <= ZeroBelow(type)) return Zone::kZero;
  return end <= limits.least_normal ? Zone::kSubnormal : Zone::kNormal;
}

ZoneCounts ZonesOf(DataType type, const ExponentCounts& exponents) {
  ZoneCounts zones;
  for (std::size_t i = 0; i < exponents.counts.size(); ++i) {
    const std::uint64_t n = exponents.counts[i];
    switch (ZoneOf(type, exponents.first + static_cast<int>(i))) {
      case Zone::kZero: zones.to_zero += n; break;
      case Zone::kSubnormal: zones.to_subnormal += n; break;
      case Zone::kNormal: break;
      case Zone::kBeyond: zones.beyond += n; break;
    }
  }
  return zones;
}

CountingReader::CountingReader(const formats::TensorReader& reader)
    : reader_(reader),
      wanted_(reader.contents().tensors.size()),
      tallies_(reader.contents().tensors.size()) {}

CountingReader::~CountingReader() = default;

void CountingReader::Want(std::size_t tensor) { wanted_[tensor] = true; }

ExponentCounts CountingReader::Take(std::size_t tensor) {
  const std::lock_guard<std::mutex> lock(mutex_);
  wanted_[tensor] = false;
  const std::unique_ptr<Tally> tally = std::move(tallies_[tensor]);
  return tally != nullptr ? std::move(tally->counts) : ExponentCounts();
}

CountingReader::Tally* CountingReader::TallyOf(std::size_t tensor) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!wanted_[tensor]) return nullptr;
  if (tallies_[tensor] == nullptr) {
    tallies_[tensor] = std::make_unique<Tally>(reader_.contents().tensors[tensor].elements);
  }
  return tallies_[tensor].get();
}

void CountingReader::Read(std::size_t tensor, std::uint64_t offset,
                          std::span<std::byte> out) const {
  reader_.Read(tensor, offset, out);
  Tally* const tally = TallyOf(tensor);
  if (tally == nullptr || out.empty()) return;
  const formats::TensorInfo& info = reader_.contents().tensors[tensor];
  const TypeInfo& type = *FindType(info.type);
  const CountStretch count = CounterOf(type);
  const Sample sample(info.elements);
  const auto bits = static_cast<std::uint64_t>(type.bits);
  const std::uint64_t first = offset * 8 / bits;
  const std::uint64_t end = std::min(info.elements, first + out.size() * 8 / bits);
  const std::size_t size = FieldsOf(type);
  Fields fields;
  std::uint64_t counted = 0;
  for (std::uint64_t b = first / sample.block; b * sample.block < end; ++b) {
    for (std::uint64_t j = 0; j < sample.stretches; ++j) {
      const std::uint64_t begin = sample.Begin(b, j);
      if (begin >= end || begin + kStretch <= first) continue;
      std::uint32_t values = kAll;
      if (begin < first) values &= kAll << (first - begin);
      if (begin + kStretch > end) values &= kAll >> (begin + kStretch - end);
      std::atomic<std::uint32_t>& seen = tally->seen[b * sample.stretches + j];
      values &= ~seen.fetch_or(values, std::memory_order_relaxed);
      if (values == 0) continue;
      if (counted == 0) std::fill_n(fields.counts.begin(), size, 0);
      counted += static_cast<std::uint64_t>(std::popcount(values));
      // The stretch may begin before what was read: only values that are in it are looked at.
      count(type, {out.data(), begin - first, values}, fields);
    }
  }
  if (counted == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  AddFields(type, fields, counted, tally->counts);
}

}  // namespace tensorcast::convert
