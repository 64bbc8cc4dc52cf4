// The C++ face of a loaded model.
//
// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <new>
#include <utility>

#include "core/failure.h"
#include "files/error.h"
#include "files/system.h"
#include "graph/program.h"
#include "onnx/graph_of_model.h"
#include "onnx/memory_bytes.h"
#include "onnx/optimise.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {
namespace {

std::unique_ptr<const io::ByteSource> Optimised(std::unique_ptr<const io::ByteSource> source) {
  OptimizeReport report;
  return OptimiseModel(std::move(source), {}, report);
}

Status CheckOptions(const LoadOptions& options) {
  if (options.contradictions != Contradictions::kText &&
      options.contradictions != Contradictions::kTests) {
    return Status(StatusCode::kInvalidOption);
  }
  return graph::CheckTarget(options.target);
}

}  // namespace

struct OutputsState {
  graph::Results results;
};

struct Model::State {
  // `kept`: the bytes of a model in memory, in which constants of the program stand.
  State(graph::Program made, std::vector<std::byte> kept)
      : program(std::move(made)), bytes(std::move(kept)) {}

  graph::Program program;
  std::vector<std::byte> bytes;
  graph::NameIndex inputs{program.inputs};
  graph::NameIndex outputs{program.outputs};
};

Outputs::Outputs() = default;
Outputs::Outputs(Outputs&&) noexcept = default;
Outputs& Outputs::operator=(Outputs&&) noexcept = default;
Outputs::~Outputs() = default;

std::size_t Outputs::size() const { return state_ == nullptr ? 0 : state_->results.views.size(); }

const TensorView& Outputs::operator[](std::size_t index) const {
  return state_->results.views[index];
}

Model::Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Status Model::Load(const std::string& path, const LoadOptions& options, Model* model,
                   std::string* error) {
  return core::Guarded(error, [&] {
    if (const Status status = CheckOptions(options); !status.ok()) return status;
    std::unique_ptr<const io::ByteSource> source = std::make_unique<io::InputFile>(path);
    if (options.optimize) source = Optimised(std::move(source));
    auto state =
        std::make_unique<State>(MakeProgram(*source, {}, options), std::vector<std::byte>());
    source->CheckUnchanged();
    model->state_ = std::move(state);
    return Status();
  });
}

Status Model::Parse(std::span<const std::byte> bytes, const LoadOptions& options, Model* model,
                    std::string* error) {
  return core::Guarded(error, [&] {
    if (const Status status = CheckOptions(options); !status.ok()) return status;
    auto given = std::make_unique<MemoryBytes>(bytes);
    std::vector<std::byte> kept;
    if (options.optimize) {
      const auto edited = Optimised(std::move(given));
      kept.resize(static_cast<std::size_t>(edited->size()));
      edited->Read(0, kept);
    } else {
      kept.assign(given->bytes().begin(), given->bytes().end());
    }
    const MemoryBytes source(kept);
    graph::Program program = MakeProgram(source, source.bytes(), options);
    model->state_ = std::make_unique<State>(std::move(program), std::move(kept));
    return Status();
  });
}

std::span<const ValueInfo> Model::inputs() const {
  if (state_ == nullptr) return {};
  return state_->program.inputs;
}

std::span<const ValueInfo> Model::outputs() const {
  if (state_ == nullptr) return {};
  return state_->program.outputs;
}

std::optional<std::size_t> Model::FindInput(std::string_view name) const {
  return state_ == nullptr ? std::nullopt : state_->inputs.Find(name);
}

std::optional<std::size_t> Model::FindOutput(std::string_view name) const {
  return state_ == nullptr ? std::nullopt : state_->outputs.Find(name);
}

std::int64_t Model::opset() const { return state_ == nullptr ? 0 : state_->program.opset; }

Status Model::Run(std::span<const TensorView> inputs, const ModelRun& run, Outputs* outputs,
                  std::string* error) const {
  return core::Guarded(error, [&] {
    if (state_ == nullptr) throw io::Error(io::ErrorKind::kArguments, "no model is loaded");
    // The inputs may be views of what `outputs` holds, so that lives to the end.
    const std::unique_ptr<OutputsState> old = std::move(outputs->state_);
    auto results = std::make_unique<OutputsState>();
    graph::Run(state_->program, inputs, run, old == nullptr ? nullptr : &old->results,
               results->results);
    outputs->state_ = std::move(results);
    return Status();
  });
}

}  // namespace tensorcast::onnx
