// Casts four floats to float8e4m3fn, reports what that lost, prints the results, and reads a text.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace {

void Check(tensorcast::Status status) {
  if (status.ok()) return;
  std::fprintf(stderr, "tensorcast: %s\n", std::string(status.message()).c_str());
  std::exit(1);
}

}  // namespace

int main() {
  using tensorcast::DataType;
  const std::vector<float> weights = {0.1f, 448.f, 512.f, -1e-9f};
  std::vector<tensorcast::float8e4m3fn> small(weights.size());

  // Cast, and measure: without a meter, nothing is measured.
  tensorcast::LossMeter meter(DataType::kFloat32, DataType::kFloat8E4M3FN);
  tensorcast::RunOptions run;
  run.loss = &meter;
  Check(tensorcast::Cast(weights, small, {}, run));
  std::printf("codes: %02x %02x %02x %02x\n", small[0].bits, small[1].bits, small[2].bits,
              small[3].bits);

  const tensorcast::LossReport report = meter.Report();
  std::printf("of %llu values %llu went to the limit, SNR %.1f dB\n",
              static_cast<unsigned long long>(report.elements),
              static_cast<unsigned long long>(report.count(tensorcast::Loss::kToLimit)),
              report.snr_db);

  // Print what they stand for: cast back, and ask how many bytes the texts take first.
  std::vector<float> values(small.size());
  Check(tensorcast::Cast(small, values));
  const auto bits = std::as_bytes(std::span(values));
  std::uint64_t bytes = 0;
  Check(tensorcast::PrintedStringBytes(DataType::kFloat32, bits, values.size(), &bytes));
  std::vector<std::uint64_t> offsets(values.size() + 1);
  std::vector<char> texts(bytes);
  Check(tensorcast::PrintStrings(DataType::kFloat32, bits, values.size(), offsets, texts));
  const tensorcast::Strings printed = {offsets, texts};
  std::printf("values:");
  for (std::uint64_t i = 0; i < printed.size(); ++i) {
    std::printf(" %.*s", static_cast<int>(printed[i].size()), printed[i].data());
  }
  std::printf("\n");

  // Parse: string i is bytes starts[i] to starts[i + 1] - 1.
  constexpr std::string_view kNumbers = "1.51e400half";
  const std::vector<std::uint64_t> starts = {0, 3, 8, 12};
  std::vector<tensorcast::float16> halves(3);
  const auto elements = std::as_writable_bytes(std::span(halves));
  tensorcast::ParseFailure failure;
  const tensorcast::Status status =
      tensorcast::ParseStrings({starts, kNumbers}, DataType::kFloat16, elements, {}, {}, &failure);
  std::printf("text %llu, \"%s\": %s\n", static_cast<unsigned long long>(failure.index),
              failure.text, std::string(status.message()).c_str());
  Check(tensorcast::ParseStrings({std::span(starts).first(3), kNumbers}, DataType::kFloat16,
                                 elements));
  std::printf("float16: %04x %04x\n", halves[0].bits, halves[1].bits);

  // One value, at compile time.
  static_assert(tensorcast::CastValue<tensorcast::float16>(1.5f).bits == 0x3E00);
}
