// Numbers as people read them: counts, bytes, shares, errors, seconds.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_QUANTITIES_H_
#define TENSORCAST_PROGRAMS_DISPLAY_QUANTITIES_H_

#include <cstdint>
#include <span>
#include <string>

namespace tensorcast::tool {

std::string RoundedCount(std::uint64_t count);                    // 17, 9999, 32.5 M
std::string BytesText(std::uint64_t bytes);                       // 12 B, 130.0 MB
std::string SpeedText(double bytes_per_second);                   // 300 MB/s, 1.2 GB/s
std::string SecondsText(double seconds);                          // 12 ms, 0.4 s, 75 s
std::string ShareText(std::uint64_t count, std::uint64_t whole);  // ·, <0.1 %, 26.6 %
std::string DecibelText(double decibel);                          // 31.2, ∞
std::string MagnitudeText(double value);                          // 64, 0.000977, 3.4e+38
std::string ExtentsText(std::span<const std::uint64_t> shape);    // 256 × 1024, scalar

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_QUANTITIES_H_
