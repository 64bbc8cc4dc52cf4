// Source codes; see source_codes.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/source_codes.h"

#include <algorithm>
#include <cstdlib>
#include <random>

namespace tensorcast::testing {
namespace {

std::uint64_t Mask(int bits) { return bits == 64 ? ~0ull : (1ull << bits) - 1; }

// Codes of `from` about a magnitude: the nearest below and two on either side of it, both signs.
void AddAround(const oracle::Row& from, const oracle::Value& value,
               std::vector<std::uint64_t>& codes) {
  std::uint64_t below = 0;
  if (from.kind == oracle::Kind::kFloating) {
    below = oracle::SearchFloor(from, value);
  } else {
    const oracle::Whole whole = oracle::ToWhole(oracle::RowOf(7), value);  // truncates
    if (whole.huge) return;
    below = whole.low;
  }
  for (int step = -1; step <= 2; ++step) {
    const std::uint64_t code = (below + static_cast<std::uint64_t>(step)) & from.mask();
    codes.push_back(code);
    codes.push_back((from.integer() ? 0 - code : code | from.minus) & from.mask());
  }
}

oracle::Value Magnitude(std::uint64_t digits, int exponent) {
  oracle::Value value;
  value.digits = digits;
  value.exponent = exponent;
  return value;
}

void AddFloatingEdges(const oracle::Row& from, const oracle::Row& to,
                      std::vector<std::uint64_t>& codes) {
  std::mt19937_64 random(static_cast<std::uint64_t>(100 * from.id + to.id));
  const bool wide = to.bits > 16;
  const std::uint64_t count = wide ? Scaled(30000) : to.largest + 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (Sampled() && to.bits == 16 && random() % 10 != 0) continue;
    // Of wide destinations random codes, half of them near 2^0 to 2^64, where integers are.
    std::uint64_t code = i;
    if (wide) {
      code = random() % (to.largest + 1);
      if (i % 2 == 0) {
        const std::uint64_t binade = 1ull << (to.precision - 1);
        const std::uint64_t one =
            static_cast<std::uint64_t>(1 - to.least - to.precision + 1) * binade;
        code = one + (random() % 64) * binade + random() % binade;
      }
    }
    const oracle::Value v = oracle::Decode(to, code);
    AddAround(from, v, codes);
    if (v.digits >> 61 != 0) continue;
    // The midpoint to the next, and a little beside it at every scale: what two roundings get
    // wrong lies within the first one's half unit of it.
    const oracle::Value midpoint = Magnitude(2 * v.digits + 1, v.exponent - 1);
    AddAround(from, midpoint, codes);
    for (const int far : {8, 14, 20, 29, 40}) {
      const int length = 64 - std::countl_zero(midpoint.digits);
      if (length + far > 63) continue;
      for (const int side : {-1, 1}) {
        AddAround(from,
                  Magnitude((midpoint.digits << far) + static_cast<std::uint64_t>(side),
                            midpoint.exponent - far),
                  codes);
      }
    }
  }
}

void AddIntegerEdges(const oracle::Row& from, const oracle::Row& to,
                     std::vector<std::uint64_t>& codes) {
  // Halves about zero, about every power of two up to the limits, and about 2^64 and beyond.
  for (std::uint64_t halves = 0; halves < 600; ++halves)
    AddAround(from, Magnitude(halves, -1), codes);
  for (int power = 2; power < 70; ++power) {
    for (std::uint64_t quarters = 0; quarters <= 16; ++quarters) {
      if (power >= 60) {
        AddAround(from, Magnitude((1ull << 40) + quarters, power - 40), codes);
        AddAround(from, Magnitude((1ull << 40) - quarters, power - 40), codes);
      } else {
        AddAround(from, Magnitude((4ull << power) + quarters, -2), codes);
        AddAround(from, Magnitude((4ull << power) - quarters, -2), codes);
      }
    }
  }
  // Large numbers whose low bits are not zero, where the type has such.
  std::mt19937_64 random(static_cast<std::uint64_t>(to.id));
  for (int i = 0; i < 4000; ++i) {
    const int up = static_cast<int>(random() % 80);
    AddAround(from, Magnitude(random() >> (random() % 60), up - 8), codes);
  }
}

}  // namespace

bool Sampled() {
#if defined(TENSORCAST_TEST_SAMPLE)
  return true;
#else
  static const bool sampled = std::getenv("TENSORCAST_TEST_SAMPLE") != nullptr;
  return sampled;
#endif
}

std::size_t Scaled(std::size_t full) { return Sampled() ? full / 10 + 1 : full; }

bool Takes(const TypeInfo& from, const TypeInfo& to, std::uint32_t full, std::uint32_t sampled) {
  const std::uint32_t pair =
      static_cast<std::uint32_t>(from.type) * 32 + static_cast<std::uint32_t>(to.type);
  const std::uint32_t mixed = pair * 2654435761U >> 16;
  return mixed % (Sampled() ? sampled : full) == 0;
}

std::vector<std::uint64_t> AllCodes(const TypeInfo& row) {
  const std::uint64_t kinds = 1ull << row.bits;
  std::vector<std::uint64_t> codes;
  if (Sampled() && row.bits == 16) {
    std::mt19937_64 random(static_cast<std::uint64_t>(row.type));
    for (std::size_t i = 0; i < 6000 + 37; ++i) codes.push_back(random() % kinds);
    return codes;
  }
  const std::uint64_t n = std::max<std::uint64_t>(kinds, 4096) + 37;
  for (std::uint64_t i = 0; i < n; ++i) codes.push_back((i + i / kinds * 7) % kinds);
  return codes;
}

std::vector<std::uint64_t> HardCodes(const TypeInfo& row) {
  const std::uint64_t mask = Mask(row.bits);
  std::mt19937_64 random(static_cast<std::uint64_t>(row.type) * 77);
  std::vector<std::uint64_t> codes;
  const auto add = [&](std::uint64_t code) {
    codes.push_back(code & mask);
    codes.push_back((row.is_float() ? code ^ (1ull << (row.bits - 1)) : 0 - code) & mask);
  };
  for (std::size_t i = 0; i < Scaled(150000); ++i) add(random());
  for (std::size_t i = 0; i < Scaled(60000); ++i) add(random() >> (random() % 64));
  // Sums and differences of two powers of two, and their neighbours: midpoints and limits lie
  // there.
  for (int high = 0; high < row.bits; ++high) {
    for (int low = 0; low <= high; ++low) {
      for (std::uint64_t beside = 0; beside < 3; ++beside) {
        add((1ull << high) + (1ull << low) + beside - 1);
        add((1ull << high) - (1ull << low) + beside - 1);
      }
    }
  }
  if (!row.is_float()) return codes;

  const std::uint64_t binade = 1ull << row.mantissa_bits;
  const std::uint64_t infinity = ((1ull << row.exponent_bits) - 1) * binade;
  for (std::size_t i = 0; i < Scaled(200000);
       ++i) {  // near one: where weights and their products are
    const auto far = static_cast<std::int64_t>(random() % 81) - 40;
    const auto exponent = static_cast<std::uint64_t>(row.bias + far);
    // Some with few significant bits, so that ties are met.
    const std::uint64_t fraction =
        (random() % binade) & (i % 3 == 0 ? ~0ull : ~0ull << (random() % 52));
    add(exponent * binade + fraction % binade);
  }
  for (std::uint64_t exponent = 0; exponent <= infinity / binade; ++exponent) {
    add(exponent * binade);
    add(exponent * binade + binade / 2);
    add(exponent * binade + binade - 1);
    add(exponent * binade + random() % binade);
  }
  for (int bit = 0; bit < row.mantissa_bits; ++bit) {  // NaN payloads; subnormals
    add(infinity + (1ull << bit));
    add(infinity + (binade - 1) - (1ull << bit));
    add(infinity + (1ull << bit) + binade / 2);
    add(random() % (2ull << bit));
  }
  for (int i = 0; i < 200; ++i) add(infinity + 1 + random() % (binade - 1));
  add(infinity);
  add(infinity - 1);
  add(infinity + binade - 1);
  return codes;
}

std::vector<std::uint64_t> EdgesOf(const TypeInfo& from, const TypeInfo& to) {
  const oracle::Row& from_row = oracle::RowOf(static_cast<int>(from.type));
  const oracle::Row& to_row = oracle::RowOf(static_cast<int>(to.type));
  std::vector<std::uint64_t> codes;
  if (to_row.floating()) {
    AddFloatingEdges(from_row, to_row, codes);
  } else {
    AddIntegerEdges(from_row, to_row, codes);
  }
  return codes;
}

std::vector<std::uint64_t> MixedCodes(const TypeInfo& from, const TypeInfo& to, std::size_t n,
                                      std::uint64_t seed) {
  std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(from.type) * 29 +
                         static_cast<std::uint64_t>(to.type));
  const std::uint64_t mask = Mask(from.bits);
  const std::uint64_t sign = from.has_sign ? 1ull << (from.bits - 1) : 0;
  std::vector<std::uint64_t> codes(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t code = random();
    if (from.is_float()) {
      const std::uint64_t binade = 1ull << from.mantissa_bits;
      const std::uint64_t top = (1ull << from.exponent_bits) - 1;
      switch (random() % 8) {
        case 0: break;                                  // any bits
        case 1: code = random() % (2 * binade); break;  // subnormals and the first binade
        case 2: code = (top - random() % 3) * binade + random() % binade; break;  // the far end
        case 3: code = 0; break;
        case 4: code = top * binade; break;  // Inf where there is one
        default: {                           // near one, often with few significant bits
          const std::uint64_t spread = random() % 24;
          const std::uint64_t near = std::min<std::uint64_t>(
              top, static_cast<std::uint64_t>(from.bias) + 12 -
                       std::min<std::uint64_t>(spread, static_cast<std::uint64_t>(from.bias)));
          code = near * binade + ((random() % binade) & (~0ull << random() % 53)) % binade;
        }
      }
      if (random() % 2 != 0) code ^= sign;
    } else if (random() % 2 != 0) {
      code >>= random() % 64;
      if (random() % 2 != 0) code = 0 - code;
    }
    codes[i] = code & mask;
  }
  return codes;
}

std::string TypeParameterName(const ::testing::TestParamInfo<DataType>& info) {
  return std::string(TypeName(info.param));
}

}  // namespace tensorcast::testing
