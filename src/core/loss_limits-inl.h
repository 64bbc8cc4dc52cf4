// The limits that sources and results are held against where loss is measured. Included once per
// target, by loss-inl.h.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LOSS_LIMITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LOSS_LIMITS_INL_H_
#undef TENSORCAST_SRC_CORE_LOSS_LIMITS_INL_H_
#else
#define TENSORCAST_SRC_CORE_LOSS_LIMITS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/lanes-inl.h"
#include "core/loss.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// Elements that are taken for ordinary together.
inline constexpr std::size_t kOrdinaryRun = 128;
static_assert(kOrdinaryRun % kLossSums == 0 && kLossBlock % kOrdinaryRun == 0);

// The limits of a stretch: the same for all its elements, or those of each one's cell. Elements
// [first, end) are every kLossSums-th vector, of one run (kOrdinaryRun) where limits ask about
// some.
struct UniformLimits {
  // What a cast gives of an ordinary element: zero of zero, nothing larger.
  static constexpr bool kOfCasts = true;
  explicit UniformLimits(const LossParams& params)
      : high(hn::Set(DF64(), params.beyond_high)),
        low(hn::Set(DF64(), params.beyond_low)),
        least(hn::Set(DF64(), params.least_normal)) {}
  explicit UniformLimits(const CellLimits& cell)
      : high(hn::Set(DF64(), cell.up)),
        low(hn::Set(DF64(), -cell.down)),
        least(hn::Set(DF64(), cell.least_normal)) {}
  // What is called before elements are held against their limits one by one.
  HWY_INLINE void Prepare(std::size_t, std::size_t) const {}
  template <class V> HWY_INLINE auto Beyond(V x, std::size_t) const {
    return hn::Or(hn::Ge(x, high), hn::Le(x, low));
  }
  HWY_INLINE auto LeastNormal(std::size_t) const { return least; }
  // Calls visit(i, end, limits) for parts of the elements, with the limits of each.
  template <class Visit>
  HWY_INLINE void ForEachPart(std::size_t first, std::size_t end, const Visit& visit) const {
    visit(first, end, *this);
  }
  // By the smallest magnitude, whether any is below the least normal one.
  template <class V> HWY_INLINE bool MayBeLow(V smallest, std::size_t) const {
    return !hn::AllFalse(DF64(), hn::Lt(smallest, least));
  }
  // By the largest and the smallest, whether any is beyond its limit.
  template <class V>
  HWY_INLINE bool AnyBeyond(V largest, V smallest, const double*, std::size_t, std::size_t) const {
    return !hn::AllFalse(DF64(), hn::Or(hn::Ge(largest, high), hn::Le(smallest, low)));
  }

  hn::Vec<DF64> high, low, least;
};

// Of each run the closest limits are known, which mostly answer for all its elements; where they do
// not, elements are held against those of their cells. These are written out for each element where
// one has to be asked by itself.
class OwnLimits {
 public:
  static constexpr bool kOfCasts = true;

  // Of n elements of a view from the head-th on, a block at most.
  OwnLimits(const ScaledResults& results, std::size_t head, std::size_t n)
      : head_(head), of_quotients_(results.of_quotients) {
    const ScaledResults::Cell* cells = results.cells;
    for (std::size_t first = 0; first < n; first += kOrdinaryRun) {
      const std::size_t end = std::min(n, first + kOrdinaryRun);
      while (cells->end <= head + first) ++cells;
      Run& run = runs_[first / kOrdinaryRun];
      run = {.first = first, .end = end, .cells = cells, .closest = {}};
      Closest closest(cells->limits);
      for (; cells->end < head + end; ++cells) {
        each_ = each_ || (cells->end - head) % kLossSums != 0;
        closest.Take(cells[1].limits);
      }
      run.closest = closest.limits();
    }
  }

  void Prepare(std::size_t first, std::size_t end) {
    const std::size_t last = (end - 1) / kOrdinaryRun;
    for (std::size_t run = first / kOrdinaryRun; run <= last; ++run) WriteOut(runs_[run]);
  }
  template <class V> HWY_INLINE auto Beyond(V x, std::size_t i) const {
    return hn::Or(hn::Ge(x, Limit(up_, i)), hn::Le(x, Limit(low_, i)));
  }
  HWY_INLINE auto LeastNormal(std::size_t i) const { return Limit(least_, i); }
  template <class V> HWY_INLINE bool MayBeLow(V smallest, std::size_t first) const {
    const DF64 d;
    const CellLimits& closest = runs_[first / kOrdinaryRun].closest;
    return !of_quotients_ || !hn::AllTrue(d, hn::Ge(smallest, hn::Set(d, closest.least_normal)));
  }
  template <class V>
  HWY_INLINE bool AnyBeyond(V largest, V smallest, const double* x, std::size_t first,
                            std::size_t end) {
    const DF64 d;
    const CellLimits& closest = runs_[first / kOrdinaryRun].closest;
    if (HWY_LIKELY(hn::AllTrue(d, hn::And(hn::Lt(largest, hn::Set(d, closest.up)),
                                          hn::Gt(smallest, hn::Set(d, -closest.down)))))) {
      return false;
    }
    auto beyond = hn::Zero(d);
    ForEachPart(first, end,
                [&](std::size_t i, std::size_t part_end, const auto& limits) TENSORCAST_INLINED {
                  for (; i < part_end; i += kLossSums) {
                    const auto is_beyond = limits.Beyond(hn::LoadU(d, x + i), i);
                    beyond = hn::Or(beyond, hn::VecFromMask(d, is_beyond));
                  }
                });
    const hn::RebindToSigned<DF64> di;
    return !hn::AllFalse(di, hn::Lt(hn::BitCast(di, beyond), hn::Zero(di)));
  }
  template <class Visit>
  HWY_INLINE void ForEachPart(std::size_t first, std::size_t end, const Visit& visit) {
    if (HWY_UNLIKELY(each_)) {
      Prepare(first, end);
      return visit(first, end, *this);
    }
    const ScaledResults::Cell* cell = runs_[first / kOrdinaryRun].cells;
    for (std::size_t i = first; i < end; ++cell) {
      const std::size_t part_end = std::min(end, cell->end - head_);
      visit(i, part_end, UniformLimits(cell->limits));
      i += (part_end - i + kLossSums - 1) / kLossSums * kLossSums;
    }
  }

 private:
  struct Run {
    std::size_t first, end;
    const ScaledResults::Cell* cells;  // from that of the first element on
    CellLimits closest;                // of all of them
    bool is_written_out = false;
  };

  // The closest of some limits, as bits of positive numbers: which of two is closer is no branch. A
  // NaN, of an odd scale, is more than any number: nothing is beyond it, and all may be low.
  class Closest {
   public:
    explicit Closest(const CellLimits& of)
        : up_(Bits(of.up)), down_(Bits(of.down)), least_normal_(Bits(of.least_normal)) {}
    void Take(const CellLimits& of) {
      up_ = std::min(up_, Bits(of.up));
      down_ = std::min(down_, Bits(of.down));
      least_normal_ = std::max(least_normal_, Bits(of.least_normal));
    }
    CellLimits limits() const {
      const auto number = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
      return {number(up_), number(down_), number(least_normal_)};
    }

   private:
    static std::uint64_t Bits(double limit) {
      return std::bit_cast<std::uint64_t>(std::fabs(limit));
    }

    std::uint64_t up_, down_, least_normal_;
  };

  HWY_INLINE hn::Vec<DF64> Limit(const double* limits, std::size_t i) const {
    return each_ ? hn::LoadU(DF64(), limits + i) : hn::Set(DF64(), limits[i / kLossSums]);
  }

  void WriteOut(Run& run) {
    if (std::exchange(run.is_written_out, true)) return;
    const std::size_t step = each_ ? 1 : kLossSums;
    const ScaledResults::Cell* cell = run.cells;
    for (std::size_t i = run.first; i < run.end; ++cell) {
      const std::size_t end = std::min(run.end, cell->end - head_);
      for (; i < end; i += step) {
        up_[i / step] = cell->limits.up;
        low_[i / step] = -cell->limits.down;
        least_[i / step] = cell->limits.least_normal;
      }
    }
  }

  const std::size_t head_;
  const bool of_quotients_;
  bool each_ = false;  // whether a cell ends among elements that are of different sums
  Run runs_[kLossBlock / kOrdinaryRun];
  // Of each element, or of kLossSums that are of one cell.
  alignas(64) double up_[kLossBlock], low_[kLossBlock], least_[kLossBlock];
};

// Of results that no cast made: what is beyond a limit depends on both.
struct PairLimits {
  static constexpr bool kOfCasts = false;
  PairLimits(const LossParams& params, const double* results)
      : range(params),
        end_high(hn::Set(DF64(), params.end_high)),
        end_low(hn::Set(DF64(), params.end_low)),
        beyond_all(hn::Set(DF64(), params.beyond_all)),
        y(results) {}
  template <class V> HWY_INLINE auto Beyond(V x, std::size_t i) const {
    const auto result = hn::LoadU(DF64(), y + i);
    const auto high = hn::And(hn::Ge(x, range.high), hn::Eq(result, end_high));
    const auto low = hn::And(hn::Le(x, range.low), hn::Eq(result, end_low));
    return hn::Or(hn::Eq(hn::Abs(x), beyond_all), hn::Or(high, low));
  }
  HWY_INLINE void Prepare(std::size_t, std::size_t) const {}
  HWY_INLINE auto LeastNormal(std::size_t i) const { return range.LeastNormal(i); }

  UniformLimits range;
  hn::Vec<DF64> end_high, end_low, beyond_all;
  const double* y;
};

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_LOSS_LIMITS_INL_H_
