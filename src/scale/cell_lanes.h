// What is done to the elements of cells in vector lanes, compiled once for each instruction set. To
// be called in the default floating-point environment (core/fp_environment.h). No buffer needs to
// be aligned.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_CELL_LANES_H_
#define TENSORCAST_SRC_SCALE_CELL_LANES_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/loss.h"
#include "scale/error_lanes.h"
#include "scale/gguf_lanes.h"
#include "scale/integer_cells.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

inline constexpr std::size_t kNibbles = 16;     // codes of four bits, elements taken at once
inline constexpr std::size_t kByteCodes = 256;  // codes of eight bits
inline constexpr std::size_t kLeastCell = 16;   // elements of the smallest cells that lanes take

// The cells of some elements in order: element i is of cell (skipped + i) >> log2_width, and at
// least kLeastCell of them are of one cell, but at the ends.
struct CellsInOrder {
  unsigned log2_width = 63;  // one cell
  std::size_t skipped = 0;
};

// Whether factors are 2^-60 to 2^60. In integers, which compilers do in lanes.
inline bool AreNearOne(std::span<const float> factors) {
  constexpr auto kBits = [](float factor) { return std::bit_cast<std::int32_t>(factor); };
  std::int32_t least = kBits(1), most = kBits(1);
  for (const float factor : factors) {
    least = std::min(least, kBits(factor));
    most = std::max(most, kBits(factor));
  }
  return least >= kBits(0x1p-60F) && most <= kBits(0x1p60F);
}

// What the elements of cells are divided by: of each cell a factor and a divisor.
struct Divisors {
  const float* factors;
  const double* divisors;
  double numerator;  // of at most 24 bits, as the elements
};

// How a quotient is rounded later, to know whether it lies so near a tie that it may be on the
// wrong side of it: bits are those of a float32's magnitude.
struct TieBits {
  std::uint32_t mask;  // of what follows the last bit that a normal value keeps
  std::uint32_t tie;   // these bits of a tie
  std::int32_t least;  // of the least magnitude that may round to other than zero
  float least_normal;  // below this magnitude any value of 16 bits may be a tie
};

// How a scale that is a power of two comes of a magnitude's bits as a double, and its limits.
struct PowerStep {
  std::int64_t last;  // mantissa that has its own power; one above it has the next
  std::int64_t one;   // what is added to an exponent's bits
  double least, most;
};

// How another scale does: magnitude * factor / divisor, rounded to the nearest of a float type.
struct RoundStep {
  double factor, divisor;
  int mantissa_bits;  // of the type
  double least_normal;
  double least, most;
};

// Where the codes of bfloat16s change under a cell's scale (code_steps-inl.h).
struct alignas(64) CodeSteps {
  std::uint8_t steps[16];  // of mantissas from 8 i on
  std::int8_t last[16];    // the mantissa behind which there is one more
  double scale;
  std::uint16_t least_normal;  // magnitude whose quotient is a normal value
  std::uint8_t exponent;       // of a bfloat16 that has as many steps as its code says
};

// Where the codes of float4e2m1 of bfloat16s change (nibble_steps-inl.h), by exponents' bits from
// one on, under a scale s of a significand and 1 <= s < 2; that of another scale is added to it.
inline constexpr int kSignificands = 8;
struct alignas(64) NibbleSteps {
  std::uint8_t codes[kNibbles];   // of the least number
  std::int8_t last[2][kNibbles];  // the mantissas behind which there is one more
  int exponent;
};

// Tables stand in whole lines of the cache: their vectors do not cross two.
struct alignas(64) TableLine {
  std::byte bytes[64];
};

// For codes of six or eight bits, from the beginning of a byte on, by tables of `values` values of
// 16 bits, which `fill` makes: of all codes, or of 128 magnitudes, where a sign turns the value's.
// Each takes table_bytes, whole lines. Null where the target has none.
struct CodeLanes {
  std::size_t values;
  std::size_t table_bytes;
  void (*fill)(const std::byte* values, std::byte* table);

  // out[i] = table[codes[i]] * its cell's factor, in float32, by a table of bfloat16; of six bits
  // what is skipped is a multiple of kLeastCell.
  void (*multiply)(const std::byte* codes, std::size_t n, const std::byte* table,
                   const float* factors, const CellsInOrder& cells, std::byte* out);
  // out[i] = table[codes[i]], of 16 bits, by tables for each code of a scale: of magnitudes, or of
  // six bits. Of cells of at least 32 elements, n and what is skipped being multiples of 32.
  void (*look_up_cells)(const std::byte* codes, std::size_t n, const std::byte* tables,
                        const std::byte* scales, const CellsInOrder& cells, std::byte* out);
  // The same where a scale's code is a power of two, by one table: to what is not zero (scale -
  // bias) << 7 is added, which takes a bfloat16 to the one of another exponent. Stops before 64 or
  // fewer elements that have a magnitude of least_special or more, and gives how many it did.
  std::size_t (*look_up_powers)(const std::byte* codes, std::size_t n, const std::byte* table,
                                unsigned least_special, int bias, const std::byte* scales,
                                const CellsInOrder& cells, std::byte* out);

  // Of eight bits. out[i] = table[codes[i]], of 16 bits, by a table for each cell.
  void (*look_up)(const std::byte* codes, std::size_t n, const std::byte* tables,
                  const CellsInOrder& cells, std::byte* out);
  // The table of numbers times a factor, each product rounded once, to bfloat16 or float16. The
  // last bits of a number and of the factor have a product of at least 2^-126.
  void (*fill_with_products)(const float* numbers, float factor, bool is_bfloat16,
                             std::byte* table);
};

// Everything one target was compiled to.
struct CellLanes {
  // out[i] = x[i] * its cell's factor, of float32; in place or not. The second one is from bfloat16
  // to float32.
  void (*multiply)(const std::byte* x, std::byte* out, std::size_t n, const float* factors,
                   const CellsInOrder& cells);
  void (*multiply_bfloat16)(const std::byte* x, std::byte* out, std::size_t n, const float* factors,
                            const CellsInOrder& cells);
  // The same of decoded codes as doubles, by factors none of which is 0 (core::CellFactors).
  void (*multiply_to_doubles)(const float* codes, double* out, std::size_t n,
                              const core::CellFactors* factors, const CellsInOrder& cells);
  // As `multiply`, from bfloat16 to bfloat16, each element and each product being zero or a normal
  // number, and factors powers of two from 2^-60 to 2^60. Null where the target is no faster with
  // it.
  void (*multiply_by_powers)(const std::byte* x, std::byte* out, std::size_t n,
                             const float* factors, const CellsInOrder& cells);
  // out[i] = codes[i] * its cell's factor, of int8, rounded once to float32, bfloat16 or float16.
  // The magnitudes of factors are at least 2^-100, but to float32. Null where tables are faster.
  void (*multiply_integers)(const std::byte* codes, std::size_t n, const float* factors,
                            const CellsInOrder& cells, DataType to, std::byte* out);
  // out[i] = codes[i] * its cell's factor + its cell's offset, which are float32s, rounded once to
  // float32, bfloat16 or float16. There is one element at least; of signed codes the magnitudes of
  // factors are zero or at least 2^-100. Null where the target is no faster with it.
  void (*scale_integers)(const std::byte* codes, std::size_t n, CodeRange range,
                         const float* factors, const float* offsets, const CellsInOrder& cells,
                         DataType to, std::byte* out);
  // Beside it AreFloatSums, and by row of AllGgufBlocks() what its integers are; null: it has none.
  bool (*are_float_sums)(const float* factors, const float* offsets, std::size_t n, float most);
  const UnpackBlocks* unpack;
  // By the same rows: the values of the first of n blocks, rounded once to bfloat16 or float16, and
  // how many blocks they are; no more where sums may not be float32s. Null: there are no tables.
  using LookUpBlocks = std::size_t (*)(const std::byte* blocks, std::size_t n, bool is_bfloat16,
                                       std::byte* out);
  const LookUpBlocks* look_up_blocks;
  // Quotients of float32, or of bfloat16: x[i] * its cell's factor, where that is far from a tie,
  // the factor being the nearest float32 to numerator / divisor; else what x[i] * numerator /
  // divisor is as a double, rounded to odd in float32. `x` is not `quotients`.
  void (*divide)(const std::byte* x, bool is_bfloat16, float* quotients, std::size_t n,
                 const Divisors& by, const CellsInOrder& cells, const TieBits& ties);
  // The same, and products, as bfloat16 rounded to odd: from what `multiply` and `divide` give.
  // Null where the target is no faster with them.
  void (*divide_to_halves)(const std::byte* x, bool is_bfloat16, std::byte* quotients,
                           std::size_t n, const Divisors& by, const CellsInOrder& cells,
                           const TieBits& ties);
  void (*multiply_to_halves)(const std::byte* x, bool is_bfloat16, std::byte* out, std::size_t n,
                             const float* factors, const CellsInOrder& cells);
  // The codes of float8e4m3fn of bfloat16s, in two calls: the steps of each cell, false where a
  // scale is no float32 between 2^-100 and 2^100; then codes of elements that are finite, and false
  // where some are not. Null where the target is no faster with them.
  bool (*find_steps)(const double* scales, std::size_t cells, CodeSteps* steps);
  bool (*encode_by_steps)(const std::byte* x, std::byte* codes, std::size_t n,
                          const CodeSteps* steps, const CellsInOrder& cells);
  // The codes of float8e4m3fn or float8e5m2 of bfloat16s times powers of two, and false where
  // elements are not finite, factors are far from 1 or cells have less than 32. Null where the
  // target is no faster with it.
  bool (*encode_under_powers)(const std::byte* x, std::byte* codes, std::size_t n, DataType to,
                              const float* factors, const CellsInOrder& cells);
  // The codes of float4e2m1 of bfloat16s: the steps of kSignificands significands, for x *
  // numerator / (scale * global), one of the two being 1; then codes of an even number of elements,
  // an even number being skipped, by the scales of cells, and false where some are not finite or a
  // scale has more bits or is far from 1. Null where the target is no faster with them.
  void (*find_nibble_steps)(double global, double numerator, NibbleSteps* steps);
  bool (*encode_by_nibble_steps)(const std::byte* x, std::byte* codes, std::size_t n,
                                 const NibbleSteps* steps, const double* scales,
                                 const CellsInOrder& cells);
  // Integers of eight bits: the quotients rounded to the nearest between `least`, -127 or -128, and
  // 127, of NaN 0.
  void (*divide_to_integers)(const std::byte* x, bool is_bfloat16, std::byte* codes, std::size_t n,
                             const Divisors& by, const CellsInOrder& cells, int least);
  // Such integers as codes of four bits, two to a byte: what is within -zero and 15 - zero of each,
  // which takes its place, plus zero. Of an odd number the last byte has no second one.
  void (*pack_nibbles)(std::byte* integers, std::size_t n, int zero, std::byte* packed);
  // Divisors' divisors, scales[i] * global, and factors; NaN where one is not within least and
  // most. Whether all are.
  bool (*factors_of)(const double* scales, std::size_t n, double global, double numerator,
                     double least, double most, float* factors, double* divisors);

  // Scales within least and most, of zero 1; the two may be one buffer.
  void (*powers_of)(const double* amax, std::size_t n, const PowerStep& step, double* scales);
  void (*rounded_scales)(const double* amax, std::size_t n, const RoundStep& step, double* scales);
  // known[i] becomes the larger of it and unit times the float32 of bits[i] << shift.
  void (*raise_to)(const std::uint32_t* bits, std::size_t n, int shift, double unit, double* known);

  // The values of `groups` times kNibbles codes of four bits, by tables of kNibbles values, one for
  // each code of a scale, that `fill` made: group g has the scale codes[(skipped + g) >> log2].
  void (*look_up_16)(const std::byte* packed, std::size_t groups, const std::byte* tables,
                     const std::byte* codes, const CellsInOrder& cells, std::byte* out);
  void (*look_up_32)(const std::byte* packed, std::size_t groups, const std::byte* tables,
                     const std::byte* codes, const CellsInOrder& cells, std::byte* out);
  void (*fill_16)(const std::byte* values, std::byte* table);
  void (*fill_32)(const std::byte* values, std::byte* table);

  CodeLanes of_8_bits, of_magnitudes, of_6_bits;

  // out[column * out_stride + row] = in[row * in_stride + column], of 16 and 32 bits.
  void (*transpose_16)(const std::byte* in, std::size_t in_stride, std::size_t rows,
                       std::size_t columns, std::byte* out, std::size_t out_stride);
  void (*transpose_32)(const std::byte* in, std::size_t in_stride, std::size_t rows,
                       std::size_t columns, std::byte* out, std::size_t out_stride);

  // The largest finite magnitude, in bits, of each of some cells of `width` elements, at least
  // kLeastCell.
  void (*largest_32)(const std::byte* x, std::size_t cells, std::size_t width,
                     std::uint32_t* largest);
  // `infinity`: the bits of Inf.
  void (*largest_16)(const std::byte* x, std::size_t cells, std::size_t width,
                     std::uint16_t infinity, std::uint32_t* largest);

  // The least and the largest finite value of float32s or bfloat16s, at most 0 and at least 0.
  void (*range_of)(const std::byte* x, bool is_bfloat16, std::size_t n, float* least, float* most);

  GgufLanes gguf;
  AddSquaredErrors add_squared_errors;
};

// Those of a target; null where it has none, as the scalar one.
const CellLanes* FindCellLanes(Target target);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_CELL_LANES_H_
