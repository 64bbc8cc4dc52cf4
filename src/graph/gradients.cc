// Goes through the steps from the last to the first. A register holds several values one after the
// other; backward the last of them comes first, and a step that gives one takes the parts of its
// gradient out, so that those of the one before can come.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/gradients.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <string>

#include "core/exact_sum.h"
#include "core/failure.h"
#include "core/given.h"
#include "core/round_to_odd.h"
#include "graph/interpreter.h"
#include "graph/operator_versions.h"

namespace tensorcast::graph {
namespace {

// Elements that are summed at once: a multiple of what any packed type needs.
constexpr std::size_t kBlock = 1024;
// What one task sums: many blocks.
constexpr std::uint64_t kTaskElements = std::uint64_t{64} * kBlock;

void Check(Status status) {
  if (!status.ok()) throw core::Failure(status, std::string(status.message()));
}

// Where a product and its error are doubles (core/round_to_odd.h).
bool IsModerate(double x) {
  const double magnitude = std::fabs(x);
  return magnitude > 0x1p-450 && magnitude < 0x1p450;
}

// The sum of x[i] * y[i]: to nearest where `to_double`, else to odd. Infinities and NaN as IEEE
// sums and products have them; a sum of zeros has their sign where they agree.
double SumOf(std::span<const double> x, std::span<const double> y, bool to_double) {
  double plain = 0, special = 0;
  bool is_special = false, is_zero = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double product = x[i] * y[i];
    plain = i == 0 ? product : plain + product;
    is_zero = is_zero && (x[i] == 0 || y[i] == 0);
    if (std::isfinite(x[i]) && std::isfinite(y[i])) continue;
    special = is_special ? special + product : product;
    is_special = true;
  }
  if (is_special) return special;
  if (is_zero) return plain;
  if (x.size() == 1) {
    if (to_double) return plain;
    if (IsModerate(x[0]) && IsModerate(y[0])) return core::MultiplyToOdd(x[0], y[0]);
  }
  core::SumOfProducts sum;
  for (std::size_t i = 0; i < x.size(); ++i) sum.AddProduct(x[i], y[i]);
  return to_double ? sum.Nearest() : sum.Odd();
}

// The sum of some doubles, where it is one itself, as it mostly is; else false.
bool AddDoubles(std::span<const double> x, double* sum) {
  double total = x[0];
  bool is_exact = true;
  for (std::size_t i = 1; i < x.size(); ++i) {
    // Knuth's TwoSum.
    const double next = total + x[i];
    const double part = next - total;
    const double error = (total - (next - part)) + (x[i] - part);
    is_exact = is_exact && error == 0;
    total = next;
  }
  *sum = total;
  return is_exact;
}

}  // namespace

bool HasDerivative(DataType type, Differentiable kinds) {
  const TypeInfo* const info = FindType(type);
  // float8e8m0 has neither a zero nor a sign.
  if (info == nullptr || info->type_class != TypeClass::kFloat || !info->has_zero) return false;
  return kinds == Differentiable::kWide || info->bits >= 16;
}

Gradients::Gradients(const Program& program, Differentiable kinds, bool as_tests, Target target)
    : program_(program),
      kinds_(kinds),
      as_tests_(as_tests),
      target_(target),
      parts_(program.inputs.size() + program.constants.size() + program.registers) {}

const CastPlan& Gradients::PlanOf(DataType from, DataType to) {
  const auto [found, is_new] = plans_.try_emplace({from, to});
  if (is_new) {
    const VersionInForce version = FindVersion(CastOperator::kCast, program_.opset);
    const CastOptions options =
        version.row == nullptr ? CastOptions() : OptionsOf(*version.row, to, as_tests_);
    Check(CastPlan::Bind(from, to, options, &found->second, target_));
  }
  return found->second;
}

void Gradients::Run(std::span<const TensorView> outputs, std::span<const std::uint64_t> elements,
                    const GraphRun& run, std::vector<Gradient>& inputs) {
  for (std::vector<Part>& parts : parts_) parts.clear();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type == DataType::kUndefined) continue;
    parts_[program_.results[i]].push_back(
        {{outputs[i].type, outputs[i].data, nullptr}, 1, elements[i]});
  }
  const std::size_t first_register = program_.inputs.size() + program_.constants.size();
  for (std::size_t i = program_.steps.size(); i-- > 0;) {
    const Step& step = program_.steps[i];
    std::vector<Part>& of_result = parts_[first_register + step.result];
    if (of_result.empty()) continue;
    const bool is_constant = step.source >= program_.inputs.size() && step.source < first_register;
    if (is_constant || !step.trains || !HasDerivative(step.from, kinds_) ||
        !HasDerivative(step.to, kinds_)) {
      of_result.clear();
      continue;
    }
    StopIfInterrupted(run);
    const std::uint64_t n = of_result.front().elements;
    parts_[step.source].push_back({Sum(step.to, of_result, run), step.lda, n});
  }
  inputs.assign(program_.inputs.size(), {});
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    if (parts_[i].empty()) continue;
    inputs[i] = Sum(program_.inputs[i].type, parts_[i], run);
  }
}

Gradient Gradients::Sum(DataType type, std::vector<Part>& parts, const GraphRun& run) {
  const std::uint64_t n = parts.front().elements;
  const bool is_one = parts.size() == 1 && parts.front().factor == 1;
  if (is_one && parts.front().gradient.type == type) {
    Gradient same = std::move(parts.front().gradient);
    parts.clear();
    return same;
  }
  Gradient sum;
  sum.type = type;
  sum.buffer = std::make_shared<Buffer>();
  sum.buffer->Allocate(*StorageBytes(type, n), 0);
  const std::span<std::byte> out(sum.buffer->bytes.get(), sum.buffer->size);
  if (!out.empty()) out.back() = std::byte{0};  // pad bits
  sum.data = out;
  core::GivenExecutor executor(run.executor);
  if (is_one) {
    RunOptions options;
    options.executor = executor.get();
    options.interrupted = run.interrupted;
    const Gradient& of = parts.front().gradient;
    Check(PlanOf(of.type, type).Run(of.data, 0, out, 0, n, options));
    parts.clear();
    return sum;
  }
  std::vector<const CastPlan*> widen;
  for (const Part& part : parts) widen.push_back(&PlanOf(part.gradient.type, DataType::kFloat64));
  const CastPlan* const narrow =
      type == DataType::kFloat64 ? nullptr : &PlanOf(DataType::kFloat64, type);
  auto add = [&](std::size_t index) {
    const std::uint64_t end = std::min(n, (index + 1) * kTaskElements);
    for (std::uint64_t at = index * kTaskElements; at < end; at += kBlock) {
      if (run.interrupted != nullptr && run.interrupted->load(std::memory_order_relaxed)) return;
      AddExactly(parts, narrow, widen, at, std::min<std::uint64_t>(kBlock, end - at), out);
    }
  };
  const auto tasks = static_cast<std::size_t>(n / kTaskElements + (n % kTaskElements != 0));
  if (run.executor != nullptr && tasks > 1) {
    const auto task = [](void* context, std::size_t index) {
      (*static_cast<decltype(add)*>(context))(index);
    };
    executor.ParallelFor(tasks, task, &add);
  } else {
    for (std::size_t i = 0; i < tasks; ++i) add(i);
  }
  StopIfInterrupted(run);
  parts.clear();
  return sum;
}

void Gradients::AddExactly(const std::vector<Part>& parts, const CastPlan* plan,
                           std::span<const CastPlan* const> widen, std::uint64_t first,
                           std::uint64_t n, std::span<std::byte> out) const {
  const auto count = static_cast<std::size_t>(n);
  std::vector<double> wide(parts.size() * count);
  std::vector<double> x(parts.size()), factors(parts.size());
  bool are_plain = parts.size() > 1;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::span<double> values = std::span(wide).subspan(p * count, count);
    // These cannot fail: the plan is bound, and the gradient has the elements.
    (void)widen[p]->Run(parts[p].gradient.data, first, std::as_writable_bytes(values), 0, n);
    factors[p] = parts[p].factor;
    are_plain = are_plain && factors[p] == 1;
  }
  std::array<double, kBlock> sums;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t p = 0; p < parts.size(); ++p) x[p] = wide[p * count + i];
    if (are_plain && AddDoubles(x, &sums[i]) && std::isfinite(sums[i])) continue;
    sums[i] = SumOf(x, factors, plan == nullptr);
  }
  const auto bytes = std::as_bytes(std::span(sums).first(count));
  if (plan == nullptr) {
    std::copy(bytes.begin(), bytes.end(),
              out.begin() + static_cast<std::ptrdiff_t>(first * sizeof(double)));
    return;
  }
  (void)plan->Run(bytes, 0, out, first, n);
}

}  // namespace tensorcast::graph
