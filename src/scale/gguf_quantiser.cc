// Each type's rule over one block. Nothing here may be reordered: a code is what float32 rounds at
// each step, and compilers are told not to fuse.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/gguf_quantiser.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/failure.h"
#include "core/fp_environment.h"
#include "core/loss.h"
#include "scale/cell_lanes.h"
#include "scale/stretch.h"

namespace tensorcast::scale {

// What an encoder makes of one block beside its bytes.
struct GgufBlockCodes {
  std::int8_t* codes;  // one for each value
  // Where codes end: what of a positive and of a negative value is beyond, and the least normal.
  float beyond_up[4], beyond_down[4], least_normal[4];  // of each run that has a scale
  // Values are codes times it, and those beyond the end are not zero; else 0.
  float factor[4];
};

struct GgufEncoder {
  std::string_view type;
  DataType element;   // of the codes
  std::uint32_t run;  // values that share a scale
  bool has_offset;    // beside it: codes are steps from the least value
  // False where float16 does not hold its numbers.
  bool (*encode)(const GgufLanes& lanes, const float* x, std::byte* block, GgufBlockCodes& made);
};

namespace {
namespace gguf_encoding {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The code of a float16 by rounding to nearest, ties to even; false where that is Inf.
bool StoreHalf(float value, std::byte* out, float* stored) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  std::uint32_t code = 0;
  if (magnitude >= 0x477FF000) return false;  // 65520 and more
  if (magnitude >= 0x38800000) {
    const std::uint32_t rebased = magnitude - 0x38000000;
    code = (rebased + 0xFFF + (rebased >> 13 & 1)) >> 13;
  } else {
    // Added to 0.5, what is below the last digit of a subnormal float16 is rounded away.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    code = std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f);
  }
  out[0] = static_cast<std::byte>(code & 0xFF);
  out[1] = static_cast<std::byte>((sign | code) >> 8);
  const std::uint32_t exponent = code >> 10;
  const float half = exponent == 0
                         ? static_cast<float>(code) * 0x1p-24f
                         : std::bit_cast<float>((exponent + 112) << 23 | (code & 0x3FF) << 13);
  *stored = sign != 0 ? -half : half;
  return true;
}

// 1 / d; 0 where d is, or where that is beyond float32: then float16 has no d but 0.
float Inverse(float d) {
  const float inverse = d != 0 ? 1 / d : 0;
  return std::fabs(inverse) < kInfinity ? inverse : 0;
}

// Eight codes at once, a byte each.
std::uint64_t EightCodes(const std::int8_t* codes) {
  std::uint64_t eight;
  std::memcpy(&eight, codes, sizeof(eight));
  return eight;
}
constexpr std::uint64_t InEach(unsigned byte) { return 0x0101010101010101 * std::uint64_t{byte}; }

// The lower four bits of codes plus `offset`, which is 0 or half of what codes of their bits count:
// an exclusive or adds it. Each half has a multiple of eight.
void PackNibbles(const std::int8_t* codes, std::size_t half, unsigned offset, std::byte* out) {
  for (std::size_t i = 0; i < half; i += 8) {
    const std::uint64_t low = (EightCodes(codes + i) ^ InEach(offset)) & InEach(15);
    const std::uint64_t high = (EightCodes(codes + half + i) ^ InEach(offset)) & InEach(15);
    const std::uint64_t packed = low | high << 4;
    std::memcpy(out + i, &packed, sizeof(packed));
  }
}

void PackFifthBits(const std::int8_t* codes, unsigned offset, std::byte* out) {
  for (std::size_t i = 0; i < 32; i += 8) {
    const std::uint64_t bits = (EightCodes(codes + i) ^ InEach(offset)) >> 4 & InEach(1);
    // Byte k's bit goes to bit 56 + k, and nothing else there.
    out[i / 8] = static_cast<std::byte>(bits * 0x0102040810204080 >> 56);
  }
}

bool Q8_0(const GgufLanes& lanes, const float* x, std::byte* block, GgufBlockCodes& made) {
  const float d = lanes.magnitude(x, 32) / 127;
  lanes.round_away(x, Inverse(d), made.codes);
  std::memcpy(block + 2, made.codes, 32);
  float stored = 0;
  if (!StoreHalf(d, block, &stored)) return false;
  made.beyond_up[0] = made.beyond_down[0] = 127.5f * stored;
  made.least_normal[0] = made.factor[0] = stored;
  return true;
}

// Codes of kBits that are the integers from -2^(kBits - 1) on: the value of largest magnitude is
// the least of them, whatever its sign.
template <int kBits>
bool Symmetric(const GgufLanes& lanes, const float* x, std::byte* block, GgufBlockCodes& made) {
  constexpr int kMiddle = 1 << (kBits - 1), kMost = 2 * kMiddle - 1;
  const float d = lanes.largest(x, 32) / -static_cast<float>(kMiddle);
  lanes.steps(x, 0, Inverse(d), static_cast<float>(kMiddle) + 0.5f, kMost, kMiddle, made.codes);
  if (kBits == 5) PackFifthBits(made.codes, kMiddle, block + 2);
  PackNibbles(made.codes, 16, kMiddle, block + (kBits == 5 ? 6 : 2));
  float stored = 0;
  if (!StoreHalf(d, block, &stored)) return false;
  const float least = (static_cast<float>(kMiddle) + 0.5f) * std::fabs(stored);
  const float most = (static_cast<float>(kMiddle) - 0.5f) * std::fabs(stored);
  made.beyond_up[0] = stored < 0 ? least : most;
  made.beyond_down[0] = stored < 0 ? most : least;
  made.least_normal[0] = made.factor[0] = std::fabs(stored);
  return true;
}

// Codes of kBits that are multiples of a step above the least value.
template <int kBits>
bool AboveLeast(const GgufLanes& lanes, const float* x, std::byte* block, GgufBlockCodes& made) {
  constexpr int kMost = (1 << kBits) - 1;
  float least = 0, most = 0;
  lanes.range(x, 32, &least, &most);
  if (least == 0) least = *std::find(x, x + 32, 0.0f);  // the first one's sign
  const float d = least < most ? (most - least) / static_cast<float>(kMost) : 0;
  lanes.steps(x, least, Inverse(d), 0.5f, kMost, 0, made.codes);
  if (kBits == 5) PackFifthBits(made.codes, 0, block + 4);
  PackNibbles(made.codes, 16, 0, block + (kBits == 5 ? 8 : 4));
  float step = 0, from = 0;
  if (!StoreHalf(d, block, &step) || !StoreHalf(least, block + 2, &from)) return false;
  made.beyond_up[0] = made.beyond_down[0] = kInfinity;
  made.least_normal[0] = step;
  made.factor[0] = 0;
  return true;
}

// The codes of a run. `fits`: its values are no more than twice the largest code.
void EncodeE2M1(const GgufLanes& lanes, const float* x, std::size_t n, float half, bool fits,
                std::size_t run, GgufBlockCodes& made) {
  lanes.nearest_e2m1(x, n, half, made.codes + run * n);
  made.beyond_up[run] = made.beyond_down[run] = 14 * half;
  made.least_normal[run] = 2 * half;
  // Of larger ones ggml makes any code, 0 too: float32 does not tell their errors apart.
  made.factor[run] = fits ? 2 * half : 0;
}

bool Mxfp4(const GgufLanes& lanes, const float* x, std::byte* block, GgufBlockCodes& made) {
  const float largest = lanes.magnitude(x, 32);
  constexpr std::uint32_t kLargestExponent = 2;
  // A float32's exponent has the same bias.
  const std::uint32_t of_largest = std::bit_cast<std::uint32_t>(largest) >> 23;
  const std::uint32_t exponent = std::max(of_largest, kLargestExponent) - kLargestExponent;
  block[0] = static_cast<std::byte>(exponent);
  // 2^(exponent - 128), of which the least two are subnormal.
  const std::uint32_t half = exponent < 2 ? 0x200000U << exponent : (exponent - 1) << 23;
  EncodeE2M1(lanes, x, 32, std::bit_cast<float>(half), true, 0, made);
  PackNibbles(made.codes, 16, 0, block + 1);
  return true;
}

// The code of an E4M3 without sign, rounded by one more bit, half up. ggml takes 448 for
// everything from 256 on, though the type has values between.
unsigned PositiveE4M3(float x) {
  constexpr unsigned kMost = 0x7E;
  if (!(x > 0)) return 0;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::min(x, 448.0f));
  const int exponent = static_cast<int>(bits >> 23) - 127 + 7;
  if (exponent <= 0) {
    return static_cast<unsigned>(std::min(static_cast<int>(x * 512.0f + 0.5f), 7));
  }
  const unsigned code =
      (static_cast<unsigned>(exponent) << 3 | (bits >> 20 & 7)) + (bits >> 19 & 1);
  return std::min(code, kMost);
}

float OfPositiveE4M3(unsigned code) {
  const auto digits = static_cast<float>(code & 7);
  return code < 8 ? digits * 0x1p-9f : std::bit_cast<float>((code << 20) + (120U << 23));
}

bool Nvfp4(const GgufLanes& lanes, const float* x, std::byte* block, GgufBlockCodes& made) {
  constexpr std::size_t kRun = 16;
  for (std::size_t run = 0; run < 4; ++run) {
    const float largest = lanes.magnitude(x + kRun * run, kRun);
    const unsigned scale = PositiveE4M3(largest / 6);
    block[run] = static_cast<std::byte>(scale);
    const float half = OfPositiveE4M3(scale) * 0.5f;
    EncodeE2M1(lanes, x + kRun * run, kRun, half, largest <= 24 * half, run, made);
    PackNibbles(made.codes + kRun * run, kRun / 2, 0, block + 4 + run * kRun / 2);
  }
  return true;
}

// Without lanes.

bool AllFinite(const float* x, std::size_t n) {
  return std::all_of(x, x + n, [](float one) { return std::isfinite(one); });
}
float Largest(const float* x, std::size_t n) {
  return *std::max_element(x, x + n, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
}
float Magnitude(const float* x, std::size_t n) { return std::fabs(Largest(x, n)); }
void Range(const float* x, std::size_t n, float* least, float* most) {
  *least = *std::min_element(x, x + n);
  *most = *std::max_element(x, x + n);
}
void RoundAway(const float* x, float inverse, std::int8_t* codes) {
  for (int i = 0; i < 32; ++i) codes[i] = static_cast<std::int8_t>(std::round(x[i] * inverse));
}
void Steps(const float* x, float least, float inverse, float shift, int most, int middle,
           std::int8_t* codes) {
  for (int i = 0; i < 32; ++i) {
    const float step = std::trunc((x[i] - least) * inverse + shift);
    codes[i] = static_cast<std::int8_t>(std::min(static_cast<int>(step), most) - middle);
  }
}
void NearestE2M1(const float* x, std::size_t n, float half, std::int8_t* codes) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto error = [&](int code) {
      const float value = half * kTwiceE2M1[code & 7];
      return std::fabs((code < 8 ? value : -value) - x[i]);
    };
    int best = 0;
    for (int code = 1; code < 16; ++code) {
      if (error(code) < error(best)) best = code;
    }
    codes[i] = static_cast<std::int8_t>(best);
  }
}
constexpr GgufLanes kNoLanes = {&AllFinite, &Magnitude, &Largest,    &Range,
                                &RoundAway, &Steps,     &NearestE2M1};

constexpr GgufEncoder kEncoders[] = {
    {"Q8_0", DataType::kInt8, 32, false, Q8_0},
    {"Q4_0", DataType::kInt8, 32, false, Symmetric<4>},
    {"Q4_1", DataType::kInt8, 32, true, AboveLeast<4>},
    {"Q5_0", DataType::kInt8, 32, false, Symmetric<5>},
    {"Q5_1", DataType::kInt8, 32, true, AboveLeast<5>},
    {"MXFP4", DataType::kFloat4E2M1, 32, false, Mxfp4},
    {"NVFP4", DataType::kFloat4E2M1, 16, false, Nvfp4},
};

const GgufEncoder* Find(std::string_view type) {
  const auto* const found = std::ranges::find(kEncoders, type, &GgufEncoder::type);
  return found != std::end(kEncoders) ? found : nullptr;
}

const GgufEncoder& EncoderOf(std::string_view type) {
  const GgufEncoder* const found = Find(type);
  if (found == nullptr) Require(Status(StatusCode::kInvalidType));
  return *found;
}

// Puts finite values in the place of others: NaN is 0, or as near to it as the block's values are,
// Inf the block's largest or least value; where signs are all alike (`is_symmetric`) its largest
// magnitude.
void MakeFinite(float* x, std::size_t n, bool is_symmetric) {
  float least = kInfinity, most = -kInfinity;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) continue;
    least = std::min(least, x[i]);
    most = std::max(most, x[i]);
  }
  if (least > most) least = most = 0;  // none is
  if (is_symmetric) {
    most = std::max(std::fabs(least), std::fabs(most));
    least = -most;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) x[i] = std::clamp(0.0f, least, most);
    if (std::isinf(x[i])) x[i] = x[i] > 0 ? most : least;
  }
}

}  // namespace gguf_encoding

using gguf_encoding::EncoderOf;

constexpr std::size_t kAtOnce = core::kLossBlock;  // a multiple of every block

// Codes as a tensor of their type has them: of eight bits or of four.
void PackElements(const std::int8_t* codes, std::size_t n, const TypeInfo& row, std::byte* out) {
  if (row.bits == 8) {
    std::memcpy(out, codes, n);
    return;
  }
  for (std::size_t i = 0; i < n; i += 2) {
    out[i / 2] = static_cast<std::byte>(codes[i] | codes[i + 1] << 4);
  }
}

}  // namespace

bool IsGgufWritten(std::string_view type) { return gguf_encoding::Find(type) != nullptr; }

GgufQuantiser::GgufQuantiser(DataType source, std::string_view type, Target target)
    : source_(source), target_(target), encoder_(EncoderOf(type)), blocks_(*FindGgufBlocks(type)) {
  const CellLanes* const lanes = FindCellLanes(target);
  lanes_ = lanes != nullptr ? &lanes->gguf : &gguf_encoding::kNoLanes;
  const TypeInfo* const row = FindType(source);
  if (row == nullptr || !row->is_float()) Require(Status(StatusCode::kInvalidType));
  Require(CastPlan::Bind(source, DataType::kFloat32, {}, &float_of_source_, target));
  Require(CastPlan::Bind(source, DataType::kFloat64, {}, &value_of_source_, target));
}

std::optional<std::uint64_t> GgufQuantiser::Encode(std::span<const std::byte> x,
                                                   std::uint64_t x_first, std::uint64_t first,
                                                   std::uint64_t n, std::span<std::byte> blocks,
                                                   LossMeter* loss) const {
  if (n % blocks_.values != 0 || blocks.size() < n / blocks_.values * blocks_.bytes) {
    Require(Status(StatusCode::kBufferTooSmall));
  }
  const core::FpEnvironment environment;
  alignas(64) float floats[kAtOnce];
  alignas(64) double values[kAtOnce], results[kAtOnce];
  core::ScaledResults::Cell cells[kAtOnce];
  alignas(64) std::int8_t codes[kAtOnce];
  std::byte packed[kAtOnce];  // for examples, which only MeasureScaled asks for
  const TypeInfo* const element = FindType(encoder_.element);
  GgufBlockCodes made;
  for (std::uint64_t done = 0; done < n; done += kAtOnce) {
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(n - done, kAtOnce));
    std::byte* const out = blocks.data() + done / blocks_.values * blocks_.bytes;
    Require(float_of_source_.Run(x, x_first + done, std::as_writable_bytes(std::span(floats)), 0,
                                 some));
    core::ScaledResults::Cell* next = cells;
    const bool all_finite = lanes_->all_finite(floats, some);
    for (std::size_t at = 0; at < some; at += blocks_.values) {
      const std::span<float> block(floats + at, blocks_.values);
      if (!all_finite && !lanes_->all_finite(block.data(), block.size())) {
        gguf_encoding::MakeFinite(block.data(), block.size(), !encoder_.has_offset);
      }
      made.codes = codes + at;
      if (!encoder_.encode(*lanes_, block.data(), out + at / blocks_.values * blocks_.bytes,
                           made)) {
        return (done + at) / blocks_.values;
      }
      if (loss == nullptr) continue;
      for (std::size_t run = 0; run * encoder_.run < block.size(); ++run) {
        // Where a scale is 0 all values are too near to it to be beyond anything.
        const auto limit = [](float end) {
          return end > 0 ? double{end} : std::numeric_limits<double>::infinity();
        };
        *next++ = {at + (run + 1) * encoder_.run,
                   {limit(made.beyond_up[run]), limit(made.beyond_down[run]),
                    std::max(double{made.least_normal[run]}, std::numeric_limits<double>::min())},
                   {made.factor[run], 0}};
      }
    }
    if (loss == nullptr) continue;
    core::ScaledResults scaled = {results, cells};
    scaled.multiples = reinterpret_cast<const std::byte*>(codes);
    scaled.multiples_type = element;
    const core::LossView view = {
        FindType(source_), element, x.data(), x_first + done, packed, 0, &scaled};
    if (core::MeasureScaledCodes(*loss, view, some, first + done, target_)) continue;
    Require(value_of_source_.Run(x, x_first + done, std::as_writable_bytes(std::span(values)), 0,
                                 some));
    blocks_.to_doubles(out, some / blocks_.values, results);
    PackElements(codes, some, *element, packed);
    Require(core::MeasureScaled(*loss, view, values, some, first + done, target_));
  }
  return std::nullopt;
}

LossMeter GgufQuantiser::Meter() const {
  CastOptions options;
  if (encoder_.element == DataType::kInt8) options.integer_overflow = IntegerOverflow::kSaturate;
  return LossMeter(source_, encoder_.element, options);
}

}  // namespace tensorcast::scale
