// Renders quantities with decimal prefixes and few digits, the same in every locale.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/quantities.h"

#include <cmath>
#include <cstddef>

#include <fmt/format.h>

namespace tensorcast::tool {
namespace {

// The value scaled to at most 999.9 of some decimal prefix.
struct Scaled {
  double value;
  const char* prefix;
};

Scaled Scale(double value) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  while (value >= 999.95 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return {value, kPrefixes[prefix]};
}

}  // namespace

std::string RoundedCount(std::uint64_t count) {
  if (count < 10000) return fmt::format("{}", count);
  const Scaled scaled = Scale(static_cast<double>(count));
  return fmt::format("{:.1f} {}", scaled.value, scaled.prefix);
}

std::string BytesText(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  const Scaled scaled = Scale(static_cast<double>(bytes));
  return fmt::format("{:.1f} {}B", scaled.value, scaled.prefix);
}

std::string SpeedText(double bytes_per_second) {
  const Scaled scaled = Scale(bytes_per_second);
  return scaled.value < 100 ? fmt::format("{:.1f} {}B/s", scaled.value, scaled.prefix)
                            : fmt::format("{:.0f} {}B/s", scaled.value, scaled.prefix);
}

std::string SecondsText(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", 1000 * seconds);
  return seconds < 9.95 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string ShareText(std::uint64_t count, std::uint64_t whole) {
  if (count == 0) return "·";
  const double percent = 100.0 * static_cast<double>(count) / static_cast<double>(whole);
  if (percent < 0.05) return "<0.1 %";
  if (count < whole && percent >= 99.95) return ">99.9 %";
  return fmt::format("{:.1f} %", percent);
}

std::string DecibelText(double decibel) {
  if (std::isnan(decibel)) return "?";  // squares beyond the range of double
  if (std::isinf(decibel)) return decibel > 0 ? "∞" : "-∞";
  if (std::abs(decibel) < 0.05) return "0.0";  // never -0.0
  return fmt::format("{:.1f}", decibel);
}

std::string MagnitudeText(double value) {
  if (value >= 1000 && value < 1e6) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

std::string ExtentsText(std::span<const std::uint64_t> shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const std::uint64_t dim : shape) {
    if (!text.empty()) text += " × ";
    text += fmt::format("{}", dim);
  }
  return text;
}

}  // namespace tensorcast::tool
