// Codes of float8e4m3fn from bfloat16 without a quotient: by the places among a cell's bfloat16s at
// which the code of x / s changes. Included once per target; compiled for AVX2, from which
// AVX-512 has them: a quotient takes 32-bit lanes and is held against ties.
//
// Let s = S 2^k with 1 <= S < 2, and x = m 2^e with 128 mantissas m. Where x / s is a normal value,
// its code is 8 (e - k + 6) and a number of steps, 0 to 16, that only m / S decides: the code of m
// / S in (1/2, 2), counted from that of 1/2. Of eight mantissas that follow each other there is at
// most one at which it changes, as a step is 8 S of them or more: a table of sixteen holds where.
// The places are products of S and of five bits, which a double is.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_CODE_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_CODE_STEPS_INL_H_
#undef TENSORCAST_SRC_SCALE_CODE_STEPS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_CODE_STEPS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "scale/cell_lanes.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// The least bfloat16, as its bits, whose number is at least `least`, or above it. It is a normal
// value.
HWY_INLINE std::uint16_t LeastHalf(double least, bool above) {
  constexpr int kCut = 52 - 7;
  constexpr std::uint64_t kRebias = std::uint64_t{1023 - 127} << 52;
  const std::uint64_t up = (std::uint64_t{1} << kCut) - (above ? 0 : 1);
  return static_cast<std::uint16_t>((std::bit_cast<std::uint64_t>(least) - kRebias + up) >> kCut);
}

bool FindSteps(const double* scales, std::size_t cells, CodeSteps* found) {
  // Where steps end, as m / S: half-way between two of them.
  constexpr int kSteps = 16;
  constexpr double kEnds[kSteps] = {
      8.5 / 16, 9.5 / 16, 10.5 / 16, 11.5 / 16, 12.5 / 16, 13.5 / 16, 14.5 / 16, 15.5 / 16,
      8.5 / 8,  9.5 / 8,  10.5 / 8,  11.5 / 8,  12.5 / 8,  13.5 / 8,  14.5 / 8,  15.5 / 8};
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const double scale = scales[cell];
    if (!(scale >= 0x1p-100 && scale <= 0x1p100)) return false;
    if (static_cast<double>(static_cast<float>(scale)) != scale) return false;
    CodeSteps& to = found[cell];
    const auto bits = std::bit_cast<std::uint64_t>(scale);
    const double significand = std::bit_cast<double>((bits & ((std::uint64_t{1} << 52) - 1)) |
                                                     std::bit_cast<std::uint64_t>(128.0));
    // The mantissas from which on there is a step more; a tie goes to the even one.
    std::int32_t next[kSteps + 1];
    for (int step = 0; step < kSteps; step += 4) {
      const __m256d ends =
          _mm256_sub_pd(_mm256_mul_pd(_mm256_loadu_pd(kEnds + step), _mm256_set1_pd(significand)),
                        _mm256_set1_pd(128));
      const __m256d from = _mm256_blend_pd(_mm256_add_pd(_mm256_floor_pd(ends), _mm256_set1_pd(1)),
                                           _mm256_ceil_pd(ends), 0xA);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(next + step),
                       _mm256_cvtpd_epi32(_mm256_min_pd(from, _mm256_set1_pd(128))));
    }
    next[kSteps] = 128;
    int steps = 0;
    while (next[steps] < 0) ++steps;
    for (int i = 0; i < 16; ++i) {
      steps += static_cast<int>(next[steps] <= 8 * i);
      to.steps[i] = static_cast<std::uint8_t>(steps);
      to.last[i] = static_cast<std::int8_t>(next[steps] - 1);
    }
    to.scale = scale;
    to.least_normal = LeastHalf(scale * 0x1p-6, false);
    to.exponent = static_cast<std::uint8_t>((bits >> 52) - (1023 - 127) - 6);
  }
  return true;
}

inline constexpr int kInfinity = 0x7F80;  // the magnitude

// Codes, with 0 to kCount in the place of those of magnitudes below `least_normal`: by the places
// at which they change, which are normal bfloat16s; `unit` is the magnitude of code 1. Codes are
// packed of the elements of a and b. By itself, as it is rare and stands in every loop.
template <int kCount>
HWY_NOINLINE __m256i WithLowCodes(__m256i codes, __m256i of_a, __m256i of_b, __m256i least_normal,
                                  double unit) {
  __m256i low_a = _mm256_setzero_si256(), low_b = low_a;
  for (int i = 0; i < kCount; ++i) {
    // Half-way to the code i + 1; a tie goes to the even one.
    const std::uint16_t least = LeastHalf(unit * (i + 0.5), i % 2 == 0);
    const __m256i last = _mm256_set1_epi16(static_cast<std::int16_t>(least - 1));
    low_a = _mm256_sub_epi16(low_a, _mm256_cmpgt_epi16(of_a, last));
    low_b = _mm256_sub_epi16(low_b, _mm256_cmpgt_epi16(of_b, last));
  }
  const __m256i is_low = _mm256_packs_epi16(_mm256_cmpgt_epi16(least_normal, of_a),
                                            _mm256_cmpgt_epi16(least_normal, of_b));
  return _mm256_blendv_epi8(codes, _mm256_packus_epi16(low_a, low_b), is_low);
}

// Writes 32 codes, packed of the elements a and b, with the signs of these.
HWY_INLINE void StoreWithSigns(__m256i codes, __m256i a, __m256i b, std::byte* out) {
  // A number with a sign is less than any byte.
  const __m256i signs =
      _mm256_and_si256(_mm256_packs_epi16(a, b), _mm256_set1_epi8(static_cast<char>(0x80)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm256_permute4x64_epi64(_mm256_or_si256(codes, signs), 0xD8));
}

// One cell's codes of 32 elements at a time.
class CodesBySteps {
 public:
  HWY_INLINE explicit CodesBySteps(const CodeSteps& cell)
      : steps_(Row(cell.steps)),
        last_(Row(cell.last)),
        exponent_(_mm256_set1_epi8(static_cast<char>(cell.exponent))),
        least_normal_(_mm256_set1_epi16(static_cast<std::int16_t>(cell.least_normal))),
        // Of magnitudes less least_normal_, the last one that is a number.
        last_number_(
            _mm256_set1_epi16(static_cast<std::int16_t>(kInfinity - 1 - cell.least_normal))),
        scale_(cell.scale) {}

  // False, and no codes, where one is not finite.
  HWY_INLINE bool Run(const std::byte* x, std::byte* codes) const {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 32));
    const __m256i magnitude = _mm256_set1_epi16(0x7FFF), mantissa = _mm256_set1_epi16(0x7F);
    const __m256i of_a = _mm256_and_si256(a, magnitude), of_b = _mm256_and_si256(b, magnitude);
    const __m256i above = _mm256_max_epu16(_mm256_sub_epi16(of_a, least_normal_),
                                           _mm256_sub_epi16(of_b, least_normal_));
    const __m256i exponents =
        _mm256_packus_epi16(_mm256_srli_epi16(of_a, 7), _mm256_srli_epi16(of_b, 7));
    const __m256i mantissas =
        _mm256_packus_epi16(_mm256_and_si256(a, mantissa), _mm256_and_si256(b, mantissa));
    const __m256i eighth = _mm256_and_si256(_mm256_srli_epi16(mantissas, 3), _mm256_set1_epi8(0xF));
    const __m256i more = _mm256_cmpgt_epi8(mantissas, _mm256_shuffle_epi8(last_, eighth));
    const __m256i steps = _mm256_sub_epi8(_mm256_shuffle_epi8(steps_, eighth), more);
    // Beyond sixteen exponents all codes are the last one.
    const __m256i exponent =
        _mm256_min_epu8(_mm256_sub_epi8(exponents, exponent_), _mm256_set1_epi8(16));
    __m256i code = _mm256_min_epu8(_mm256_add_epi8(_mm256_slli_epi16(exponent, 3), steps),
                                   _mm256_set1_epi8(kLast));
    if (HWY_UNLIKELY(IsAnyAbove(above, last_number_))) {
      const __m256i most = _mm256_max_epu16(of_a, of_b);
      if (IsAnyAbove(most, _mm256_set1_epi16(kInfinity - 1))) return false;
      code = WithLowCodes<8>(code, of_a, of_b, least_normal_, scale_ * 0x1p-9);
    }
    StoreWithSigns(code, a, b, codes);
    return true;
  }

 private:
  static constexpr int kLast = 0x7E;

  static HWY_INLINE __m256i Row(const void* bytes) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(static_cast<const __m128i*>(bytes)));
  }
  static HWY_INLINE bool IsAnyAbove(__m256i values, __m256i limit) {
    const __m256i within = _mm256_cmpeq_epi16(_mm256_max_epu16(values, limit), limit);
    return _mm256_movemask_epi8(within) != -1;
  }

  const __m256i steps_, last_, exponent_, least_normal_, last_number_;
  const double scale_;
};

bool EncodeBySteps(const std::byte* x, std::byte* codes, std::size_t n, const CodeSteps* steps,
                   const CellsInOrder& cells) {
  constexpr std::size_t kAtOnce = 32;
  const std::size_t width = cells.log2_width < 40 ? std::size_t{1} << cells.log2_width : n;
  std::size_t left = cells.log2_width < 40 ? width - cells.skipped : n;  // of the cell
  for (std::size_t done = 0; done < n; ++steps, left = width) {
    const std::size_t end = done + std::min(left, n - done);
    const CodesBySteps of_cell(*steps);
    for (; done + kAtOnce <= end; done += kAtOnce) {
      if (!of_cell.Run(x + 2 * done, codes + done)) return false;
    }
    if (done == end) continue;
    alignas(32) std::byte some[2 * kAtOnce] = {}, made[kAtOnce];
    std::memcpy(some, x + 2 * done, 2 * (end - done));
    if (!of_cell.Run(some, made)) return false;
    std::memcpy(codes + done, made, end - done);
    done = end;
  }
  return true;
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_CODE_STEPS_INL_H_
