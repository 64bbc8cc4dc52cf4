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
#include <iterator>
#include <string_view>
#include <utility>

#include "core/addresses.h"
#include "core/block_runs-inl.h"
#include "core/half_ranges-inl.h"
#include "core/measured_runs-inl.h"
#include "core/scaled_blocks-inl.h"
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

// Codes that do not change and begin at a byte's beginning on both sides: bytes are moved, and the
// last packed elements, which may share a byte with others, go alone.
bool CopyCodes(const Bound& bound, const Job& job) {
  const auto bits = static_cast<std::uint64_t>(bound.from->bits);
  if (bound.first != nullptr || job.source_first * bits % 8 != 0 ||
      job.destination_first * bits % 8 != 0) {
    return false;
  }
  const std::uint64_t whole = bound.pack == nullptr ? job.n : job.n / kWholeBytes * kWholeBytes;
  MoveBytes(job.destination + job.destination_first * bits / 8,
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
// What reads more than it writes gains by it where blocks are filled fastest.
bool StreamingPays(const Bound& bound) {
  return bound.to->bits >= bound.from->bits || TENSORCAST_AVX512;
}

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
  // Whole steps of every target, 256 elements at most; of 6 bits they are three quarters of a
  // block.
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
    if (job.streams && StreamingPays(bound)) {
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
    if constexpr (kMeasuresCodes) filled.measure_scaled_codes = &MeasureScaledCodes;
    filled.measure_pair = &MeasurePairBlock;
    filled.range_of_halves = &RangeOfHalves;
    FillDecodeStages(&filled);
    FillEncodeStages(&filled);
    FillDirectStages(&filled);
    FillIntegerStages(&filled);
    FillPackingStages(&filled);
    FillTableStages(&filled);
    FillBfloat16Stages(&filled);
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
