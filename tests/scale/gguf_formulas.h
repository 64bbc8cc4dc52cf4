// The value of one element of one of GGUF's blocks, by the formula of its type as
// ggml's reference gives it, in double: slow, and in the order in which it is written there.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_SCALE_GGUF_FORMULAS_H_
#define TENSORCAST_TESTS_SCALE_GGUF_FORMULAS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

namespace tensorcast::testing {

inline double HalfValue(const std::uint8_t* b) {
  const int code = b[0] | b[1] << 8, exponent = code >> 10 & 31, digits = code & 1023;
  const double sign = code >> 15 != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return digits != 0 ? std::numeric_limits<double>::quiet_NaN()
                       : sign * std::numeric_limits<double>::infinity();
  }
  return sign *
         std::ldexp(exponent == 0 ? digits : digits + 1024, (exponent == 0 ? 1 : exponent) - 25);
}

inline double E2M1Value(int code) {
  constexpr double kMagnitudes[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8) != 0 ? -kMagnitudes[code & 7] : kMagnitudes[code & 7];
}

inline double GgufValue(std::string_view type, const std::uint8_t* b, std::size_t element) {
  const int i = static_cast<int>(element);
  const auto f = [&](int at) { return HalfValue(b + at); };
  const auto nib = [&](int at, int k, int half) {
    return k < half ? b[at + k] & 15 : b[at + k - half] >> 4;
  };
  const auto bit = [&](int at, int k) { return b[at + k / 8] >> k % 8 & 1; };
  const auto k4 = [&](int at, int k) -> std::pair<int, int> {
    const std::uint8_t* const sc = b + at;
    if (k < 4) return {sc[k] & 63, sc[k + 4] & 63};
    return {(sc[k + 4] & 15) | (sc[k - 4] >> 6) * 16, (sc[k + 4] >> 4) | (sc[k] >> 6) * 16};
  };
  constexpr int kT[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  const int n = i / 128, j = i % 128 / 32, l = i % 32;
  if (type == "Q4_0") return (nib(2, i, 16) - 8) * f(0);
  if (type == "Q4_1") return nib(4, i, 16) * f(0) + f(2);
  if (type == "Q5_0") return ((nib(6, i, 16) | bit(2, i) * 16) - 16) * f(0);
  if (type == "Q5_1") return (nib(8, i, 16) | bit(4, i) * 16) * f(0) + f(2);
  if (type == "Q8_0") return static_cast<std::int8_t>(b[2 + i]) * f(0);
  if (type == "Q2_K") {
    const int c = b[16 + 32 * n + l] >> 2 * j & 3, s = b[i / 16];
    return f(80) * (s & 15) * c - f(82) * (s >> 4);
  }
  if (type == "Q3_K") {
    const int q = (b[32 + 32 * n + l] >> 2 * j & 3) + 4 * (b[l] >> (4 * n + j) & 1) - 4;
    const int k = i / 16;
    const std::uint8_t* const sc = b + 96;
    const int a = (k < 8 ? sc[k] & 15 : sc[k - 8] >> 4) | (sc[8 + k % 4] >> 2 * (k / 4) & 3) * 16;
    return f(108) * (a - 32) * q;
  }
  if (type == "Q4_K") {
    const auto [s, m] = k4(4, i / 32);
    return f(0) * s * nib(16 + 32 * (i / 64), i % 64, 32) - f(2) * m;
  }
  if (type == "Q5_K") {
    const auto [s, m] = k4(4, i / 32);
    const int c = nib(48 + 32 * (i / 64), i % 64, 32) + 16 * (b[16 + i % 32] >> i / 32 & 1);
    return f(0) * s * c - f(2) * m;
  }
  if (type == "Q6_K") {
    const int byte = b[64 * n + l + 32 * (j & 1)];
    const int q = (j < 2 ? byte & 15 : byte >> 4) | (b[128 + 32 * n + l] >> 2 * j & 3) * 16;
    return f(208) * static_cast<std::int8_t>(b[192 + 8 * n + 2 * j + l / 16]) * (q - 32);
  }
  if (type == "IQ4_NL") return f(0) * kT[nib(2, i, 16)];
  if (type == "IQ4_XS") {
    const int k = i / 32, hi = b[2] | b[3] << 8;
    const int a = (b[4 + k / 2] >> 4 * (k % 2) & 15) | (hi >> 2 * k & 3) * 16;
    return f(0) * (a - 32) * kT[nib(8 + 16 * k, i % 32, 16)];
  }
  if (type == "TQ2_0") return ((b[32 * n + l] >> 2 * j & 3) - 1) * f(64);
  if (type == "TQ1_0") {
    const int e = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
    const int y = i < 160 ? b[l] : i < 240 ? b[32 + (i - 160) % 16] : b[48 + (i - 240) % 4];
    int power = 1;
    for (int k = 0; k < e; ++k) power *= 3;
    return ((y * power % 256 * 3 >> 8) - 1) * f(52);
  }
  if (type == "Q1_0") return bit(2, i) != 0 ? f(0) : -f(0);
  if (type == "Q2_0") return ((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1) * f(0);
  if (type == "MXFP4") {
    if (b[0] == 255) return std::numeric_limits<double>::quiet_NaN();
    return std::ldexp(E2M1Value(nib(1, i, 16)), b[0] - 127);
  }
  if (type == "NVFP4") {
    const int scale = b[i / 16], exponent = scale >> 3 & 15, m = scale & 7;
    const double s = scale == 0 || scale == 0x7F ? 0
                     : exponent == 0             ? m * std::ldexp(1, -9)
                                                 : (1 + m / 8.0) * std::ldexp(1, exponent - 7);
    const int y = b[4 + 8 * (i / 16) + i % 8];
    return s * E2M1Value(i % 16 < 8 ? y & 15 : y >> 4);
  }
  std::abort();
}

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_SCALE_GGUF_FORMULAS_H_
