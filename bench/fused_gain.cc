// What fusing gains: each fused pair beside its two stages, on every target. A pair stays on the
// list of src/core/fused_stages.cc while a target shows at least 1.25. Prints CSV.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "core/kernels.h"
#include "core/route.h"

namespace tensorcast::core {
namespace {

constexpr std::size_t kElements = 16384;  // in and out stay in the second-level cache
constexpr int kRounds = 21;
constexpr int kRepeats = 50;

template <class Work> double Seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRepeats; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

// The two stages over blocks, as a plan without the fused one would run them.
void RunTwoStages(const Stage decode, const Stage encode, const std::byte* in, std::size_t in_bytes,
                  std::byte* out, std::size_t out_bytes, std::byte* block, const EncodeArgs& args) {
  for (std::size_t i = 0; i < kElements; i += kBlock) {
    decode(in + i * in_bytes, block, kBlock, args);
    encode(block, out + i * out_bytes, kBlock, args);
  }
}

void Measure(const Kernels& kernels, std::size_t from, std::size_t to) {
  const TypeInfo& from_row = detail::kTypeTable[from];
  const TypeInfo& to_row = detail::kTypeTable[to];
  Stage decode = nullptr;
  Stage encode = nullptr;
  switch (ChooseRoute(from_row, to_row)) {
    case Route::kFloat32:
      decode = kernels.decode_f32[from];
      encode = kernels.encode_f32[to];
      break;
    case Route::kFloat64:
      decode = kernels.decode_f64[from];
      encode = kernels.encode_f64[to];
      break;
    case Route::kOddFloat64:
      decode = kernels.decode_odd_f64[from];
      encode = kernels.encode_f64[to];
      break;
    case Route::kOddFloat32:
    case Route::kIdentity:
    case Route::kInteger: break;
  }
  if (decode == nullptr || encode == nullptr) return;
  const auto bytes = [](const TypeInfo& row) {
    return static_cast<std::size_t>(std::max(row.bits, 8) / 8);
  };
  std::vector<std::byte> in(kElements * bytes(from_row));
  // Small codes: values every format has, integers far from any limit.
  for (std::size_t i = 0; i < in.size(); i += bytes(from_row)) {
    in[i] = static_cast<std::byte>(i * 7 % 3);
  }
  std::vector<std::byte> out(kElements * bytes(to_row));
  std::vector<std::byte> block(kBlock * 8);
  const EncodeArgs args;
  std::vector<double> fused;
  std::vector<double> staged;
  for (int round = 0; round < kRounds; ++round) {
    fused.push_back(
        Seconds([&] { kernels.fused[from][to](in.data(), out.data(), kElements, args); }));
    staged.push_back(Seconds([&] {
      RunTwoStages(decode, encode, in.data(), bytes(from_row), out.data(), bytes(to_row),
                   block.data(), args);
    }));
  }
  const std::string_view target = TargetName(kernels.target);
  std::printf("%.*s,%.*s,%.*s,%.2f\n", static_cast<int>(target.size()), target.data(),
              static_cast<int>(from_row.name.size()), from_row.name.data(),
              static_cast<int>(to_row.name.size()), to_row.name.data(),
              Median(staged) / Median(fused));
}

}  // namespace
}  // namespace tensorcast::core

int main() {
  using namespace tensorcast::core;
  std::printf("target,from,to,gain\n");
  for (const Kernels* kernels : AllKernels()) {
    for (std::size_t from = 0; from < kRows; ++from) {
      for (std::size_t to = 0; to < kRows; ++to) {
        if (kernels->fused[from][to] != nullptr) Measure(*kernels, from, to);
      }
    }
  }
  return 0;
}
