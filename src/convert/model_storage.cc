// ConvertStorage: a model's weights in another type, from a program.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "convert/file_plan.h"
#include "convert/runner.h"
#include "convert/sink.h"
#include "core/failure.h"
#include "core/given.h"
#include "files/error.h"
#include "files/system.h"
#include "formats/onnx_tensors.h"
#include "naming/name_pattern.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {
namespace {

using core::ErrorKind;
using files::Error;

// `chosen` is called when all tensors were asked for.
void Convert(const std::string& input, const std::string& output, const ChooseStorage& choose,
             const std::function<void()>& chosen, const StorageOptions& options,
             std::vector<StoredTensor>& tensors) {
  const formats::OnnxTensorReader model(std::make_unique<files::InputFile>(input),
                                        options.allow_hard_links);
  const std::unique_ptr<convert::Sink> sink = convert::OpenModelSink(output, model);
  convert::JobOptions job_options;
  job_options.cast = options.cast;
  job_options.executor = options.executor;
  job_options.interrupted = options.interrupted;
  job_options.input = input;
  convert::FilePlan plan;
  for (const formats::TensorInfo& info : model.contents().tensors) {
    StoredTensor& stored = tensors.emplace_back();
    stored.name = info.name;
    stored.from = info.type;
    convert::Decision& decision = plan.decisions.emplace_back();
    decision.to = core::CallGiven(StatusCode::kCallbackFailed,
                                  [&] { return choose(info.name, info.type, info.shape); });
    decision.by_name = options.all_chosen;
    if (decision.to != DataType::kUndefined && FindType(decision.to) == nullptr) {
      throw Error(ErrorKind::kArguments,
                  words::PathText(input) + ": tensor " + words::Quoted(info.name) +
                      " was asked to become type " +
                      std::to_string(static_cast<std::int32_t>(decision.to)) +
                      ", which is not a type; DataType lists them",
                  input);
    }
  }
  chosen();
  sink->Restrict(plan.decisions, job_options);
  convert::AddJobs(model, input, nullptr, plan);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].to = plan.decisions[i].to;
    tensors[i].reason = std::move(plan.decisions[i].text);
  }
  const std::unique_ptr<formats::TensorWriter> writer =
      sink->Create(convert::ContentsOf(model, plan), {options.overwrite, {}}, options.interrupted);
  job_options.measured = [&](std::size_t j, std::size_t, const convert::JobMeasure& measure) {
    tensors[plan.jobs[j].tensor].loss = measure.loss.Report();
  };
  convert::RunJobs(model, plan.jobs, writer.get(), job_options);
  writer->Commit();
}

}  // namespace
}  // namespace tensorcast::onnx

namespace tensorcast::onnx {
inline namespace TENSORCAST_ABI {

Status ConvertStorage(const std::string& input, const std::string& output,
                      const ChooseStorage& choose, const StorageOptions& options,
                      std::vector<StoredTensor>* tensors, std::string* error) {
  return core::Guarded(error, [&] {
    std::vector<StoredTensor> stored;
    Convert(
        input, output, choose, [] {}, options, stored);
    if (tensors != nullptr) *tensors = std::move(stored);
    return Status();
  });
}

Status ConvertStorage(const std::string& input, const std::string& output, std::string_view pattern,
                      DataType to, const StorageOptions& options,
                      std::vector<StoredTensor>* tensors, std::string* error) {
  return core::Guarded(error, [&] {
    const naming::NamePattern names{std::string(pattern)};
    bool any = false;
    const auto choose = [&](std::string_view name, DataType type, std::span<const std::uint64_t>) {
      if (!names.Matches(name)) return DataType::kUndefined;
      any = true;
      const TypeInfo* const info = FindType(type);
      const bool is_floating = info != nullptr && info->type_class == TypeClass::kFloat;
      return is_floating ? to : DataType::kUndefined;
    };
    const auto check = [&] {
      if (any) return;
      throw Error(
          ErrorKind::kArguments,
          words::PathText(input) + ": no tensor's name matches " + words::Quoted(names.text()),
          input);
    };
    std::vector<StoredTensor> stored;
    Convert(input, output, choose, check, options, stored);
    if (tensors != nullptr) *tensors = std::move(stored);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::onnx
