// A row at a time, as doubles. A quotient of two numbers of at most 24 bits is never so near a tie
// of integers that the double nearest to it is one, unless it is one itself; of float64 it may be,
// and is looked at again.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/group_quantiser.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/failure.h"
#include "core/fp_environment.h"
#include "core/loss.h"
#include "core/round_to_odd.h"
#include "scale/cell_codes.h"
#include "scale/code_writer.h"
#include "scale/scale_search.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double Nearest(double x) { return (x + kToInteger) - kToInteger; }

// a / b of positive numbers rounded to odd; what is out of its range is scaled by a power of two
// that it has again afterwards, as far as a double does.
double Quotient(double a, double b) {
  if (a > 0x1p-800 && a < 0x1p800) return core::DivideToOdd(a, b);
  const double unit = a < 1 ? 0x1p300 : 0x1p-300;
  return core::DivideToOdd(a * unit, b) / unit;
}

// a - b of which b <= 0 <= a, rounded to odd: what is lost of the sum of two (Knuth).
double Difference(double a, double b) {
  const double sum = a - b;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (-b - part);
  return core::ToOdd(sum, error);
}

// The least and the largest of the finite values, at most 0 and at least 0.
void FindRange(const double* x, std::size_t n, double* least, double* most) {
  constexpr std::size_t kParts = 4;
  std::array<double, kParts> low{}, high{};
  const auto take = [&](std::size_t part, double value) {
    const double finite = std::fabs(value) < kInfinite ? value : 0;
    low[part] = finite < low[part] ? finite : low[part];
    high[part] = finite > high[part] ? finite : high[part];
  };
  std::size_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (std::size_t part = 0; part < kParts; ++part) take(part, x[i + part]);
  }
  for (; i < n; ++i) take(0, x[i]);
  *least = *std::ranges::min_element(low);
  *most = *std::ranges::max_element(high);
}

// What lanes take at once.
std::size_t RoundUpToSums(std::size_t n) {
  return (n + core::kLossSums - 1) / core::kLossSums * core::kLossSums;
}

// Whether x / scale is on a tie as a double, and above it or below it as a number: then what is to
// be added to the nearest integer of the double.
double TieError(double x, double scale, double quotient) {
  const double nearest = Nearest(quotient);
  if (std::fabs(quotient - nearest) != 0.5) return 0;
  const double product = quotient * scale;
  const double rest = (x - product) - core::ProductError(quotient, scale, product);
  if (rest == 0) return 0;
  const bool is_above = (rest > 0) == (scale > 0);
  return is_above && nearest < quotient ? 1 : !is_above && nearest > quotient ? -1 : 0;
}

void AppendLines(const CodeLines& more, CodeLines& lines) {
  if (lines.bytes.empty()) {
    lines = more;
    return;
  }
  lines.bytes.resize(lines.bytes.size() - kLinePadding);
  lines.bytes.insert(lines.bytes.end(), more.bytes.begin(), more.bytes.end());
}

}  // namespace

void MadeGroups::Append(const MadeGroups& more) {
  AppendLines(more.codes, codes);
  AppendLines(more.zeros, zeros);
  scales.insert(scales.end(), more.scales.begin(), more.scales.end());
  biases.insert(biases.end(), more.biases.begin(), more.biases.end());
}

GroupQuantiser::GroupQuantiser(DataType source, const GroupRule& rule, std::uint64_t columns,
                               std::uint64_t group, Target target)
    : source_(source),
      rule_(rule),
      columns_(columns),
      group_(group),
      groups_(columns / group + (columns % group != 0)),
      target_(target),
      add_(SquaredErrorsOf(target)) {
  const TypeInfo* const row = FindType(source);
  if (row == nullptr || !row->is_float() || !row->has_zero) {
    throw core::Failure(StatusCode::kInvalidType, "integers in groups are made of floats, not of " +
                                                      std::string(TypeName(source)));
  }
  CastOptions nearest;
  nearest.saturate = false;
  Require(CastPlan::Bind(source, DataType::kFloat64, {}, &value_of_source_, target));
  Require(CastPlan::Bind(DataType::kFloat64, rule.scale, nearest, &store_, target));
  Require(CastPlan::Bind(rule.scale, DataType::kFloat64, {}, &load_, target));
}

std::optional<double> GroupQuantiser::Stored(double number, bool is_scale) const {
  std::array<std::byte, sizeof(double)> bytes;
  double stored = 0;
  Require(store_.Run(std::as_bytes(std::span(&number, 1)), 0, bytes, 0, 1));
  Require(load_.Run(bytes, 0, std::as_writable_bytes(std::span(&stored, 1)), 0, 1));
  if (!std::isfinite(stored)) return std::nullopt;
  const double least = detail::LimitsOf(*FindType(rule_.scale)).least_normal;
  if (is_scale && std::fabs(stored) < least) return std::signbit(number) ? -least : least;
  return stored;
}

std::optional<GroupNumbersMade> GroupQuantiser::NumbersOf(const double* x, std::size_t n,
                                                          SearchedErrors* gained) const {
  std::optional<GroupNumbersMade> made = PlainNumbersOf(x, n);
  if (made && IsSearch(rule_.rule) && LargestFinite(x, n, 0) > 0) {
    made = BestNumbersOf(x, n, *made, gained);
  }
  return made;
}

// A plain scale is always tried; MLX's may be subnormal, and its codes are made before it is
// rounded. Symmetric codes reach further down than up, and under a negative scale the other way
// round.
GroupNumbersMade GroupQuantiser::BestNumbersOf(const double* x, std::size_t n,
                                               const GroupNumbersMade& plain,
                                               SearchedErrors* gained) const {
  std::vector<double> finite(RoundUpToSums(n));
  std::transform(x, x + n, finite.begin(), [](double one) { return std::isfinite(one) ? one : 0; });
  double least = kInfinite, of_plain = kInfinite;
  GroupNumbersMade best = plain;
  const auto consider = [&](const GroupNumbersMade& tried) {
    const double error = ErrorOf(x, finite.data(), n, tried);
    if (error < least) {
      least = error;
      best = tried;
    }
    return error;
  };
  // Four bits gain by the sign, and eight by smaller steps.
  const bool is_fine = rule_.rule == ScaleRule::kMseFine, has_few_codes = rule_.bits <= 4;
  const bool is_signed = is_fine && has_few_codes && !rule_.is_asymmetric;
  const std::span<const double> factors =
      TriedFactors(has_few_codes ? ScaleRule::kMse : rule_.rule, true);
  const std::vector<double> scales = StoredScales(plain.scale, factors);
  double before = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == 1) {
      of_plain = consider(plain);
    } else {
      if (scales[i] == before) continue;
      before = scales[i];
      if (scales[i] == plain.scale) continue;
      if (const auto tried = WithScale(plain, scales[i])) consider(*tried);
    }
    if (!is_signed) continue;
    if (const auto tried = WithScale(plain, -scales[i])) consider(*tried);
  }
  if (gained != nullptr) gained->Add(of_plain, least);
  return best;
}

std::vector<double> GroupQuantiser::StoredScales(double scale,
                                                 std::span<const double> factors) const {
  std::vector<double> scales(factors.size());
  std::ranges::transform(factors, scales.begin(), [&](double factor) { return scale * factor; });
  std::vector<std::byte> bytes(scales.size() * sizeof(double));
  Require(store_.Run(std::as_bytes(std::span(scales)), 0, bytes, 0, scales.size()));
  Require(load_.Run(bytes, 0, std::as_writable_bytes(std::span(scales)), 0, scales.size()));
  return scales;
}

std::optional<GroupNumbersMade> GroupQuantiser::WithScale(const GroupNumbersMade& plain,
                                                          double scale) const {
  const double least_normal = detail::LimitsOf(*FindType(rule_.scale)).least_normal;
  if (!std::isfinite(scale) || std::fabs(scale) < least_normal) return std::nullopt;
  GroupNumbersMade made = plain;
  made.scale = scale;
  if (rule_.has_biases && !rule_.is_asymmetric && !SetMiddleBias(made)) return std::nullopt;
  made.scale_of_codes = static_cast<float>(made.scale);
  made.bias_of_codes = static_cast<float>(made.bias);
  return made;
}

// Symmetric codes have one that is 0: the bias is that of the middle, a power of two times the
// scale.
bool GroupQuantiser::SetMiddleBias(GroupNumbersMade& made) const {
  const int middle = rule_.codes() / 2;
  made.bias = -middle * made.scale;
  return std::fabs(made.bias) <= detail::LimitsOf(*FindType(rule_.scale)).greatest;
}

// As a search of other formats adds them up (scale_search.h). A float64's code may be another than
// its quotient's, and MLX's own are made in float32.
double GroupQuantiser::ErrorOf(const double* x, const double* finite, std::size_t n,
                               const GroupNumbersMade& numbers) const {
  const bool is_in_lanes = source_ != DataType::kFloat64 && !rule_.is_fitted();
  ErrorStep step;
  step.divisor = step.factor = numbers.scale;
  step.is_integer = true;
  const int zero = ZeroCodeOf(numbers);
  step.least = -zero;
  step.most = rule_.codes() - 1 - zero;
  core::SumOfMagnitudes all;
  for (std::size_t done = 0; done < n; done += kBlock) {
    const auto some = std::min<std::size_t>(kBlock, n - done);
    double sums[core::kLossSums] = {};
    if (is_in_lanes) {
      add_(finite + done, finite + done, RoundUpToSums(some), step, sums);
    } else {
      AddErrors(x + done, some, numbers, sums);
    }
    const double sum = core::FoldSums(sums);
    if (n <= kBlock) return sum;
    all.Add(sum);
  }
  return all.Nearest();
}

void GroupQuantiser::AddErrors(const double* x, std::size_t n, const GroupNumbersMade& numbers,
                               double* sums) const {
  std::uint8_t codes[kBlock];
  CodesOf(x, n, numbers, codes);
  for (std::size_t i = 0; i < n; ++i) {
    const double made = (codes[i] - numbers.zero) * numbers.scale + numbers.bias;
    const double error = x[i] - made;
    sums[i % core::kLossSums] += std::isfinite(x[i]) ? error * error : 0;
  }
}

std::optional<GroupNumbersMade> GroupQuantiser::PlainNumbersOf(const double* x,
                                                               std::size_t n) const {
  GroupNumbersMade made;
  const int middle = rule_.codes() / 2;
  if (!rule_.is_asymmetric) {
    made.zero = rule_.has_biases ? 0 : middle;
    const double amax = LargestFinite(x, n, 0);
    if (amax > 0) {
      const double most = rule_.bits <= 4 ? middle - 0.5 : middle - 1;
      const std::optional<double> scale = Stored(Quotient(amax, most), true);
      if (!scale) return std::nullopt;
      made.scale = *scale;
    }
    if (rule_.has_biases && !SetMiddleBias(made)) return std::nullopt;
    return made;
  }
  if (rule_.is_fitted()) return MlxNumbersOf(x, n);
  double least = 0, most = 0;
  FindRange(x, n, &least, &most);
  if (least == most) return made;
  // Halves: the difference of two large doubles may be none.
  const bool is_large = std::max(most, -least) > 0x1p1000;
  const double unit = is_large ? 0.5 : 1;
  const double range = Difference(most * unit, least * unit);
  const std::optional<double> scale = Stored(Quotient(range, rule_.codes() - 1) / unit, true);
  if (!scale) return std::nullopt;
  made.scale = *scale;
  const double quotient = -least / made.scale;
  const double zero = Nearest(quotient) + TieError(-least, made.scale, quotient);
  made.zero = static_cast<int>(std::clamp<double>(zero, 0, rule_.codes() - 1));
  return made;
}

// In its own steps and in float32; what is not finite has no part in it.
std::optional<GroupNumbersMade> GroupQuantiser::MlxNumbersOf(const double* x, std::size_t n) const {
  constexpr float kLeastScale = 1e-7f;
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<float>(x[i]);
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (least > most) least = most = 0;
  GroupNumbersMade made;
  float scale = std::max((most - least) / static_cast<float>(rule_.codes() - 1), kLeastScale);
  const bool is_below = std::fabs(least) > std::fabs(most);
  if (!is_below) scale = -scale;
  const float edge = is_below ? least : most;
  const float steps = std::nearbyint(edge / scale);
  float bias = 0;
  if (steps != 0) {
    scale = edge / steps;
    bias = edge;
  }
  made.scale_of_codes = scale;
  made.bias_of_codes = bias;
  const std::optional<double> stored = Stored(scale, false), stored_bias = Stored(bias, false);
  if (!stored || !stored_bias) return std::nullopt;
  made.scale = *stored;
  made.bias = *stored_bias;
  return made;
}

void GroupQuantiser::CodesOf(const double* x, std::size_t n, const GroupNumbersMade& numbers,
                             std::uint8_t* codes) const {
  const double last = rule_.codes() - 1;
  if (rule_.is_fitted()) {
    const float scale = numbers.scale_of_codes, bias = numbers.bias_of_codes;
    for (std::size_t i = 0; i < n; ++i) {
      const float value = x[i] == x[i] ? static_cast<float>(x[i]) : 0;
      const float code = std::nearbyint((value - bias) / scale);
      codes[i] = static_cast<std::uint8_t>(std::clamp(code, 0.0f, static_cast<float>(last)));
    }
    return;
  }
  const double scale = numbers.scale;
  const double zero = ZeroCodeOf(numbers);
  for (std::size_t i = 0; i < n; ++i) {
    double code = Nearest(x[i] / scale) + zero;
    code = x[i] == x[i] ? code : zero;
    code = code > 0 ? code : 0;
    code = code < last ? code : last;
    codes[i] = static_cast<std::uint8_t>(static_cast<int>(code));
  }
  if (source_ != DataType::kFloat64) return;
  for (std::size_t i = 0; i < n; ++i) {
    const double quotient = x[i] / scale;
    if (!(std::fabs(quotient) < 1024)) continue;
    const double error = TieError(x[i], scale, quotient);
    if (error == 0) continue;
    codes[i] =
        static_cast<std::uint8_t>(std::clamp<double>(Nearest(quotient) + error + zero, 0, last));
  }
}

std::optional<std::uint64_t> GroupQuantiser::Encode(std::span<const std::byte> x,
                                                    std::uint64_t x_first, std::uint64_t first,
                                                    std::uint64_t rows, MadeGroups& made,
                                                    LossMeter* loss, SearchedErrors* gained) const {
  const core::FpEnvironment environment;
  const auto columns = static_cast<std::size_t>(columns_);
  const auto number_bytes = static_cast<std::size_t>(FindType(rule_.scale)->bits) / 8;
  const auto cells = static_cast<std::size_t>(rows * groups_);
  made.codes = MakeLines(rows, columns_, rule_.bits);
  made.zeros = MakeLines(rows, groups_, rule_.bits);
  made.scales.resize(cells * number_bytes);
  made.biases.resize(rule_.has_biases ? cells * number_bytes : 0);
  std::vector<double> values(columns);
  std::vector<std::uint8_t> codes(loss != nullptr ? static_cast<std::size_t>(rows) * columns
                                                  : columns);
  std::vector<std::uint8_t> zeros(static_cast<std::size_t>(groups_));
  std::vector<GroupNumbersMade> numbers(cells);
  std::vector<double> column(cells);
  for (std::uint64_t r = 0; r < rows; ++r) {
    Require(value_of_source_.Run(x, x_first + r * columns_,
                                 std::as_writable_bytes(std::span(values)), 0, columns_));
    std::uint8_t* const of_row = codes.data() + (loss != nullptr ? r * columns_ : 0);
    for (std::uint64_t g = 0; g < groups_; ++g) {
      const std::uint64_t cell = r * groups_ + g, begin = g * group_;
      const auto n = static_cast<std::size_t>(std::min(group_, columns_ - begin));
      const std::optional<GroupNumbersMade> found = NumbersOf(values.data() + begin, n, gained);
      if (!found) return cell;
      numbers[cell] = *found;
      zeros[g] = static_cast<std::uint8_t>(found->zero);
      CodesOf(values.data() + begin, n, *found, of_row + begin);
    }
    PackCodes({of_row, columns}, rule_.bits, made.codes.bytes.data() + r * made.codes.stride);
    PackCodes(zeros, rule_.bits, made.zeros.bytes.data() + r * made.zeros.stride);
  }
  const auto store = [&](double GroupNumbersMade::*number, std::vector<std::byte>& to) {
    std::ranges::transform(numbers, column.begin(), number);
    Require(store_.Run(std::as_bytes(std::span(column)), 0, to, 0, cells));
  };
  store(&GroupNumbersMade::scale, made.scales);
  if (rule_.has_biases) store(&GroupNumbersMade::bias, made.biases);
  if (loss != nullptr) Measure(x, x_first, first, rows, codes, numbers, loss);
  return std::nullopt;
}

// Where a code would be beyond the last one: the least magnitude that rounds so, ties being even.
void GroupQuantiser::Measure(std::span<const std::byte> x, std::uint64_t x_first,
                             std::uint64_t first, std::uint64_t rows,
                             const std::vector<std::uint8_t>& codes,
                             const std::vector<GroupNumbersMade>& numbers, LossMeter* loss) const {
  alignas(64) double values[kBlock], results[kBlock];
  core::ScaledResults::Cell cells[kBlock];
  std::array<std::byte, kBlock> stored;
  const DataType element = rule_.bits == 4 ? DataType::kInt4 : DataType::kInt8;
  const core::ScaledResults scaled = {results, cells};
  const int middle = rule_.codes() / 2;
  // The distance of a value from zero at which its code would be past one that is `far` away.
  const auto end_of = [](int far, double scale) {
    const double end = (far + 0.5) * scale;
    return far % 2 == 0 ? std::nextafter(end, kInfinite) : end;
  };
  ForEachBlock(first, rows * columns_, [&](std::uint64_t done, std::uint64_t some) {
    Require(value_of_source_.Run(x, x_first + done, std::as_writable_bytes(std::span(values)), 0,
                                 some));
    stored.fill(std::byte{0});
    core::ScaledResults::Cell* next = cells;
    for (std::size_t i = 0; i < some;) {
      const std::uint64_t row = (done + i) / columns_, column = (done + i) % columns_;
      const std::uint64_t group = column / group_;
      const std::uint64_t end = std::min((group + 1) * group_, columns_);
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(some - i, end - column));
      const GroupNumbersMade& of = numbers[row * groups_ + group];
      const int zero = ZeroCodeOf(of);
      double up =
          rule_.is_fitted() ? kInfinite : end_of(rule_.codes() - 1 - zero, std::fabs(of.scale));
      double down = rule_.is_fitted() ? kInfinite : end_of(zero, std::fabs(of.scale));
      if (of.scale < 0) std::swap(up, down);
      *next++ = {i + n, {up, down, std::fabs(of.scale)}, {}};
      for (std::size_t k = i; k < i + n; ++k) {
        const int code = codes[done + k];
        results[k] = (code - of.zero) * of.scale + of.bias;
        const auto as_signed = static_cast<unsigned>(code - middle);
        if (rule_.bits == 8) {
          stored[k] = static_cast<std::byte>(as_signed & 0xFF);
        } else {
          stored[k / 2] |= static_cast<std::byte>((as_signed & 15) << k % 2 * 4);
        }
      }
      i += n;
    }
    const core::LossView view = {
        FindType(source_), FindType(element), x.data(), x_first + done, stored.data(), 0, &scaled};
    Require(core::MeasureScaled(*loss, view, values, some, first + done, target_));
  });
}

LossMeter GroupQuantiser::Meter() const {
  CastOptions options;
  options.integer_overflow = IntegerOverflow::kSaturate;
  return LossMeter(source_, rule_.bits == 4 ? DataType::kInt4 : DataType::kInt8, options);
}

}  // namespace tensorcast::scale
