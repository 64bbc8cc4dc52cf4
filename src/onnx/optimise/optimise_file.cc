// Optimize: a model that is written beside its own data, or given as bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/failure.h"
#include "files/error.h"
#include "files/system.h"
#include "formats/onnx_tensors.h"
#include "formats/tensor_writer.h"
#include "onnx/byte_sources.h"
#include "onnx/optimise/optimise.h"
#include "onnx/store/storage_model.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {
namespace {

// A multiple of what eight elements of any type take.
constexpr std::uint64_t kPieceBytes = std::uint64_t{3} << 18;

// The values that the writer wants: those that move to another data file.
void CopyValues(const formats::OnnxTensorReader& model, formats::TensorWriter& writer,
                const std::atomic<bool>* interrupted) {
  std::vector<std::byte> piece;
  const std::vector<formats::TensorInfo>& tensors = model.contents().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!writer.Wants(i)) continue;
    for (std::uint64_t done = 0; done < tensors[i].bytes; done += piece.size()) {
      files::StopIfInterrupted(interrupted);
      piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, tensors[i].bytes - done)));
      model.Read(i, done, piece);
      writer.Write(i, done, piece);
    }
  }
}

}  // namespace
}  // namespace tensorcast::onnx

namespace tensorcast::onnx {
inline namespace TENSORCAST_ABI {

Status Optimize(const std::string& input, const std::string& output, const OptimizeOptions& options,
                OptimizeReport* report, std::string* error) {
  return core::Guarded(error, [&] {
    OptimizeReport made;
    // What is written is a model in its own right, stored as it is: the writer of models whose
    // weights are stored anew does that too.
    const formats::OnnxTensorReader model(
        OptimiseModel(std::make_unique<files::InputFile>(input), options, made),
        options.allow_hard_links);
    const std::unique_ptr<formats::TensorWriter> writer = CreateStorageModel(
        output, model, model.contents(), {options.overwrite, {}}, options.interrupted);
    CopyValues(model, *writer, options.interrupted);
    writer->Sync();
    model.CheckUnchanged();
    writer->Commit();
    made.notes = writer->notes();
    if (report != nullptr) *report = std::move(made);
    return Status();
  });
}

Status Optimize(std::span<const std::byte> model, const OptimizeOptions& options,
                std::vector<std::byte>* optimized, OptimizeReport* report, std::string* error) {
  return core::Guarded(error, [&] {
    OptimizeReport made;
    const auto result = OptimiseModel(std::make_unique<MemoryBytes>(model), options, made);
    std::vector<std::byte> bytes(static_cast<std::size_t>(result->size()));
    result->Read(0, bytes);
    *optimized = std::move(bytes);
    if (report != nullptr) *report = std::move(made);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::onnx
