// Measures what a cast would make infinite, before a model is laid out without it.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/model_defaults.h"

#include "files/error.h"
#include "onnx/store/storage_model.h"

namespace tensorcast::convert {
namespace {

// Whether a finite value of `from` can become Inf or NaN in `to`; told from the types where that is
// easy.
bool MayOverflow(const TypeInfo& from, const TypeInfo& to, const CastOptions& options) {
  if (!to.is_float() || !to.has_nan()) return false;
  if (to.bits == 8 && options.saturate) return false;  // to the limit
  return !from.is_float() || from.exponent_bits > to.exponent_bits ||
         from.mantissa_bits > to.mantissa_bits || !to.has_infinity();
}

}  // namespace

std::vector<std::string> WhyLeftByDefault(const formats::OnnxTensorReader& model,
                                          std::span<const DataType> to, JobOptions options) {
  std::vector<std::string> reasons(to.size());
  std::vector<TensorJob> jobs;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == DataType::kUndefined) continue;
    const formats::TensorInfo& info = model.contents().tensors[i];
    if (FindType(to[i])->bits > FindType(info.type)->bits) {
      reasons[i] = "it would take more room as " + std::string(TypeName(to[i]));
    } else if (info.bytes <= onnx::kSmallTensorBytes) {
      reasons[i] = std::to_string(onnx::kSmallTensorBytes) + " bytes or fewer";
    } else if (MayOverflow(*FindType(info.type), *FindType(to[i]), options.cast)) {
      jobs.push_back({i, 0, {to[i]}});
    }
  }
  if (jobs.empty()) return reasons;
  options.measure = true;
  options.measured = [&](std::size_t j, std::size_t, const JobMeasure& measure) {
    const LossReport loss = measure.loss.Report();
    // All finite values but these stay finite, and can be compared.
    const std::uint64_t lost = loss.finite - loss.compared;
    if (lost == 0) return;
    const bool infinite = FindType(loss.to)->has_infinity();
    reasons[jobs[j].tensor] =
        words::CountText(lost, "finite value") + " would become " + (infinite ? "infinite" : "NaN");
  };
  RunJobs(model, jobs, nullptr, options);
  return reasons;
}

}  // namespace tensorcast::convert
