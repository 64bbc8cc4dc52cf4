// ConvertStorage: a model's weights in another type, from a program.
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/conversion.h"
#include "io/error_text.h"
#include "io/onnx_tensors.h"
#include "io/system.h"
#include "onnx/status_of_error.h"
#include "onnx/storage_defaults.h"
#include "onnx/storage_model.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {
namespace {

using io::Error;
using io::ErrorKind;

void Convert(const std::string& input, const std::string& output, const ChooseStorage& choose,
             const StorageOptions& options, std::vector<StoredTensor>& tensors) {
  const io::OnnxTensorReader model(std::make_unique<io::InputFile>(input),
                                   options.allow_hard_links);
  const StorageRules rules(model);
  io::FileContents contents = model.contents();
  io::ConversionOptions conversion;
  conversion.cast = options.cast;
  conversion.executor = options.executor;
  conversion.interrupted = options.interrupted;
  conversion.input = input;
  std::vector<DataType> chosen(contents.tensors.size(), DataType::kUndefined);
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
    const io::TensorInfo& info = contents.tensors[i];
    StoredTensor& stored = tensors.emplace_back();
    stored.name = info.name;
    stored.from = info.type;
    const DataType to = choose(info.name, info.type, info.shape);
    if (to == DataType::kUndefined) continue;
    if (FindType(to) == nullptr) {
      throw Error(ErrorKind::kArguments, io::PathText(input) + ": tensor " + io::Quoted(info.name) +
                                             " is to be stored as type " +
                                             std::to_string(static_cast<std::int32_t>(to)) +
                                             ", which is none; DataType lists them");
    }
    stored.reason = rules.WhyNotStored(i, to);
    if (!stored.reason.empty()) continue;
    rules.CheckType(i, to);
    chosen[i] = to;
  }
  if (!options.all_chosen) {
    const std::vector<std::string> reasons = WhyLeftByDefault(model, chosen, conversion);
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (reasons[i].empty()) continue;
      chosen[i] = DataType::kUndefined;
      tensors[i].reason = reasons[i];
    }
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const DataType to = chosen[i];
    if (to == DataType::kUndefined) continue;
    io::TensorInfo& info = contents.tensors[i];
    const std::optional<std::uint64_t> bytes = StorageBytes(to, info.elements);
    if (!bytes) {
      throw Error(ErrorKind::kContents, io::PathText(input) + ": tensor " + io::Quoted(info.name) +
                                            " has more elements than 64 bits can count the " +
                                            "bytes of");
    }
    tensors[i].to = to;
    info.type = to;
    info.bytes = *bytes;
  }
  const std::unique_ptr<StorageModelWriter> writer =
      CreateStorageModel(output, model, contents, {options.overwrite, {}}, options.interrupted);
  std::vector<io::TensorJob> jobs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!writer->Wants(i)) continue;
    io::TensorJob job{i, i, {}};
    if (tensors[i].to != DataType::kUndefined) job.to = {tensors[i].to};
    jobs.push_back(std::move(job));
  }
  conversion.measured = [&](std::size_t j, std::span<const LossReport> reports) {
    tensors[jobs[j].tensor].loss = reports.front();
  };
  io::RunConversion(model, jobs, writer.get(), conversion);
  writer->Commit();
}

}  // namespace
}  // namespace tensorcast::onnx

namespace tensorcast::onnx::inline TENSORCAST_ABI {

Status ConvertStorage(const std::string& input, const std::string& output,
                      const ChooseStorage& choose, const StorageOptions& options,
                      std::vector<StoredTensor>* tensors, std::string* error) {
  return Guarded(error, [&] {
    try {
      std::vector<StoredTensor> stored;
      Convert(input, output, choose, options, stored);
      if (tensors != nullptr) *tensors = std::move(stored);
    } catch (const io::Interrupted&) {
      return Status(StatusCode::kInterrupted);
    }
    return Status();
  });
}

}  // namespace tensorcast::onnx::inline TENSORCAST_ABI
