// Runs whose loss is measured, a stretch at a time: which lanes measure what, by the pair and the
// range of the elements. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_MEASURED_RUNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_MEASURED_RUNS_INL_H_
#undef TENSORCAST_SRC_CORE_MEASURED_RUNS_INL_H_
#else
#define TENSORCAST_SRC_CORE_MEASURED_RUNS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/block_runs-inl.h"
#include "core/code_loss-inl.h"
#include "core/loss-inl.h"
#include "core/loss_blocks-inl.h"
#include "core/measured_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

namespace {

// Casts a block by the direct stage, where it can; gives where its results stand, else null.
std::byte* CastDirectly(const Bound& bound, const Job& job, const std::byte* codes, std::uint64_t i,
                        std::size_t n, bool in_place) {
  const std::uint64_t first_bit =
      (job.destination_first + i) * static_cast<std::uint64_t>(bound.to->bits);
  if (bound.direct == nullptr || bound.unpack != nullptr || in_place || first_bit % 8 != 0) {
    return nullptr;
  }
  std::byte* const results = job.destination + first_bit / 8;
  bound.direct(codes, results, n, bound.args);
  return results;
}

// As CastBlock, for a block that is measured: packed results of the direct stage are read again.
const std::byte* CastMeasured(const Bound& bound, const Job& job, const std::byte* codes,
                              std::uint64_t i, std::size_t n, bool in_place,
                              BlockBuffers* buffers) {
  const std::byte* const results = CastDirectly(bound, job, codes, i, n, in_place);
  if (results == nullptr) return CastBlock(bound, job, codes, i, n, buffers);
  return CodesAt(*bound.to, results, 0, n, buffers->result_codes);
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

LossView From(const LossView& view, std::uint64_t i) {
  LossView rest = view;
  rest.source_first += i;
  rest.result_first += i;
  return rest;
}

void Widen(const float* values, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = values[i];
}

// Elements that are widened at a time.
constexpr std::size_t kOtherRun = 256;

// As MeasureBlock, of elements that may be any: whole blocks, or part of one.
void MeasureOther(const LossView& view, const float* x, const float* y, std::size_t n,
                  std::uint64_t index, LossState* loss) {
  alignas(64) double x64[kOtherRun];
  alignas(64) double y64[kOtherRun];
  for (std::size_t i = 0; i < n; i += kOtherRun) {
    const std::size_t some = std::min(n - i, kOtherRun);
    Widen(x + i, some, x64);
    Widen(y + i, some, y64);
    MeasureBlock(From(view, i), x64, y64, some, index + i, loss);
  }
}

void MeasureOther(const LossView& view, const double* x, const double* y, std::size_t n,
                  std::uint64_t index, LossState* loss) {
  for (std::size_t i = 0; i < n; i += kBlock) {
    MeasureBlock(From(view, i), x + i, y + i, std::min(n - i, kBlock), index + i, loss);
  }
}

// Runs whose sources and results are of a type: float for the pairs of IsFloat32Loss, else double.
template <class Value> class MeasuredRun {
 public:
  MeasuredRun(const Bound& bound, const Job& job, BlockBuffers* buffers)
      : bound_(bound),
        job_(job),
        buffers_(buffers),
        x_stage_(kFloat32 ? Float32Stage(*bound.from) : bound.source_value),
        y_stage_(kFloat32 ? Float32Stage(*bound.to) : bound.result_value),
        x_standing_(SubtractsIntegers(*bound.from, *bound.to) ? Standing::kInt64
                                                              : StandingOf(*bound.from)),
        y_standing_(StandingOf(*bound.to)),
        pair_(*bound.from, *bound.to, job.loss->params),
        source_codes_(*bound.from),
        result_codes_(*bound.to),
        few_(IsFew(job.loss->elements - job.loss->counts[static_cast<std::size_t>(Loss::kExact)],
                   job.loss->elements)) {}

  void Run() {
    for (std::uint64_t i = 0; i < job_.n;) {
      const std::uint64_t left = job_.n - i, in_block = (job_.loss_index + i) % kBlock;
      const bool whole = in_block == 0 && left >= kBlock;
      const auto n = static_cast<std::size_t>(
          whole ? std::min<std::uint64_t>(left / kBlock, kStretchBlocks) * kBlock
                : std::min(left, kBlock - in_block));
      RunStretch(i, n, whole && has_lanes_);
      i += n;
    }
  }

 private:
  static constexpr bool kFloat32 = std::is_same_v<Value, float>;

  // How a type's numbers are loaded: floating ones from their codes.
  enum class Standing { kInt64, kFloat64, kFloat32, kBfloat16, kFloat16, kOther };
  using AsValues = std::conditional_t<kFloat32, AsFloat32, AsFloat64>;
  static constexpr Standing kAsValues = kFloat32 ? Standing::kFloat32 : Standing::kFloat64;
  static Standing StandingOf(const TypeInfo& row) {
    switch (row.type) {
      case DataType::kFloat64: return Standing::kFloat64;
      case DataType::kFloat32: return kFloat32 ? Standing::kFloat32 : Standing::kOther;
      case DataType::kBfloat16: return kFloat32 ? Standing::kBfloat16 : Standing::kOther;
      case DataType::kFloat16:
        return kFloat32 && kConvertsHalves ? Standing::kFloat16 : Standing::kOther;
      default: return Standing::kOther;
    }
  }

  // Elements that are measured together: the tensor's from `index` on, `view`'s from its first.
  struct Stretch {
    LossView view;
    std::uint64_t index;
    std::size_t n;
    const std::byte *x_codes, *y_codes;  // one a carrier
    std::size_t at;                      // where their values stand in the rooms
  };

  Stage Float32Stage(const TypeInfo& row) const {
    return bound_.kernels->decode_f32[static_cast<std::size_t>(detail::RowIndex(row.type))];
  }
  static std::size_t CarrierOf(const TypeInfo& row) {
    return std::max<std::size_t>(static_cast<std::size_t>(row.bits) / 8, 1);
  }

  // Elements [i, i + n): whole blocks, or part of one.
  void RunStretch(std::uint64_t i, std::size_t n, bool whole) {
    const LossView view = MakeView(bound_, job_, i, n, kept_);
    const bool in_place = view.source == kept_;
    for (std::size_t k = 0; k < n; k += kBlock) {
      const std::size_t some = std::min(n - k, kBlock);
      const std::byte* const codes = SourceCodes(bound_, job_, i + k, some, buffers_);
      if (bound_.unpack != nullptr) std::memcpy(unpacked_ + k, codes, some);
      const std::byte* const results =
          CastMeasured(bound_, job_, codes, i + k, some, in_place, buffers_);
      if (bound_.pack != nullptr) std::memcpy(to_pack_ + k, results, some);
    }
    const auto codes_of = [](const std::byte* side, std::uint64_t first, const TypeInfo& row) {
      return side + first * BytesOf(row);
    };
    const Stretch stretch = {
        view,
        job_.loss_index + i,
        n,
        bound_.unpack != nullptr ? unpacked_ : codes_of(view.source, view.source_first, *view.from),
        bound_.pack != nullptr ? to_pack_ : codes_of(view.result, view.result_first, *view.to),
        0};
    Ahead ahead = AheadOf(bound_, job_, i, kStretch);
    if (whole && others_ == 0) {
      const bool any = Measure(stretch, &ahead);
      if (!any) others_ = rest_;
      rest_ = any ? kLeastRest : std::min(2 * rest_, kMostRest);
    } else {
      MeasureOther(view, Sources(stretch), Results(stretch), n, stretch.index, job_.loss);
      if (others_ != 0) --others_;
    }
    ahead.AskForAll<Value>();
  }

  // Places in a room, which has doubles or float32 by turns.
  template <class T> static T* In(std::byte* room, std::size_t at) {
    return reinterpret_cast<T*>(room) + at;
  }
  const Value* Sources(const Stretch& stretch) {
    return Values(x_stage_, stretch.x_codes, stretch.n, bound_.args, true,
                  In<Value>(x_room_, stretch.at));
  }
  const Value* Results(const Stretch& stretch) {
    return Values(y_stage_, stretch.y_codes, stretch.n, bound_.args, true,
                  In<Value>(y_room_, stretch.at));
  }

  static const std::byte* Bytes(const Value* values) {
    return reinterpret_cast<const std::byte*>(values);
  }
  // Calls with how sources or results stand and with their codes, or else their values.
  template <class MakeValues, class Work>
  static auto WithCodes(Standing standing, const std::byte* codes, const MakeValues& values,
                        const Work& work) {
    if constexpr (kFloat32) {
      if (standing == Standing::kBfloat16) return work(AsBfloat16(), codes);
      if (standing == Standing::kFloat16) return work(AsFloat16(), codes);
    }
    return work(AsValues(), standing == kAsValues ? codes : Bytes(values()));
  }
  template <class Work> auto WithSources(const Stretch& stretch, const Work& work) {
#if TENSORCAST_AVX512
    if constexpr (!kFloat32) {
      if (x_standing_ == Standing::kInt64) return work(AsInt64(), stretch.x_codes);
    }
#endif
    return WithCodes(
        x_standing_, stretch.x_codes, [&] { return Sources(stretch); }, work);
  }
  template <class Work> auto WithResults(const Stretch& stretch, const Work& work) {
    if constexpr (!kFloat32) {
      if (FitsFloat32(*bound_.to)) {
        const float* const y = Values(Float32Stage(*bound_.to), stretch.y_codes, stretch.n,
                                      bound_.args, true, In<float>(y_room_, stretch.at));
        return work(WidenedFloat32(), reinterpret_cast<const std::byte*>(y));
      }
    }
    return WithCodes(
        y_standing_, stretch.y_codes, [&] { return Results(stretch); }, work);
  }

  bool IsOrdinary(const Stretch& stretch, const FoundInBlocks& found, const StretchSums& squares) {
    if (!pair_.IsOrdinary(found.largest)) return false;
    if constexpr (!kFloat32) {  // the largest of numbers may not say that one is NaN
      for (std::size_t block = 0; block < stretch.n / kBlock; ++block) {
        if (!(FoldSums(squares.of[block]) <= std::numeric_limits<double>::max())) return false;
      }
    }
    return pair_.is_signed() ||
           !WithSources(stretch, [&]<class Source>(Source, const std::byte* x) {
             return HasNegative<Source>(x, stretch.n);
           });
  }

  // Whole blocks, as many as a stretch has at most; false where these lanes measured none of them.
  bool Measure(const Stretch& stretch, Ahead* ahead) {
    const std::size_t n = stretch.n;
    StretchSums squares, errors;
    LossStretch lost = job_.loss->StretchFrom(stretch.index);
    FoundInBlocks found;
    // A meter that was merged may know errors of another type's numbers.
    bool is_narrow = job_.loss->from == bound_.from->type &&
                     (kFloat32 ? pair_.is_narrow()
                               : bound_.from->is_integer() && job_.loss->amax < kEndOfNarrow);
    // Where nothing is lost the results say what the sources are.
    const bool by_results = pair_.loses_nothing() && x_standing_ != kAsValues &&
                            (y_standing_ == kAsValues || x_standing_ == Standing::kOther);
    const auto with_numbers = [&](const auto& work) {
      return by_results ? WithResults(stretch, work) : WithSources(stretch, work);
    };
    if (pair_.loses_nothing()) {
      found = with_numbers([&]<class Numbers>(Numbers, const std::byte* codes) {
        return SumSquares<Numbers>(codes, n, ahead, &squares);
      });
    } else {
      const Value filter = RelativeFilter(hn::ScalableTag<Value>(), lost.max_rel_error, is_narrow);
      found = WithSources(stretch, [&]<class Source>(Source, const std::byte* x) {
        const auto sum_with = [&]<class Result>(const Result& result, const std::byte* y) {
          constexpr bool kMayBeFew = !std::is_same_v<Result, AsFloat64>;
          const auto sum = kMayBeFew && few_ ? SumErrors<kMayBeFew, Source, Result>
                                             : SumErrors<false, Source, Result>;
          return sum(result, x, y, n, filter, ahead, &squares, &errors);
        };
        if constexpr (kFloat32 && kConvertsHalves) {
          if (ScalesToFloat16(*bound_.to)) {
            return sum_with(NarrowMagnitudes(*bound_.to), stretch.y_codes);
          }
        }
        return WithResults(stretch, [&]<class Result>(const Result& result, const std::byte* y) {
          // A 16-bit float that is cast to itself loses nothing: no lanes are made for it.
          if constexpr (std::is_same_v<Source, Result> && kIsHalf<Source>) {
            return FoundInBlocks();
          } else {
            return sum_with(result, y);
          }
        });
      });
      few_ = IsFew(found.inexact, n);
      if (!kFloat32 && is_narrow && found.largest >= kEndOfNarrow) {
        is_narrow = false;
        found.relative_may_grow = true;
      }
    }
    if (!IsOrdinary(stretch, found, squares)) return MeasureOthers(stretch, ahead);
    found.smallest = found.least != 0
                         ? found.least
                         : with_numbers([&]<class Numbers>(Numbers, const std::byte* codes) {
                             return SmallestNonzero<Numbers>(codes, n);
                           });
    CountFound(found, CountLow(stretch, found), n, &lost);
    // The filter may underflow where the numbers are very small.
    const bool is_tiny =
        found.inexact != 0 && (is_narrow || !kFused) && found.smallest < kTiny<Value>;
    if (found.relative_may_grow || is_tiny || found.error > lost.max_abs_error ||
        lost.max_rel_error < 0) {
      // Seldom, so that values do for codes, but where integers are subtracted.
      const std::byte* const y = Bytes(Results(stretch));
      const auto take = [&]<class Source>(Source, const std::byte* x) {
        TakeMaxima<Source, AsValues>(x, y, n, found.error, is_narrow, is_tiny, &lost);
      };
      if constexpr (kFloat32) {
        take(AsValues(), Bytes(Sources(stretch)));
      } else {
        WithSources(stretch, take);
      }
    }
    for (std::size_t block = 0; block < n / kBlock; ++block) {
      std::copy_n(squares.of[block], kLossSums, lost.squares);
      std::copy_n(errors.of[block], kLossSums, lost.errors);
      lost.EndBlock();
    }
    // Values are looked at for the examples of kinds alone: those of the maxima are known.
    const Value *x = nullptr, *y = nullptr;
    if (job_.loss->GivesKind(lost, stretch.index)) {
      x = Sources(stretch);
      y = Results(stretch);
    }
    job_.loss->AddStretch(lost, x, y, n, stretch.view, 0, stretch.index);
    return true;
  }

  // Each block by itself, and one that is not ordinary by other lanes.
  bool MeasureOthers(const Stretch& stretch, Ahead* ahead) {
    if (stretch.n == kBlock) {
      MeasureOther(stretch.view, Sources(stretch), Results(stretch), stretch.n, stretch.index,
                   job_.loss);
      return false;
    }
    bool any = false;
    for (std::size_t k = 0; k < stretch.n; k += kBlock) {
      const Stretch block = {From(stretch.view, k),
                             stretch.index + k,
                             kBlock,
                             stretch.x_codes + k * CarrierOf(*stretch.view.from),
                             stretch.y_codes + k * CarrierOf(*stretch.view.to),
                             k};
      any = Measure(block, ahead) || any;
    }
    return any;
  }

  LowCounts CountLow(const Stretch& stretch, const FoundInBlocks& found) const {
    LowCounts counts;
    if (!pair_.MayBeLow(found.least)) return counts;
    if (found.least == 0) {
      counts.source_zeros = source_codes_.Low(stretch.x_codes, stretch.n).zeros;
      if (bound_.to->is_fnuz()) {
        counts.lost_signs = source_codes_.MinusZeros(stretch.x_codes, stretch.n);
      }
    }
    if (pair_.loses_nothing() && !pair_.MayBeLow(found.smallest)) {
      counts.zeros = counts.low = counts.source_zeros;
      return counts;
    }
    const LowCodes low = result_codes_.Low(stretch.y_codes, stretch.n);
    counts.zeros = low.zeros;
    counts.low = bound_.to->is_float() ? low.low : low.zeros;
    return counts;
  }

  // Whether so few of n results differ from their sources that a branch is foretold.
  static bool IsFew(std::uint64_t inexact, std::uint64_t n) { return inexact <= n / 128; }
  // Integers whose relative errors are told apart by doubles with room to spare.
  static constexpr double kEndOfNarrow = 0x1p24;
  static constexpr unsigned kLeastRest = 7, kMostRest = 56;

  const Bound& bound_;
  const Job& job_;
  BlockBuffers* const buffers_;
  const Stage x_stage_, y_stage_;
  const Standing x_standing_, y_standing_;
  const OrdinaryPair pair_;
  const CodesOf source_codes_, result_codes_;
  // An error is no more than its source, and what a zero becomes is one.
  const bool has_lanes_ = bound_.to->has_zero && bound_.to->type_class != TypeClass::kBool;
  unsigned others_ = 0;  // stretches left, after one without an ordinary block, that go other ways
  unsigned rest_ = kLeastRest;  // how many they will be
  bool few_;                    // of the last stretch, or of what the meter knows
  alignas(64) std::byte x_room_[kStretch * sizeof(Value)];
  alignas(64) std::byte y_room_[kStretch * sizeof(Value)];
  alignas(64) std::byte unpacked_[kStretch];
  alignas(64) std::byte to_pack_[kStretch];
  alignas(64) std::byte kept_[kStretch * sizeof(Value) + 8];
};

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
      if (CastDirectly(bound, job, block, i + k, kBlock, false) == nullptr) {
        CastBlock(bound, job, block, i + k, kBlock, buffers);
      }
      if (bound.unpack != nullptr) std::memcpy(unpacked + k, block, kBlock);
      AheadOf(bound, job, i + k, kBlock).AskForAll<float>();
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
      MeasuredRun<float>(bound, part, buffers).Run();
    } else {
      MeasuredRun<double>(bound, part, buffers).Run();
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

}  // namespace
}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_MEASURED_RUNS_INL_H_
