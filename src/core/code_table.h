// Casts from types of at most eight bits, worked out once: the result of every code, by the scalar
// codec, laid out for byte permutations. A table is made at the first plan that wants it and is
// shared from then on by all plans of its types and options.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_CODE_TABLE_H_
#define TENSORCAST_SRC_CORE_CODE_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// Which bytes of its results a table has; the others follow from those.
enum class TableShape : std::uint8_t {
  kWhole,     // all: one byte (packed types too), two, four or eight
  kUpper,     // the upper half of the bytes of four or eight; the lower ones are zero
  kTop,       // the upper two of eight; the lower ones are zero
  kSigned8,   // the lowest; the others repeat its sign
  kSigned16,  // the lower two of four or eight; the others repeat their sign
  kSigned32,  // the lower four of eight; the others repeat their sign
};

// The bytes that a table of a shape has, of results of so many bits.
constexpr std::size_t PlanesOf(TableShape shape, int bits) {
  const std::size_t width = bits < 8 ? 1 : static_cast<std::size_t>(bits) / 8;
  switch (shape) {
    case TableShape::kWhole: break;
    case TableShape::kUpper: return width / 2;
    case TableShape::kTop:
    case TableShape::kSigned16: return 2;
    case TableShape::kSigned8: return 1;
    case TableShape::kSigned32: return 4;
  }
  return width;
}

// How a result follows from a code of at most four bits without a table.
enum class Extension : std::uint8_t { kNone, kZeros, kSign };

// How a code of eight bits is looked up in few rows of 16 results, where that is possible: what
// lies before the first row and after the last has the results of their ends, and negative codes
// follow from positive ones. A code of six bits has two rows of magnitudes and a sign.
struct CodeRows {
  enum class Index : std::uint8_t {
    kCode,
    kShiftedCode,  // the highest bit inverted
    kMagnitude,
    kAbsolute,  // the sign flips
  };
  enum class Sign : std::uint8_t { kIgnored, kFlips, kFlipsUnlessZero, kNegates, kReplaces };
  std::uint8_t count = 0;  // 1, 2, 4 or 8; 0: not possible
  Index index = Index::kCode;
  std::uint8_t first = 0;          // index of the first row's first result
  std::uint8_t last = 0;           // the last index whose result is looked up, from `first` on
  bool same_ends = false;          // kNegates: what lies before `first` has the result of `last`
  Sign sign = Sign::kIgnored;      // what a negative code does to the result of its magnitude
  std::uint8_t negative = 0;       // the bits that kFlips inverts; what kReplaces puts in its place
  std::uint16_t above_from = 256;  // indices from here on have the result `above`
  std::uint8_t above = 0;
  bool above_has_sign = false;     // to which a negative code does the same; else it has none
  bool has_negative_zero = false;  // whether code 0x80 has a result of its own
  std::uint8_t negative_zero = 0;
  alignas(64) std::uint8_t results[128] = {};

  // Magnitudes for which eight rows would be needed: from `sums.first` to `sums.last`, what is
  // beyond having the results of these, each result is the sum of one entry for the upper four bits
  // and one for the lower four. The first magnitudes, 16 or 32 of them, add what they have besides.
  struct Sums {
    std::uint8_t windows = 0;  // of 16 that add; 0: not possible
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    std::uint8_t most = 0;  // the largest result, beyond which the last one's sum may be
    alignas(16) std::uint8_t upper[16] = {};
    alignas(16) std::uint8_t lower[16] = {};
    alignas(16) std::uint8_t besides[2][16] = {};  // the second row's entries count in both windows
  };
  Sums sums;

  // Results of six bits that are zero before two rows, never fall, and grow with the magnitude from
  // there on up to a largest one: one type's subnormals and then the same mantissa.
  struct Line {
    bool usable = false;
    std::uint8_t first = 0;   // magnitude of the first row's first result
    std::uint8_t offset = 0;  // what a magnitude beyond the rows has more than its result
    std::uint8_t most = 0;
    alignas(16) std::uint8_t rows[2][16] = {};
  };
  Line line;
};

// How codes of eight bits are looked up by their halves, where that is possible: byte p of a result
// is the sum of one entry for the code's upper four bits and one for the lower four. Up to three
// windows of 16 codes in a row, for which it is not so, add what their codes have besides.
struct CodeSums {
  struct Window {
    std::uint8_t first = 0;
    std::uint8_t mask = 0xFF;  // 0x7F: of both signs, by the magnitude
    alignas(16) std::uint8_t besides[8][16] = {};
  };
  static constexpr std::size_t kMostWindows = 3;
  // What counts in results of two bytes: all entries; for the first byte only the lower four bits;
  // for the second only the upper four, too; for the first byte, which is zero, nothing.
  enum class Terms : std::uint8_t { kAll, kFirstByLower, kApart, kSecondAlone };
  bool usable = false;
  Terms terms = Terms::kAll;
  std::uint8_t count = 0;  // of windows
  alignas(16) std::uint8_t upper[8][16] = {};
  alignas(16) std::uint8_t lower[8][16] = {};
  Window windows[kMostWindows];
};

// How a float of eight bits becomes an integer of 8 to 32 bits, where that is possible: its
// magnitude is the upper half of a product of 16 bits by 16, of which eight bits are the lower. One
// factor is looked up by the lower four bits, the other by the next three, after an addition that
// makes infinities and NaN the codes of zeros; a negative code has the negative number.
struct CodeProducts {
  bool usable = false;
  std::uint8_t offset = 0;                     // what is added to a code
  alignas(16) std::uint8_t lower[16] = {};     // the upper byte of a factor, whose lower one is 1
  alignas(16) std::uint8_t upper[2][16] = {};  // both bytes of the other, eight of each
};

// What depends on the highest bit of a code of eight bits.
enum class CodeSign : std::uint8_t {
  kAny,
  kHighestBit,  // of the result, which is the same
  kLowerHalf,   // and the upper half of four bytes, which is zero, or all ones where the bit is set
};

struct CodeTable {
  TableShape shape = TableShape::kWhole;
  std::uint8_t planes = 0;   // bytes of a result that stand here
  bool of_integers = false;  // the codes are integers, which most targets convert
  // Byte p of the result of code c at [p][c]. Types of fewer than eight bits repeat: whatever
  // stands above a code's bits does not matter.
  alignas(64) std::uint8_t bytes[8][256] = {};
  alignas(64) std::uint64_t results[256] = {};  // the same as numbers
  Extension extension = Extension::kNone;
  CodeRows rows;  // of bytes[0], where it is the whole result; of six bits, of whole results
  CodeSums sums;  // of codes of eight bits
  // The same of floats that have NaN in the place of negative zero, but for that code.
  CodeSums sums_but_nan;
  CodeProducts products;
  CodeSign sign = CodeSign::kAny;  // of codes of eight bits
  // Where a result of eight bits is 1 if some bit of the code's under this mask is set, and else 0.
  std::uint8_t truth_mask = 0;
  // Where the results of codes of eight bits are 1, 2, 4 and so on from this code on, and else 0.
  std::uint8_t powers_from = 0;
};

// The table of a pair whose source has at most eight bits, or null: where there is none yet and
// `make` is not asked for, or where memory is short. Safe to call from several threads.
const CodeTable* FindCodeTable(const TypeInfo& from, const TypeInfo& to, const CastOptions& options,
                               bool make) noexcept;

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_CODE_TABLE_H_
