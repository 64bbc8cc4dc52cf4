// Strings to numbers and back, one thread, beside glibc's strtod and snprintf and beside the bare
// std::from_chars and std::to_chars (of integers, where the type is one), on the same texts in the
// same run. Prints CSV: nanoseconds of CPU time for an element, and the peers' time over ours.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
namespace {

constexpr std::size_t kElements = 100'000;
constexpr int kRounds = 11;

double g_sink = 0;  // what peers compute is used

double Median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

// Times several works in turn, round by round; medians in nanoseconds for an element.
std::vector<double> Times(const std::vector<std::function<void()>>& works) {
  std::vector<std::vector<double>> samples(works.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      const std::clock_t begin = std::clock();
      works[i]();
      const auto time = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      samples[i].push_back(time * 1e9 / static_cast<double>(kElements));
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& values : samples) medians.push_back(Median(values));
  return medians;
}

void Measure(const TypeInfo& type) {
  // Weights: normally distributed; integers over some thousands.
  std::mt19937_64 random(20261121);
  std::normal_distribution<double> normal(0, type.is_float() ? 0.05 : 3000);
  std::vector<double> values(kElements);
  for (double& value : values) value = normal(random);
  std::vector<std::byte> codes(*StorageBytes(type.type, kElements));
  const bool made =
      Cast(DataType::kFloat64, std::as_bytes(std::span(values)), type.type, codes, kElements).ok();
  // What the peers print: the same values.
  const bool read = Cast(type.type, codes, DataType::kFloat64,
                         std::as_writable_bytes(std::span(values)), kElements)
                        .ok();
  std::vector<std::uint64_t> offsets(kElements + 1);
  std::vector<char> bytes(kElements * kLongestPrinted);
  std::vector<std::byte> parsed(codes.size());
  bool ok = made && read;

  std::vector<double> print = Times({
      [&] { ok = ok && PrintStrings(type.type, codes, kElements, offsets, bytes).ok(); },
      [&] {
        char buffer[64];
        for (const double value : values) {
          g_sink += std::snprintf(buffer, sizeof(buffer), "%.*g",
                                  type.type == DataType::kFloat64 ? 17 : 9, value);
        }
      },
      [&] {
        char buffer[64];
        for (const double value : values) {
          char* const end =
              !type.is_float()
                  ? std::to_chars(buffer, buffer + 64, static_cast<std::int64_t>(value)).ptr
              : type.type == DataType::kFloat64
                  ? std::to_chars(buffer, buffer + 64, value).ptr
                  : std::to_chars(buffer, buffer + 64, static_cast<float>(value)).ptr;
          g_sink += static_cast<double>(end - buffer);
        }
      },
  });
  const Strings texts{offsets, bytes};
  std::vector<double> parse = Times({
      [&] { ok = ok && ParseStrings(texts, type.type, parsed).ok(); },
      [&] {
        for (std::size_t i = 0; i < kElements; ++i) {
          // The character behind a text begins the next: cut it off as a caller of strtod has to.
          char buffer[kLongestPrinted + 1];
          buffer[texts[i].copy(buffer, kLongestPrinted)] = '\0';
          g_sink += std::strtod(buffer, nullptr);
        }
      },
      [&] {
        const auto read_all = [&]<class Number>(Number value) {
          for (std::size_t i = 0; i < kElements; ++i) {
            std::from_chars(texts[i].data(), texts[i].data() + texts[i].size(), value);
            g_sink += static_cast<double>(value);
          }
        };
        if (!type.is_float()) return read_all(std::int64_t{0});
        return type.type == DataType::kFloat64 ? read_all(0.0) : read_all(0.0F);
      },
  });
  if (!ok) {
    std::fprintf(stderr, "a cast failed\n");
    std::exit(1);
  }
  std::printf("%.*s,%.1f,%.2f,%.2f,%.1f,%.2f,%.2f\n", static_cast<int>(type.name.size()),
              type.name.data(), print[0], print[1] / print[0], print[2] / print[0], parse[0],
              parse[1] / parse[0], parse[2] / parse[0]);
}

}  // namespace
}  // namespace tensorcast

int main() {
  std::printf(
      "type,print_ns,snprintf_over_print,to_chars_over_print,"
      "parse_ns,strtod_over_parse,from_chars_over_parse\n");
  for (const tensorcast::TypeInfo& type : tensorcast::Types()) {
    // No from_chars reads "True".
    if (type.type != tensorcast::DataType::kString && type.type != tensorcast::DataType::kBool) {
      tensorcast::Measure(type);
    }
  }
  return tensorcast::g_sink == -1 ? 1 : 0;
}
