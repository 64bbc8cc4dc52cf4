// Strings to numbers and back, one thread, beside glibc's strtod and snprintf and beside
// std::from_chars and std::to_chars, on the same texts in the same run. All keep what they print
// and read, and errors are asked for. Prints CSV: nanoseconds of CPU time for an element, and the
// peers' time over ours.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
namespace {

constexpr std::size_t kElements = 100'000;
constexpr int kRounds = 11;

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

// The peers print and read Number, which is the type, or the narrowest of C++ that has all its
// numbers; `holder` is Number's own type.
template <class Number> void Measure(const TypeInfo& type, DataType holder) {
  // Weights: normally distributed; integers over some thousands.
  std::mt19937_64 random(20261121);
  std::normal_distribution<double> normal(0, type.is_float() ? 0.05 : 3000);
  std::vector<double> values(kElements);
  for (double& value : values) value = normal(random);
  std::vector<std::byte> codes(*StorageBytes(type.type, kElements));
  std::vector<std::byte> parsed(codes.size());
  std::vector<Number> numbers(kElements);
  bool ok =
      Cast(DataType::kFloat64, std::as_bytes(std::span(values)), type.type, codes, kElements)
          .ok() &&
      Cast(type.type, codes, holder, std::as_writable_bytes(std::span(numbers)), kElements).ok();
  std::vector<std::uint64_t> offsets(kElements + 1), peer_offsets(kElements + 1);
  std::vector<char> bytes(kElements * kLongestPrinted), peer_bytes(kElements * kLongestPrinted);
  // put(at, number) returns the text's end.
  const auto print_all = [&](const auto& put) {
    char* at = peer_bytes.data();
    for (std::size_t i = 0; i < kElements; ++i) {
      at = put(at, numbers[i]);
      peer_offsets[i + 1] = static_cast<std::uint64_t>(at - peer_bytes.data());
    }
  };

  std::vector<double> print = Times({
      [&] { ok = ok && PrintStrings(type.type, codes, kElements, offsets, bytes).ok(); },
      [&] {
        print_all([](char* at, Number number) {
          return at + std::snprintf(at, kLongestPrinted, "%.*g", sizeof(Number) == 8 ? 17 : 9,
                                    static_cast<double>(number));
        });
      },
      [&] {
        print_all([](char* at, Number number) {
          return std::to_chars(at, at + kLongestPrinted, number).ptr;
        });
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
          values[i] = std::strtod(buffer, nullptr);
        }
      },
      [&] {
        for (std::size_t i = 0; i < kElements; ++i) {
          const char* const end = texts[i].data() + texts[i].size();
          const std::from_chars_result result = std::from_chars(texts[i].data(), end, numbers[i]);
          ok = ok && result.ec == std::errc() && result.ptr == end;
        }
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

void Measure(const TypeInfo& type) {
  const bool is_signed = type.type_class == TypeClass::kSigned;
  if (type.is_float()) {
    return type.bits == 64 ? Measure<double>(type, DataType::kFloat64)
                           : Measure<float>(type, DataType::kFloat32);
  }
  switch (type.bits) {
    case 64:
      return is_signed ? Measure<std::int64_t>(type, DataType::kInt64)
                       : Measure<std::uint64_t>(type, DataType::kUint64);
    case 32:
      return is_signed ? Measure<std::int32_t>(type, DataType::kInt32)
                       : Measure<std::uint32_t>(type, DataType::kUint32);
    case 16:
      return is_signed ? Measure<std::int16_t>(type, DataType::kInt16)
                       : Measure<std::uint16_t>(type, DataType::kUint16);
    default:
      return is_signed ? Measure<std::int8_t>(type, DataType::kInt8)
                       : Measure<std::uint8_t>(type, DataType::kUint8);
  }
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
}
