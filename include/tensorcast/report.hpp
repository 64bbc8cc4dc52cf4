// What measured losses mean: a verdict on a tensor, the sum over many tensors, and limits that
// decide whether a conversion was good enough. The C++20 interface.
//
//   tensorcast::LossMeter meter(from, to);
//   ... plan.Run(..., {.loss = &meter}) ...
//   tensorcast::LossSum sum;
//   sum.Add("layers.0.weight", meter.Report());
//   auto limit = tensorcast::ParseLossLimit("to_zero=1%");
//   for (const auto& crossed : tensorcast::CrossedLimits({&*limit, 1}, sum)) ...
//
// docs/semantics.md, section 7, defines every count and figure. Nothing here throws except
// std::bad_alloc. This is part of libraries built with TENSORCAST_CONVERT.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_REPORT_HPP_
#define TENSORCAST_REPORT_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

// ------------------------------------------------------------------------------- verdicts

// How a tensor came through. The worst comes first.
enum class Verdict : std::uint8_t {
  kLost,  // values became NaN, Inf or a limit, wrapped, or a NaN became a number
  kPoor,  // the SNR is below kPoorDecibel, or more than kPoorZeroShare of the elements became zero
  kGood,
};
inline constexpr double kPoorDecibel = 20;
inline constexpr double kPoorZeroShare = 0.05;

// How many values make a verdict of kLost.
TENSORCAST_API std::uint64_t LostValues(const LossReport& loss);

TENSORCAST_API Verdict Judge(const LossReport& loss);

// The SNR to compare tensors by, in dB: that of the report, but -Inf if finite values became Inf or
// NaN, if no element could be compared, and if squares left double's range, so that it is unknown.
TENSORCAST_API double ComparableDecibel(const LossReport& loss);

// Why ComparableDecibel is -Inf although the report says otherwise, in a few words; empty if both
// are the same.
TENSORCAST_API std::string UnknownDecibelReason(const LossReport& loss);

// ----------------------------------------------------------------------------- of a file

// What tensors lost together.
struct LossSum {
  std::uint64_t elements = 0;
  std::uint64_t counts[kLossKinds] = {};
  // The tensor with the lowest ComparableDecibel (the first of several), and what it lost; none if
  // no tensor was added.
  std::optional<std::string> worst;
  LossReport worst_loss;
  // In the worst tensor of a comparison: values that are Inf or NaN on one side and something else
  // on the other. No SNR covers these, so if there are any it counts as below every limit.
  std::uint64_t worst_unlike = 0;

  TENSORCAST_API void Add(std::string_view tensor, const LossReport& loss,
                          std::uint64_t unlike = 0);
  std::uint64_t count(Loss loss) const { return counts[static_cast<std::size_t>(loss)]; }
};

// --------------------------------------------------------------------------------- limits

// A limit of what may be lost: the most that a total count (or its share of the elements) may be,
// or the least that the worst tensor's SNR may be.
struct LossLimit {
  std::optional<Loss> kind;  // none: snr
  double limit = 0;          // a count, a percentage of the elements, or dB
  bool is_percent = false;
};

// "snr" or the kind's name.
TENSORCAST_API std::string_view LimitName(const LossLimit& limit);
// Every name that ParseLossLimit takes.
TENSORCAST_API std::vector<std::string_view> LimitNames();

// Takes "to_limit=0", "to_zero=1%" or "snr=20". nullopt if `text` is not a limit; `problem`, if
// given, then says why, in one line in which `text` is escaped.
TENSORCAST_API std::optional<LossLimit> ParseLossLimit(std::string_view text,
                                                       std::string* problem = nullptr);

// A limit that was crossed, and by how much.
struct CrossedLimit {
  LossLimit limit;
  double value = 0;    // in the limit's unit; NaN: the worst tensor's SNR is unknown
  std::string tensor;  // for snr: the name of the worst tensor
  std::string reason;  // for snr: why a value of NaN counts as below any limit
};

// The limits that the tensors of `sum` crossed, in the order of `limits`.
TENSORCAST_API std::vector<CrossedLimit> CrossedLimits(std::span<const LossLimit> limits,
                                                       const LossSum& sum);

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_REPORT_HPP_
