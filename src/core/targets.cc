// Running a plan on a target, and the list of targets.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/targets.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "core/code_loss-inl.h"
#include "core/loss-inl.h"
#include "core/loss_float32-inl.h"
#include "core/stages-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

const Kernels* TargetKernels();

namespace {

// The row whose name is Highway's, which begins its namespaces with "N_", in lower case; kBest
// where there is none.
constexpr Target ThisTarget() {
  constexpr std::string_view kHighways = HWY_STR(HWY_NAMESPACE);
  const auto is_same = [](char upper, char lower) {
    return upper == lower || (upper >= 'A' && upper <= 'Z' && upper - 'A' + 'a' == lower);
  };
  for (const detail::TargetRow& row : detail::kTargetTable) {
    if (std::equal(kHighways.begin() + 2, kHighways.end(), row.name.begin(), row.name.end(),
                   is_same)) {
      return row.target;
    }
  }
  return Target::kBest;
}
constexpr Target kThisTarget = ThisTarget();
static_assert(kThisTarget != Target::kBest,
              "give it a row in target_table.hpp, or disable it in src/core/CMakeLists.txt");

// Buffers of a block between stages; small enough for the first-level cache.
struct BlockBuffers {
  alignas(64) std::byte source_codes[kBlock];  // unpacked
  alignas(64) std::byte intermediate[kBlock * 8];
  alignas(64) std::byte result_codes[kBlock];  // to be packed
};

HWY_INLINE std::uint64_t BytesOf(const TypeInfo& row) {
  return static_cast<std::uint64_t>(row.bits) / 8;
}

// Element i of a run as the codes its stages read; unpacks n of them where the type is packed.
HWY_INLINE const std::byte* SourceCodes(const Bound& bound, const Job& job, std::uint64_t i,
                                        std::size_t n, BlockBuffers* buffers) {
  if (bound.unpack == nullptr) return job.source + (job.source_first + i) * BytesOf(*bound.from);
  bound.unpack(job.source, job.source_first + i, n, buffers->source_codes);
  return buffers->source_codes;
}

HWY_INLINE void RunStages(const Bound& bound, const std::byte* codes, std::size_t n,
                          std::byte* results, std::byte* intermediate) {
  if (bound.second != nullptr) {
    bound.first(codes, intermediate, n, bound.args);
    bound.second(intermediate, results, n, bound.args);
  } else if (bound.first != nullptr) {
    bound.first(codes, results, n, bound.args);
  } else {
    std::memmove(results, codes, n * static_cast<std::size_t>(std::max(bound.to->bits, 8)) / 8);
  }
}

// Casts elements [i, i + n), at most a block; gives their codes, one a carrier.
HWY_INLINE const std::byte* CastBlock(const Bound& bound, const Job& job, const std::byte* codes,
                                      std::uint64_t i, std::size_t n, BlockBuffers* buffers) {
  if (bound.pack != nullptr) {
    RunStages(bound, codes, n, buffers->result_codes, buffers->intermediate);
    bound.pack(buffers->result_codes, n, job.destination, job.destination_first + i);
    return buffers->result_codes;
  }
  std::byte* results = job.destination + (job.destination_first + i) * BytesOf(*bound.to);
  RunStages(bound, codes, n, results, buffers->intermediate);
  return results;
}

// As CastBlock, for a block that is measured: by the direct stage where it can.
const std::byte* CastMeasured(const Bound& bound, const Job& job, const std::byte* codes,
                              std::uint64_t i, std::size_t n, bool in_place,
                              BlockBuffers* buffers) {
  if (bound.direct == nullptr || bound.unpack != nullptr || bound.pack != nullptr || in_place) {
    return CastBlock(bound, job, codes, i, n, buffers);
  }
  std::byte* const results = job.destination + (job.destination_first + i) * BytesOf(*bound.to);
  bound.direct(codes, results, n, bound.args);
  return results;
}

constexpr std::size_t kStretch = kStretchBlocks * kBlock;

// What is to be asked for while elements from i on are measured: so many, a stretch further on.
Ahead AheadOf(const Bound& bound, const Job& job, std::uint64_t i, std::uint64_t n) {
  if (job.n - i < kStretch + n) return {};
  const auto lines = [&](const std::byte* side, std::uint64_t first, const TypeInfo& row) {
    const auto bits = static_cast<std::uint64_t>(row.bits);
    return Ahead::Lines{side + (first + i + kStretch) * bits / 8, n * bits / 8};
  };
  return {lines(job.source, job.source_first, *bound.from),
          lines(job.destination, job.destination_first, *bound.to)};
}

// The values of codes, in `room` where the codes are no values that can be read where they stand.
template <class Value>
const Value* Values(Stage stage, const std::byte* codes, std::size_t n, const EncodeArgs& args,
                    bool stay, Value* room) {
  if (stage != nullptr) {
    stage(codes, reinterpret_cast<std::byte*>(room), n, args);
  } else if (stay && reinterpret_cast<std::uintptr_t>(codes) % alignof(Value) == 0) {
    return reinterpret_cast<const Value*>(codes);
  } else {
    std::memcpy(room, codes, n * sizeof(Value));
  }
  return room;
}

bool IsInPlace(const Bound& bound, const Job& job) {
  return job.source + job.source_first * static_cast<std::uint64_t>(bound.from->bits) / 8 ==
         job.destination + job.destination_first * static_cast<std::uint64_t>(bound.to->bits) / 8;
}

// Where a block of the source is read for examples: itself, or a copy where the cast is in place.
LossView MakeView(const Bound& bound, const Job& job, std::uint64_t i, std::size_t n,
                  std::byte* kept) {
  LossView view = {bound.from,           bound.to,        job.source,
                   job.source_first + i, job.destination, job.destination_first + i};
  if (IsInPlace(bound, job)) {
    const auto bits = static_cast<std::uint64_t>(bound.from->bits);
    const std::uint64_t aligned = view.source_first / kWholeBytes * kWholeBytes;
    const std::uint64_t bytes = ((view.source_first + n) * bits + 7) / 8 - aligned * bits / 8;
    std::memcpy(kept, job.source + aligned * bits / 8, bytes);
    view.source = kept;
    view.source_first -= aligned;
  }
  return view;
}

// Adds n elements of one block, those of `view`; x and y are their values.
template <class LimitsFrom>
void MeasureLanes(const LossView& view, const LossParams& params, const LimitsFrom& limits_from,
                  const double* x, const double* y, std::size_t n, std::uint64_t index,
                  LossState* loss) {
  // Lanes begin where a sum's first element stands.
  std::size_t head = static_cast<std::size_t>((kLossSums - index % kLossSums) % kLossSums);
  head = std::min(head, n);
  if (head != 0) loss->AddExactly(view, 0, head, index);
  const std::size_t body = (n - head) / kLossSums * kLossSums;
  if (body != 0) {
    LossStretch stretch = loss->StretchFrom(index + head);
    MeasureStretch(x + head, y + head, body, params, limits_from(head), Subtracted(), &stretch);
    loss->AddStretch(stretch, x + head, y + head, body, view, head, index + head);
  }
  const std::size_t done = head + body;
  if (done != n) loss->AddExactly(view, done, n - done, index + done);
}

// Looks for the first elements of the maxima by errors that are not the differences of x and y.
void FindMaxima(const double* x, const double* y, const double* errors, std::size_t n,
                LossStretch* stretch) {
  for (std::size_t k = n; k-- > 0;) {
    if (!(std::fabs(y[k]) < std::numeric_limits<double>::infinity())) continue;
    if (errors[k] == stretch->max_abs_error) stretch->max_abs_at = k;
    if (x[k] != 0 && errors[k] / std::fabs(x[k]) == stretch->max_rel_error) {
      stretch->max_rel_at = k;
    }
  }
}

// As MeasureBlock, for 64-bit integers that doubles may not hold; false where lanes cannot.
bool MeasureWide(const LossView& view, const double* x, const double* y, std::size_t n,
                 std::uint64_t index, LossState* loss) {
  const bool doubles_hold_results = view.to->bits < 64 ? view.to->has_zero : view.to->is_float();
  if (view.from->bits != 64 || !view.from->is_integer() || !doubles_hold_results ||
      index % kLossSums != 0 || n % kLossSums != 0) {
    return false;
  }
  alignas(64) double errors[kBlock];
  const std::byte* const integers = view.source + view.source_first * 8;
  if (!(view.from->has_sign ? WideErrors<std::int64_t>(integers, y, n, errors)
                            : WideErrors<std::uint64_t>(integers, y, n, errors))) {
    return false;
  }
  LossStretch stretch = loss->StretchFrom(index);
  MeasureStretch(x, y, n, loss->params, UniformLimits(loss->params), Given{errors}, &stretch);
  if (loss->GivesExample(stretch, index)) FindMaxima(x, y, errors, n, &stretch);
  loss->AddStretch(stretch, x, y, n, view, 0, index);
  return true;
}

void MeasureBlock(const LossView& view, const double* x, const double* y, std::size_t n,
                  std::uint64_t index, LossState* loss) {
  const LossParams& params = loss->params;
  // From floats only what is beyond the range has a result that a double may not hold.
  if (params.wide &&
      (view.from->is_float() ? AnyBeyond(x, n, params) : AnyWide(x, n) || AnyWide(y, n))) {
    if (!MeasureWide(view, x, y, n, index, loss)) loss->AddExactly(view, 0, n, index);
    return;
  }
  const auto limits_from = [&params](std::size_t) { return UniformLimits(params); };
  MeasureLanes(view, params, limits_from, x, y, n, index, loss);
}

void MeasureScaledBlock(const LossView& view, const double* x, std::size_t n, std::uint64_t index,
                        LossState* loss) {
  const ScaledLimits& scaled = *view.scaled;
  const auto limits_from = [&scaled](std::size_t i) {
    return OwnLimits{scaled.beyond + i, scaled.least_normal + i};
  };
  MeasureLanes(view, loss->ParamsOf(view, 0), limits_from, x, scaled.values, n, index, loss);
}

void MeasurePairBlock(const LossView& view, std::size_t n, std::uint64_t index, LossState* loss) {
  alignas(64) double x_room[kBlock];
  alignas(64) double y_room[kBlock];
  alignas(64) std::byte codes[kBlock];
  const Kernels& kernels = *TargetKernels();
  const auto values = [&](const TypeInfo& row, const std::byte* side, std::uint64_t first,
                          double* room) {
    const auto place = static_cast<std::size_t>(detail::RowIndex(row.type));
    const std::byte* elements = codes;
    if (kernels.unpack[place] != nullptr) {
      kernels.unpack[place](side, first, n, codes);
    } else {
      elements = side + first * BytesOf(row);
    }
    return Values(kernels.value_f64[place], elements, n, EncodeArgs(), true, room);
  };
  const double* const x = values(*view.from, view.source, view.source_first, x_room);
  const double* const y = values(*view.to, view.result, view.result_first, y_room);
  const LossParams& params = loss->params;
  if (params.wide && (AnyWide(x, n) || AnyWide(y, n))) {
    loss->AddExactly(view, 0, n, index);
    return;
  }
  const auto limits_from = [&](std::size_t i) { return PairLimits(params, y + i); };
  MeasureLanes(view, params, limits_from, x, y, n, index, loss);
}

LossView From(const LossView& view, std::uint64_t i) {
  LossView rest = view;
  rest.source_first += i;
  rest.result_first += i;
  return rest;
}

void Widen(const float* values, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = values[i];
}

using Ordinary32 = std::size_t (*)(const float* x, const float* y, std::size_t n,
                                   std::uint64_t index, const Float32Limits& limits, Ahead* ahead,
                                   LossStretch* stretch);

// As MeasureBlock, for the pairs of IsFloat32Loss and several blocks; whether sums were taken
// again.
bool MeasureBlocks32(const LossView& view, const Float32Limits& limits, Ordinary32 measure,
                     const float* x, const float* y, std::size_t n, std::uint64_t index,
                     Ahead ahead, LossState* loss) {
  constexpr unsigned kMostOthers = 2;  // one that is not ordinary is seldom alone
  unsigned others = index % kLossSums == 0 ? 0 : kMostOthers;
  bool summed_again = false;
  std::size_t i = 0;
  while (i < n) {
    const auto to_end = [&] {  // of the block
      return std::min(n - i, static_cast<std::size_t>(kBlock - (index + i) % kBlock));
    };
    const std::size_t room = (index + i) % kOrdinaryRun32 == 0 ? n - i : to_end();
    if (others < kMostOthers && room >= kOrdinaryRun32) {
      LossStretch stretch = loss->StretchFrom(index + i);
      const std::size_t done = measure(x + i, y + i, room, index + i, limits, &ahead, &stretch);
      if (done != 0) loss->AddStretch(stretch, x + i, y + i, done, view, i, index + i);
      i += done;
      summed_again = summed_again || stretch.summed_again;
      if (done == room) continue;
      ++others;
    }
    alignas(64) double x64[kOrdinaryRun32];
    alignas(64) double y64[kOrdinaryRun32];
    const std::size_t some = std::min(to_end(), kOrdinaryRun32);
    Widen(x + i, some, x64);
    Widen(y + i, some, y64);
    MeasureBlock(From(view, i), x64, y64, some, index + i, loss);
    i += some;
    if ((index + i) % kBlock == 0) others = 0;
  }
  return summed_again;
}

void RunMeasured32(const Bound& bound, const Job& job, BlockBuffers* buffers) {
  alignas(64) float x_room[kStretch];
  alignas(64) float y_room[kStretch];
  alignas(64) std::byte kept[kStretch * 4 + 8];
  const auto stage_of = [&bound](const TypeInfo& row) {
    return bound.kernels->decode_f32[static_cast<std::size_t>(detail::RowIndex(row.type))];
  };
  const Stage x_stage = stage_of(*bound.from), y_stage = stage_of(*bound.to);
  const bool lossless = detail::Contains(*bound.to, *bound.from);  // every result is its source
  const Float32Limits limits(*bound.from, *bound.to, job.loss->params, lossless);
  const Ordinary32 in_order =
      lossless ? &MeasureOrdinary32<true, false> : &MeasureOrdinary32<false, false>;
  const Ordinary32 in_any_order = limits.digits > 11 ? in_order
                                  : lossless         ? &MeasureOrdinary32<true, true>
                                                     : &MeasureOrdinary32<false, true>;
  constexpr unsigned kRest = 7;  // stretches like one whose sums needed their order
  unsigned ordered = 0;
  std::uint64_t i = 0;
  while (i < job.n) {
    const std::uint64_t index = job.loss_index + i;
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(job.n - i, kStretch - index % kBlock));
    const LossView view = MakeView(bound, job, i, n, kept);
    const bool stay = view.source != kept;  // the source is not overwritten
    const float *x = nullptr, *y = nullptr;
    for (std::size_t k = 0; k < n; k += kBlock) {
      const std::size_t some = std::min(n - k, kBlock);
      const std::byte* codes = SourceCodes(bound, job, i + k, some, buffers);
      // Where nothing is lost the results say what the sources are.
      const float* const sources =
          lossless ? nullptr : Values(x_stage, codes, some, bound.args, stay, x_room + k);
      const std::byte* results = CastMeasured(bound, job, codes, i + k, some, !stay, buffers);
      const float* const values = Values(y_stage, results, some, bound.args, true, y_room + k);
      if (k == 0) {
        x = lossless ? values : sources;
        y = values;
      }
    }
    if (MeasureBlocks32(view, limits, ordered != 0 ? in_order : in_any_order, x, y, n, index,
                        AheadOf(bound, job, i, kStretch), job.loss)) {
      ordered = kRest;
    } else if (ordered != 0) {
      --ordered;
    }
    i += n;
  }
}

void RunMeasured64(const Bound& bound, const Job& job, BlockBuffers* buffers) {
  alignas(64) double x_room[kBlock];
  alignas(64) double y_room[kBlock];
  alignas(64) std::byte kept[kBlock * 8 + 8];
  std::uint64_t i = 0;
  while (i < job.n) {
    const std::uint64_t index = job.loss_index + i;
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(job.n - i, kBlock - index % kBlock));
    const std::byte* codes = SourceCodes(bound, job, i, n, buffers);
    const LossView view = MakeView(bound, job, i, n, kept);
    const bool stay = view.source != kept;  // the source is not overwritten
    const double* const x = Values(bound.source_value, codes, n, bound.args, stay, x_room);
    const std::byte* results = CastMeasured(bound, job, codes, i, n, !stay, buffers);
    AheadOf(bound, job, i, kBlock).AskForAll();
    const double* const y = Values(bound.result_value, results, n, bound.args, true, y_room);
    MeasureBlock(view, x, y, n, index, job.loss);
    i += n;
  }
}

// Whole blocks of a source of at most eight bits, not in place.
void RunMeasuredCodes(const Bound& bound, const Job& job, const CodeLoss& table,
                      BlockBuffers* buffers) {
  alignas(64) std::uint8_t unpacked[kCodeStretch];
  CodeMeter meter(table, job.loss_index, job.loss);
  std::uint64_t i = 0;
  while (i < job.n) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(job.n - i, kCodeStretch));
    const std::byte* const codes = SourceCodes(bound, job, i, 0, buffers);
    for (std::size_t k = 0; k < n; k += kBlock) {
      const std::byte* const block = SourceCodes(bound, job, i + k, kBlock, buffers);
      CastMeasured(bound, job, block, i + k, kBlock, false, buffers);
      if (bound.unpack != nullptr) std::memcpy(unpacked + k, block, kBlock);
      AheadOf(bound, job, i + k, kBlock).AskForAll();
    }
    const LossView view = {bound.from,           bound.to,        job.source,
                           job.source_first + i, job.destination, job.destination_first + i};
    meter.Add(bound.unpack != nullptr ? unpacked : reinterpret_cast<const std::uint8_t*>(codes), n,
              view, job.loss_index + i);
    i += n;
  }
}

// How many elements of a source of at most eight bits have their codes counted, at least: a table
// is read before it is of use. Where nothing is lost lanes have squares alone to sum, which is
// quicker than to count one by one, as is done with what brings news and without byte permutations.
constexpr std::uint64_t kLeastCodes = 4 * kBlock;
constexpr std::uint64_t kLeastCodesLossless =
    HWY_TARGET == HWY_AVX3_DL ? 256 * kBlock : ~std::uint64_t{0};

void RunMeasured(const Bound& bound, const Job& job, BlockBuffers* buffers) {
  const auto run = [&](std::uint64_t first, std::uint64_t n, const CodeLoss* table) {
    if (n == 0) return;
    Job part = job;
    part.source_first += first;
    part.destination_first += first;
    part.loss_index += first;
    part.n = n;
    if (table != nullptr) {
      RunMeasuredCodes(bound, part, *table, buffers);
    } else if (IsFloat32Loss(*bound.from, *bound.to)) {
      RunMeasured32(bound, part, buffers);
    } else {
      RunMeasured64(bound, part, buffers);
    }
  };
  const std::uint64_t head = (kBlock - job.loss_index % kBlock) % kBlock;
  const CodeLoss* table = nullptr;
  const std::uint64_t least =
      detail::Contains(*bound.to, *bound.from) ? kLeastCodesLossless : kLeastCodes;
  if (job.n >= head && job.n - head >= least && !IsInPlace(bound, job)) {
    table = FindCodeLoss(*bound.from, *bound.to, job.loss->options);
  }
  if (table == nullptr) {
    run(0, job.n, nullptr);
    return;
  }
  const std::uint64_t blocks = (job.n - head) / kBlock * kBlock;
  run(0, head, nullptr);
  run(head, blocks, table);
  run(head + blocks, job.n - head - blocks, nullptr);
}

// Codes that do not change and begin at a byte's beginning on both sides: bytes are moved, and the
// last packed elements, which may share a byte with others, go alone.
bool CopyCodes(const Bound& bound, const Job& job) {
  const auto bits = static_cast<std::uint64_t>(bound.from->bits);
  if (bound.first != nullptr || job.source_first * bits % 8 != 0 ||
      job.destination_first * bits % 8 != 0) {
    return false;
  }
  const std::uint64_t whole = bound.pack == nullptr ? job.n : job.n / kWholeBytes * kWholeBytes;
  std::memmove(job.destination + job.destination_first * bits / 8,
               job.source + job.source_first * bits / 8, whole * bits / 8);
  for (std::uint64_t i = whole; i < job.n; ++i) {
    detail::StoreCode(job.destination, job.destination_first + i, bound.to->bits,
                      detail::LoadCode(job.source, job.source_first + i, bound.from->bits));
  }
  return true;
}

// Blocks of what a direct stage writes, which go to memory past the caches: short ones, so that the
// next block is read while one is on its way.
constexpr std::size_t kStreamedBytes = 512;

// Casts by the direct stage from `in` to `out`, n elements. A result that no cache holds is written
// by stores that do not read what they overwrite: first into a block that stays in the first cache.
void RunStreamed(const Bound& bound, const std::byte* in, std::byte* out, std::uint64_t n) {
  const D8 d;
  const auto in_bits = static_cast<std::uint64_t>(bound.from->bits);
  const auto out_bits = static_cast<std::uint64_t>(bound.to->bits);
  const auto run = [&](std::uint64_t elements, std::byte* to) {
    bound.direct(in, to, static_cast<std::size_t>(elements), bound.args);
    in += elements * in_bits / 8;
    n -= elements;
  };
  // Elements up to the first whole line; where no element begins there, the lines are not aligned
  // and nothing is streamed.
  const std::uint64_t head_bytes = (64 - reinterpret_cast<std::uintptr_t>(out) % 64) % 64;
  const std::uint64_t head = head_bytes * 8 / out_bits;
  if (head * out_bits != head_bytes * 8 || head * in_bits % 8 != 0 || head > n) {
    run(n, out);
    return;
  }
  if (head != 0) run(head, out);
  out += head_bytes;
  alignas(64) std::byte block[kStreamedBytes];
  // Whole steps of every target, 64 elements at most; of 6 bits they are three quarters of a block.
  const std::uint64_t elements = kStreamedBytes * 8 / std::bit_ceil(out_bits);
  const std::uint64_t bytes = elements * out_bits / 8;
  while (n >= elements) {
    run(elements, block);
    for (std::size_t i = 0; i < bytes; i += hn::Lanes(d)) {
      const auto line = hn::Load(d, reinterpret_cast<const std::uint8_t*>(block) + i);
      hn::Stream(line, d, reinterpret_cast<std::uint8_t*>(out) + i);
    }
    out += bytes;
  }
  hwy::FlushStream();
  if (n != 0) run(n, out);
}

// Elements [0, n) through the stages, a block at a time.
HWY_NOINLINE void RunStaged(const Bound& bound, const Job& job, std::uint64_t end) {
  BlockBuffers buffers;
  for (std::uint64_t i = 0; i < end; i += kBlock) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(end - i, kBlock));
    CastBlock(bound, job, SourceCodes(bound, job, i, n, &buffers), i, n, &buffers);
  }
}

Target Run(const Bound& bound, const CastOptions&, const Job& job) {
  if (job.loss != nullptr) {
    BlockBuffers buffers;
    RunMeasured(bound, job, &buffers);
    return kThisTarget;
  }
  const std::uint64_t staged = ElementsBeforeDirect(bound, job);
  if (staged != 0) {
    if (CopyCodes(bound, job)) return kThisTarget;
    RunStaged(bound, job, staged);
  }
  if (staged != job.n) {
    const auto offset = [staged](std::uint64_t first, const TypeInfo& row) {
      return (first + staged) * static_cast<std::uint64_t>(row.bits) / 8;
    };
    const std::byte* const in = job.source + offset(job.source_first, *bound.from);
    std::byte* const out = job.destination + offset(job.destination_first, *bound.to);
    if (job.streams) {
      RunStreamed(bound, in, out, job.n - staged);
    } else {
      bound.direct(in, out, static_cast<std::size_t>(job.n - staged), bound.args);
    }
  }
  return kThisTarget;
}

}  // namespace

const Kernels* TargetKernels() {
  static const Kernels kernels = [] {
    Kernels filled = {};
    filled.target = kThisTarget;
    filled.run = &Run;
    filled.measure_scaled = &MeasureScaledBlock;
    filled.measure_pair = &MeasurePairBlock;
    FillDecodeStages(&filled);
    FillEncodeStages(&filled);
    FillDirectStages(&filled);
    FillIntegerStages(&filled);
    FillPackingStages(&filled);
    FillTableStages(&filled);
    return filled;
  }();
  return &kernels;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace tensorcast::core {
template <> const Kernels* KernelsOf<HWY_TARGET>() { return HWY_NAMESPACE::TargetKernels(); }
}  // namespace tensorcast::core
#endif  // HWY_TARGET != HWY_SCALAR

#if HWY_ONCE
namespace tensorcast::core {

namespace {

struct Found {
  const Kernels* list[std::size(detail::kTargetTable)] = {};
  std::size_t size = 0;
};

template <std::size_t kBit> void AddWhereItRuns(std::int64_t supported, Found* found) {
  constexpr std::int64_t kHighway = std::int64_t{1} << kBit;
  if constexpr ((HWY_TARGETS & ~HWY_SCALAR & kHighway) != 0) {
    if ((supported & kHighway) != 0) found->list[found->size++] = KernelsOf<kHighway>();
  }
}

}  // namespace

std::span<const Kernels* const> AllKernels() {
  static const Found all = []<std::size_t... kBit>(std::index_sequence<kBit...>) {
    Found found;
    const std::int64_t supported = SupportedTargets();
    (AddWhereItRuns<kBit>(supported, &found), ...);
    found.list[found.size++] = ScalarKernels();
    return found;
  }
  (std::make_index_sequence<63>());
  return {all.list, all.size};
}

const Kernels* FindKernels(Target target) {
  const auto all = AllKernels();
  if (target == Target::kBest) return all.front();
  for (const Kernels* kernels : all) {
    if (kernels->target == target) return kernels;
  }
  return nullptr;
}

}  // namespace tensorcast::core
#endif  // HWY_ONCE
