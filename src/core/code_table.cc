// Making tables of codes and keeping them.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/code_table.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "core/kernels.h"
#include "core/option_set.h"

namespace tensorcast::core {
namespace {

// Never freed: plans point to them, also those of threads that outlive main.
std::atomic<const CodeTable*> made[kRows][kRows][kOptionSets];

// Whether the bits from `low_bits` on repeat the one below, in all results.
bool RepeatSign(const std::uint64_t* results, int bits, int low_bits) {
  return std::all_of(results, results + 256, [=](std::uint64_t result) {
    const std::uint64_t upper = (result >> (low_bits - 1)) & detail::LowMask(bits - low_bits + 1);
    return upper == 0 || upper == detail::LowMask(bits - low_bits + 1);
  });
}

TableShape ShapeOf(const std::uint64_t* results, int bits) {
  const auto zero_below = [=](int low_bits) {
    return std::all_of(results, results + 256, [=](std::uint64_t result) {
      return (result & detail::LowMask(low_bits)) == 0;
    });
  };
  if (bits == 64 && zero_below(48)) return TableShape::kTop;
  if (bits >= 32 && zero_below(bits / 2)) return TableShape::kUpper;
  if (bits >= 16 && RepeatSign(results, bits, 8)) return TableShape::kSigned8;
  if (bits >= 32 && RepeatSign(results, bits, 16)) return TableShape::kSigned16;
  if (bits == 64 && RepeatSign(results, bits, 32)) return TableShape::kSigned32;
  return TableShape::kWhole;
}

Extension ExtensionOf(const std::uint64_t* results, int from_bits, int to_bits) {
  bool zeros = true, sign = true;
  for (std::uint64_t code = 0; code <= detail::LowMask(from_bits); ++code) {
    const bool negative = (code >> (from_bits - 1)) != 0;
    const std::uint64_t above = detail::LowMask(to_bits) & ~detail::LowMask(from_bits);
    zeros = zeros && results[code] == code;
    sign = sign && results[code] == (negative ? code | above : code);
  }
  return zeros ? Extension::kZeros : sign ? Extension::kSign : Extension::kNone;
}

// Narrows the rows to the indices [0, end) whose results are not those of an end; false where more
// than eight rows are left.
bool FillRows(const std::uint8_t* results, unsigned end, CodeRows* rows) {
  unsigned first = 0, last = end - 1;
  while (first < last && results[first + 1] == results[0]) ++first;
  while (last > first && results[last - 1] == results[end - 1]) --last;
  rows->same_ends =
      rows->sign == CodeRows::Sign::kNegates && first < last && results[0] == results[end - 1];
  if (rows->same_ends) ++first;
  const unsigned count = (last - first) / 16 + 1;
  if (count > 8) return false;
  if (count > 4 && end <= 128) first = 0;  // a magnitude is then an index as it is
  rows->count = count <= 2 ? static_cast<std::uint8_t>(count) : count <= 4 ? 4 : 8;
  rows->first = static_cast<std::uint8_t>(first);
  rows->last = static_cast<std::uint8_t>(last - first);
  for (unsigned i = 0; i < 128; ++i) rows->results[i] = results[std::min(first + i, last)];
  return true;
}

// Sums for the results of magnitudes [0, end).
CodeRows::Sums FindMagnitudeSums(const std::uint8_t* results, unsigned end) {
  constexpr unsigned kLatest = 0x70;  // a window's beginning
  unsigned first = 0, last = end - 1;
  while (first < last && results[first + 1] == results[0]) ++first;
  while (last > first && results[last - 1] == results[end - 1]) --last;
  if (*std::max_element(results, results + end) != results[last]) return {};
  for (unsigned windows = 1; windows <= 2; ++windows) {
    const unsigned begin = first + 16 * windows;
    const unsigned model = (begin + 15) / 16;  // the first whole row
    if (first + 16 * (windows - 1) > kLatest || 16 * model + 15 > last) break;
    CodeRows::Sums sums;
    const auto sum = [&](unsigned i) {
      return static_cast<std::uint8_t>(sums.upper[i / 16] + sums.lower[i % 16]);
    };
    for (unsigned i = 0; i < 16; ++i) {
      sums.lower[i] = static_cast<std::uint8_t>(results[16 * model + i] - results[16 * model]);
    }
    bool all = true;
    for (unsigned row = begin / 16; row <= last / 16; ++row) {
      const unsigned i = std::max(begin, 16 * row);
      sums.upper[row] = static_cast<std::uint8_t>(results[i] - sums.lower[i % 16]);
    }
    for (unsigned i = begin; i < last; ++i) all = all && sum(i) == results[i];
    all = all && std::min(sum(last), results[last]) == results[last];
    if (!all) continue;
    for (unsigned window = windows; window-- > 0;) {
      for (unsigned i = 0; i < 16; ++i) {
        const unsigned at = first + 16 * window + i;
        std::uint8_t besides = static_cast<std::uint8_t>(results[at] - sum(at));
        if (window == 0) besides = static_cast<std::uint8_t>(besides - sums.besides[1][i]);
        sums.besides[window][i] = besides;
      }
    }
    sums.windows = static_cast<std::uint8_t>(windows);
    sums.first = static_cast<std::uint8_t>(first);
    sums.last = static_cast<std::uint8_t>(last);
    sums.most = results[last];
    return sums;
  }
  return {};
}

// The line for the results of magnitudes [0, end).
CodeRows::Line FindLine(const std::uint8_t* results, unsigned end) {
  CodeRows::Line line;
  unsigned first = 0;
  while (first + 32 < end && results[first] == 0) ++first;
  const unsigned beyond = first + 32;
  if (beyond >= end || results[beyond] > beyond) return line;
  line.first = static_cast<std::uint8_t>(first);
  line.offset = static_cast<std::uint8_t>(beyond - results[beyond]);
  line.most = results[end - 1];
  std::copy_n(results + first, 16, line.rows[0]);
  std::copy_n(results + first + 16, 16, line.rows[1]);
  line.usable = true;
  for (unsigned magnitude = 0; magnitude < end; ++magnitude) {
    unsigned result = magnitude - std::min<unsigned>(magnitude, line.offset);
    for (unsigned row = 0; row < 2; ++row) {
      const unsigned begin = first + 16 * row;
      if (magnitude >= begin) {
        result = std::max<unsigned>(result, line.rows[row][(magnitude - begin) % 16]);
      }
    }
    if (std::min<unsigned>(result, line.most) != results[magnitude]) line.usable = false;
  }
  return line;
}

CodeRows FindRows(const TypeInfo& from, const TypeInfo& to, const std::uint8_t* of_code) {
  CodeRows rows;
  std::uint8_t of_index[256];
  if (!from.has_sign) {
    std::copy_n(of_code, 256, of_index);
  } else if (from.is_float()) {
    rows.index = CodeRows::Index::kMagnitude;
    std::copy_n(of_code, 128, of_index);
  } else {
    rows.index = CodeRows::Index::kShiftedCode;
    for (unsigned code = 0; code < 256; ++code) of_index[code ^ 0x80] = of_code[code];
  }
  const bool by_magnitude = rows.index == CodeRows::Index::kMagnitude;
  if (!by_magnitude) {
    // The codes at the end are apart: NaN, or what is beyond the range.
    unsigned end = 255;
    while (end > 1 && of_index[end - 1] == of_index[255]) --end;
    rows.above_from = static_cast<std::uint16_t>(end);
    rows.above = of_index[255];
    if (FillRows(of_index, end, &rows) || from.type != DataType::kInt8) return rows;
    rows = CodeRows();
    rows.index = CodeRows::Index::kAbsolute;
  }
  const auto negative = [&](unsigned magnitude) -> unsigned {
    return of_code[by_magnitude ? magnitude | 0x80 : 256 - magnitude];
  };
  const auto follows = [&](CodeRows::Sign sign, unsigned magnitude) {
    const unsigned result = of_code[magnitude];
    switch (sign) {
      case CodeRows::Sign::kFlips: return negative(magnitude) == (result ^ detail::SignBit(to));
      case CodeRows::Sign::kFlipsUnlessZero:
        return negative(magnitude) == (result == 0 ? 0 : result ^ detail::SignBit(to));
      case CodeRows::Sign::kNegates:
        return negative(magnitude) == ((256 - result) & detail::LowMask(to.bits));
      case CodeRows::Sign::kReplaces: return negative(magnitude) == negative(1);
      case CodeRows::Sign::kIgnored: break;
    }
    return negative(magnitude) == result;
  };
  rows.negative_zero = of_code[0x80];
  for (const auto sign :
       {CodeRows::Sign::kFlips, CodeRows::Sign::kFlipsUnlessZero, CodeRows::Sign::kNegates,
        CodeRows::Sign::kReplaces, CodeRows::Sign::kIgnored}) {
    if (!by_magnitude && sign != CodeRows::Sign::kFlips) break;
    unsigned end = 128;
    const unsigned above = of_code[127];
    while (end > 1 && !follows(sign, end - 1) && of_code[end - 1] == above &&
           negative(end - 1) == above) {
      --end;
    }
    bool all = true;
    for (unsigned magnitude = 1; magnitude < end; ++magnitude)
      all = all && follows(sign, magnitude);
    // What is zero has no sign to negate by.
    if (sign == CodeRows::Sign::kNegates && of_code[0] != 0) all = false;
    if (!all) continue;
    rows.sign = sign;
    rows.negative = static_cast<std::uint8_t>(
        sign == CodeRows::Sign::kReplaces ? negative(1) : detail::SignBit(to));
    rows.above_from = static_cast<std::uint16_t>(end == 128 ? 256 : end);
    rows.above = static_cast<std::uint8_t>(above);
    rows.has_negative_zero = !by_magnitude || !follows(sign, 0);
    FillRows(of_code, end, &rows);
    if (by_magnitude && rows.count == 8) rows.sums = FindMagnitudeSums(of_code, end);
    if (by_magnitude && to.bits == 6) rows.line = FindLine(of_code, end);
    if (end < 128) return rows;
    // NaN follows the sign, but lies apart from what it stands beside.
    CodeRows apart = rows;
    while (end > 1 && of_code[end - 1] == above) --end;
    apart.above_from = static_cast<std::uint16_t>(end);
    apart.above_has_sign = true;
    FillRows(of_code, end, &apart);
    apart.line = to.bits == 6 ? FindLine(of_code, end) : CodeRows::Line();
    apart.sums = apart.count == 8 ? FindMagnitudeSums(of_code, end) : CodeRows::Sums();
    if (rows.sums.windows == 0 && apart.sums.windows != 0) return apart;
    return apart.count < rows.count ? apart : rows;
  }
  return rows;
}

// The same for floats of six bits, of results of any width, whose last byte the sign is in: `count`
// is 2 where negative codes follow from positive ones.
CodeRows FindSixBitRows(const TypeInfo& to, const std::uint64_t* of_code) {
  CodeRows rows;
  rows.index = CodeRows::Index::kMagnitude;
  for (unsigned i = 0; i < 32; ++i) rows.results[i] = static_cast<std::uint8_t>(of_code[i]);
  const auto all = [&to, of_code](const auto& follows) {
    for (unsigned i = 0; i < 32; ++i) {
      if (of_code[i + 32] != (follows(of_code[i]) & detail::LowMask(to.bits))) return false;
    }
    return true;
  };
  const auto found = [&rows](CodeRows::Sign sign, std::uint64_t negative) {
    rows.count = 2;
    rows.sign = sign;
    rows.negative = static_cast<std::uint8_t>(negative);
    return rows;
  };
  using Sign = CodeRows::Sign;
  const std::uint64_t sign_bit = detail::SignBit(to);
  if (all([](std::uint64_t result) { return result; })) return found(Sign::kIgnored, 0);
  if (all([=](std::uint64_t result) { return result ^ sign_bit; })) {
    return found(Sign::kFlips, 0);
  }
  if (to.bits == 8 && all([=](std::uint64_t result) {
        return result == 0 ? std::uint64_t{0} : result ^ sign_bit;
      })) {
    return found(Sign::kFlipsUnlessZero, 0);
  }
  if (of_code[0] == 0 && all([](std::uint64_t result) { return 0 - result; })) {
    return found(Sign::kNegates, 0);
  }
  const std::uint64_t negative = of_code[32];
  if (all([=](std::uint64_t) { return negative; })) return found(Sign::kReplaces, negative);
  return rows;
}

// What codes have besides the sum of their halves' entries, by plane.
struct Besides {
  std::uint8_t bytes[8][256] = {};
  std::size_t planes = 0;

  bool Any(unsigned code) const {
    for (std::size_t plane = 0; plane < planes; ++plane) {
      if (bytes[plane][code] != 0) return true;
    }
    return false;
  }
  bool Alike(unsigned a, unsigned b) const {
    for (std::size_t plane = 0; plane < planes; ++plane) {
      if (bytes[plane][a] != bytes[plane][b]) return false;
    }
    return true;
  }
};

// The byte that most of 16 are.
std::uint8_t MostFrequent(const std::uint8_t* bytes) {
  return *std::max_element(bytes, bytes + 16, [bytes](std::uint8_t a, std::uint8_t b) {
    return std::count(bytes, bytes + 16, a) < std::count(bytes, bytes + 16, b);
  });
}

// Moves as many besides as one window of a mask from `least_mask` on can hold into it; false where
// there are none.
bool TakeWindow(unsigned least_mask, Besides* besides, CodeSums::Window* window) {
  bool any[256];
  for (unsigned code = 0; code < 256; ++code) any[code] = besides->Any(code);
  unsigned most = 0;
  for (unsigned mask = least_mask; mask <= 0xFF; mask += 0x80) {
    for (unsigned first = 0; first <= mask; ++first) {
      if (!any[first] && !any[first | (0xFF - mask)]) continue;
      unsigned held = 0;
      for (unsigned i = 0; i < 16; ++i) {
        const unsigned code = (first + i) & mask, other = code | (0xFF - mask);
        if (!besides->Alike(code, other)) {
          held = 0;
          break;
        }
        held += (any[code] ? 1u : 0u) + (any[other] && other != code ? 1u : 0u);
      }
      if (held <= most) continue;
      most = held;
      window->first = static_cast<std::uint8_t>(first);
      window->mask = static_cast<std::uint8_t>(mask);
    }
  }
  if (most == 0) return false;
  for (std::size_t plane = 0; plane < besides->planes; ++plane) {
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned code = (window->first + i) & window->mask;
      std::uint8_t* bytes = besides->bytes[plane];
      window->besides[plane][i] = bytes[code];
      bytes[code] = bytes[code | (0xFFu - window->mask)] = 0;
    }
  }
  return true;
}

// Sums whose lower entries are those of row `model`; but_nan: of negative zero as if it were zero.
CodeSums SumsOfModel(const CodeTable& table, unsigned model, unsigned least_mask, bool but_nan) {
  CodeSums sums;
  Besides besides;
  besides.planes = table.planes;
  for (std::size_t plane = 0; plane < table.planes; ++plane) {
    const std::uint8_t* bytes = table.bytes[plane];
    for (unsigned i = 0; i < 16; ++i) {
      sums.lower[plane][i] = static_cast<std::uint8_t>(bytes[16 * model + i] - bytes[16 * model]);
    }
    for (unsigned row = 0; row < 16; ++row) {
      std::uint8_t left[16];
      for (unsigned i = 0; i < 16; ++i) {
        left[i] = static_cast<std::uint8_t>(bytes[16 * row + i] - sums.lower[plane][i]);
      }
      sums.upper[plane][row] = MostFrequent(left);
      for (unsigned i = 0; i < 16; ++i) {
        besides.bytes[plane][16 * row + i] =
            static_cast<std::uint8_t>(left[i] - sums.upper[plane][row]);
      }
    }
    if (but_nan) besides.bytes[plane][0x80] = besides.bytes[plane][0];
  }
  while (sums.count < CodeSums::kMostWindows &&
         TakeWindow(least_mask, &besides, &sums.windows[sums.count])) {
    ++sums.count;
  }
  CodeSums::Window more;
  sums.usable = !TakeWindow(least_mask, &besides, &more);
  return sums;
}

CodeSums::Terms TermsOf(const CodeSums& sums, std::size_t planes) {
  const auto none = [](const std::uint8_t* entries) {
    return std::all_of(entries, entries + 16, [](std::uint8_t entry) { return entry == 0; });
  };
  if (planes != 2 || !none(sums.upper[0])) return CodeSums::Terms::kAll;
  const bool no_first = none(sums.lower[0]) &&
                        std::all_of(sums.windows, sums.windows + sums.count,
                                    [&](const auto& window) { return none(window.besides[0]); });
  if (no_first) return CodeSums::Terms::kSecondAlone;
  return none(sums.lower[1]) ? CodeSums::Terms::kApart : CodeSums::Terms::kFirstByLower;
}

// In its third row a float of eight bits is normal and small; in its first many results are zero.
CodeSums FindSums(const CodeTable& table, bool but_nan) {
  CodeSums best;
  for (const unsigned model : {3u, 0u}) {
    for (const unsigned least_mask : {0x7Fu, 0xFFu}) {
      const CodeSums sums = SumsOfModel(table, model, least_mask, but_nan);
      if (sums.usable && (!best.usable || sums.count < best.count)) best = sums;
    }
  }
  best.terms = TermsOf(best, table.planes);
  return best;
}

// The last 16 finite codes have a significand each, which all codes repeat at smaller powers of
// two.
CodeProducts FindProducts(const TypeInfo& from, const TypeInfo& to, const std::uint64_t* of_code) {
  const auto number = [&from](unsigned code) {
    return detail::CastCode(from, detail::Row(DataType::kInt32), code, {});
  };
  CodeProducts products;
  if (!from.is_float() || !from.has_zero || !to.is_integer() || to.bits > 32) return products;
  const auto offset =
      static_cast<unsigned>(detail::MagnitudeMask(from) - detail::MaxFiniteMagnitude(from));
  products.offset = static_cast<std::uint8_t>(offset);
  const std::uint64_t largest = number(0x7F - offset);
  if (largest == 0 || largest > 0xFFFF) return products;
  int power = 16;  // of two, by which the last 16 are multiplied
  while (largest << (16 - power) < 0x8000) --power;
  for (unsigned i = 0; i < 16; ++i) {
    products.lower[i] = static_cast<std::uint8_t>(number(0x70 + i - offset) << (16 - power) >> 8);
  }
  for (unsigned row = 8; row-- > 0; power -= 16 >> from.mantissa_bits) {
    // 2^16 itself is one too many, which the other factor's lower byte makes up for.
    const int factor = power < 0 ? 0 : std::min(1 << power, 0xFFFF);
    products.upper[0][row] = static_cast<std::uint8_t>(factor);
    products.upper[1][row] = static_cast<std::uint8_t>(factor >> 8);
  }
  products.usable = true;
  for (unsigned code = 0; code < 256; ++code) {
    const unsigned moved = (code + offset) & 0xFF, row = moved / 16 % 8;
    const unsigned significand = products.lower[moved % 16] * 256u + 1;
    const unsigned factor = products.upper[1][row] * 256u + products.upper[0][row];
    const std::uint64_t magnitude = significand * factor >> 16;
    const std::uint64_t result = code < 128 ? magnitude : 0 - magnitude;
    if ((result & detail::LowMask(to.bits)) != of_code[code]) products.usable = false;
  }
  return products;
}

CodeSign FindSign(const std::uint64_t* results, int bits) {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  bool highest_bit = true, lower_half = bits == 32;
  for (int code = 0; code < 128; ++code) {
    const std::uint64_t positive = results[code], negative = results[code + 128];
    highest_bit = highest_bit && (positive & sign) == 0 && negative == (positive | sign);
    const std::uint64_t above = negative >> 16;
    lower_half = lower_half && positive >> 16 == 0 && (above == 0 || above == 0xFFFF);
  }
  return highest_bit ? CodeSign::kHighestBit : lower_half ? CodeSign::kLowerHalf : CodeSign::kAny;
}

std::uint8_t FindTruthMask(const std::uint8_t* of_code) {
  for (const unsigned mask : {0x7Fu, 0xFFu}) {
    bool all = true;
    for (unsigned code = 0; code < 256; ++code) {
      all = all && of_code[code] == ((code & mask) != 0 ? 1 : 0);
    }
    if (all) return static_cast<std::uint8_t>(mask);
  }
  return 0;
}

std::uint8_t FindPowers(const std::uint64_t* results, int bits) {
  const std::uint64_t* const one = std::find(results, results + 256, 1);
  const auto first = static_cast<int>(one - results);
  if (first == 256) return 0;
  for (int code = 0; code < 256; ++code) {
    const int power = code - first;
    if (results[code] != (power < 0 || power >= bits ? 0 : std::uint64_t{1} << power)) return 0;
  }
  return static_cast<std::uint8_t>(first);
}

void Fill(const TypeInfo& from, const TypeInfo& to, const CastOptions& options, CodeTable* table) {
  std::uint64_t* const results = table->results;
  const std::uint64_t mask = detail::LowMask(from.bits);
  for (std::uint64_t code = 0; code < 256; ++code) {
    results[code] = code > mask ? results[code & mask] : detail::CastCode(from, to, code, options);
  }
  table->shape = ShapeOf(results, to.bits);
  table->of_integers = !from.is_float();
  const std::size_t width = PlanesOf(TableShape::kWhole, to.bits);
  const std::size_t planes = PlanesOf(table->shape, to.bits);
  const bool above = table->shape == TableShape::kUpper || table->shape == TableShape::kTop;
  const std::size_t first = above ? width - planes : 0;
  table->planes = static_cast<std::uint8_t>(planes);
  for (std::size_t plane = 0; plane < planes; ++plane) {
    for (std::size_t code = 0; code < 256; ++code) {
      table->bytes[plane][code] = static_cast<std::uint8_t>(results[code] >> (8 * (first + plane)));
    }
  }
  if (from.bits <= 4) table->extension = ExtensionOf(results, from.bits, to.bits);
  if (from.bits == 8) table->sums = FindSums(*table, false);
  if (from.bits == 8 && from.is_fnuz()) table->sums_but_nan = FindSums(*table, true);
  if (from.bits == 8 && to.bits >= 8) table->products = FindProducts(from, to, results);
  if (from.bits == 8) table->sign = FindSign(results, to.bits);
  if (from.bits == 8) table->powers_from = FindPowers(results, to.bits);
  if (from.bits == 8 && to.bits == 8) table->truth_mask = FindTruthMask(table->bytes[0]);
  if (from.bits == 8 && to.bits <= 8) table->rows = FindRows(from, to, table->bytes[0]);
  if (from.bits == 6) table->rows = FindSixBitRows(to, results);
}

}  // namespace

const CodeTable* FindCodeTable(const TypeInfo& from, const TypeInfo& to, const CastOptions& options,
                               bool make) noexcept {
  std::atomic<const CodeTable*>& place =
      made[static_cast<std::size_t>(detail::RowIndex(from.type))]
          [static_cast<std::size_t>(detail::RowIndex(to.type))][OptionSet(options)];
  const CodeTable* found = place.load(std::memory_order_acquire);
  if (found != nullptr || !make) return found;
  auto* table = new (std::nothrow) CodeTable;
  if (table == nullptr) return nullptr;
  Fill(from, to, options, table);
  if (place.compare_exchange_strong(found, table, std::memory_order_acq_rel)) return table;
  delete table;  // another thread was first
  return found;
}

}  // namespace tensorcast::core
