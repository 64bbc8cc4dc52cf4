// Sums the tensors by the kinds that they belong to, and then tries every set of kinds.
//
// SPDX-License-Identifier: Apache-2.0
#include "report/keep_advice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "naming/keep.h"
#include "tensorcast/report.hpp"

namespace tensorcast::report {
namespace {

constexpr double kMostShare = 0.02;
constexpr double kLeastGain = 1;  // dB for each kind
// The kinds that name and shape tell; what is packed is not cast.
constexpr auto kKinds = static_cast<std::size_t>(convert::Keep::kPacked);
constexpr std::size_t kSets = std::size_t{1} << kKinds;

// One bit for each kind, in their order.
unsigned KindsOf(const formats::TensorInfo& info) {
  unsigned kinds = 0;
  for (std::size_t k = 0; k < kKinds; ++k) {
    if (naming::KeptBy(convert::Keeps().subspan(k, 1), info.name, info.shape)) kinds |= 1u << k;
  }
  return kinds;
}

// The tensors that belong to the same kinds.
struct KindGroup {
  std::size_t tensors = 0;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
  double worst = std::numeric_limits<double>::infinity();
};

}  // namespace

std::optional<KeepAdvice> AdviseKeeping(std::size_t tensors,
                                        const std::function<CastFigures(std::size_t)>& at,
                                        std::uint64_t bytes) {
  std::array<KindGroup, kSets> groups;  // by the kinds
  for (std::size_t i = 0; i < tensors; ++i) {
    const CastFigures one = at(i);
    KindGroup& group = groups[one.may_be_kept ? KindsOf(*one.info) : 0];
    ++group.tensors;
    group.bytes_before += one.info->bytes;
    group.bytes_after += one.bytes;
    group.worst = std::min(group.worst, one.decibel);
  }
  const double worst_before = std::ranges::min_element(groups, {}, &KindGroup::worst)->worst;
  if (worst_before >= kPoorDecibel) return std::nullopt;
  std::optional<KeepAdvice> best;
  double best_score = 0;
  for (unsigned set = 1; set < kSets; ++set) {
    KindGroup kept, cast;
    for (unsigned kinds = 0; kinds < kSets; ++kinds) {
      KindGroup& side = (kinds & set) != 0 ? kept : cast;
      side.tensors += groups[kinds].tensors;
      side.bytes_before += groups[kinds].bytes_before;
      side.bytes_after += groups[kinds].bytes_after;
      side.worst = std::min(side.worst, groups[kinds].worst);
    }
    if (kept.tensors == 0 || cast.tensors == 0 || kept.bytes_before < kept.bytes_after) continue;
    const std::uint64_t more = kept.bytes_before - kept.bytes_after;
    const double share = static_cast<double>(more) / static_cast<double>(bytes);
    const double cost = kLeastGain * std::popcount(set);
    if (!(share <= kMostShare) || !(cast.worst >= worst_before + cost)) continue;
    if (cast.worst == worst_before) continue;  // both are -Inf
    const double score = cast.worst - cost;
    if (best && (score < best_score || (score == best_score && more >= best->more_bytes))) continue;
    best_score = score;
    best = KeepAdvice{{}, kept.tensors, more, share, worst_before, cast.worst};
    for (std::size_t k = 0; k < kKinds; ++k) {
      if ((set >> k & 1) != 0) best->keep.push_back(convert::Keeps()[k]);
    }
  }
  return best;
}

}  // namespace tensorcast::report
