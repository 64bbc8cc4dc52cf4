// Graphs and sessions of models, and models of graphs: files and bytes.
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
#include "graph/graph_state.h"
#include "graph/program.h"
#include "onnx/byte_sources.h"
#include "onnx/optimise/optimise.h"
#include "onnx/run/graph_of_model.h"
#include "onnx/run/model_of_graph.h"
#include "onnx/run/training_metadata.h"
#include "tensorcast/graph.hpp"
#include "tensorcast/onnx.hpp"
#include "tensorcast/session.hpp"

namespace tensorcast {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

std::unique_ptr<GraphState> Read(const std::shared_ptr<const files::ByteSource>& source,
                                 std::span<const std::byte> memory,
                                 const onnx::LoadOptions& options) {
  graph::Graph read = onnx::ReadGraph(source, memory, options.allow_hard_links);
  GraphOptions of_graph;
  of_graph.contradictions = options.contradictions;
  auto state = std::make_unique<GraphState>(of_graph);
  std::vector<DataType> types;
  try {
    types = graph::TypesOf(read, state->as_tests());
    onnx::TakeTrainingEntries(read);
  } catch (const graph::Error& error) {
    onnx::FailModel(*source, error);
  } catch (const core::Failure& failure) {
    throw core::Failure(failure.code(), words::PathText(source->path()) + ": " + failure.what(),
                        failure.remedy());
  }
  state->graph = std::move(read);
  state->options.opset = state->opset();
  state->Adopt(types);
  source->CheckUnchanged();
  return state;
}

// The model of a graph that is whole.
onnx::WireMessage ModelOf(const GraphState& state, const SaveOptions& options) {
  if (state.outputs.empty()) {
    graph::Refuse("the graph has no output; mark one");
  }
  return onnx::ModelOfGraph(state.graph, state.Types(), options.with_training);
}

// Calls write(bytes) for all of a message, in their order.
template <class Write> void WriteAll(const onnx::WireMessage& message, const Write& write) {
  std::vector<std::byte> buffer;
  for (const onnx::WireMessage::Piece& piece : message.pieces()) {
    if (piece.blob.store == nullptr) {
      write(std::as_bytes(std::span(piece.bytes)));
      continue;
    }
    for (std::uint64_t done = 0; done < piece.blob.size;) {
      buffer.resize(static_cast<std::size_t>(std::min(kPieceBytes, piece.blob.size - done)));
      piece.blob.store->Read(piece.blob.begin + done, buffer);
      write(std::span<const std::byte>(buffer));
      done += buffer.size();
    }
    piece.blob.store->CheckUnchanged();
  }
}

std::vector<std::byte> Written(const onnx::WireMessage& model) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(model.size()));
  WriteAll(model, [&](std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  });
  return bytes;
}

std::unique_ptr<const files::ByteSource> Optimised(
    std::unique_ptr<const files::ByteSource> source) {
  onnx::OptimizeReport report;
  return onnx::OptimiseModel(std::move(source), {}, report);
}

Status CheckOptions(const onnx::LoadOptions& options) {
  if (options.contradictions != onnx::Contradictions::kText &&
      options.contradictions != onnx::Contradictions::kTests) {
    return Status(StatusCode::kInvalidOption);
  }
  return graph::CheckTarget(options.target);
}

// `memory`: as ReadGraph takes it. Constants are read, or are views of it where they stand there as
// a run needs them.
void Set(Session* session, const std::shared_ptr<const files::ByteSource>& source,
         std::span<const std::byte> memory, const onnx::LoadOptions& options) {
  const graph::Graph graph = onnx::ReadGraph(source, memory, options.allow_hard_links);
  const bool as_tests = options.contradictions == onnx::Contradictions::kTests;
  try {
    graph::Program program = graph::Compile(graph, {as_tests, options.target});
    source->CheckUnchanged();
    SessionAccess::Set(*session, std::move(program), {.target = options.target}, as_tests);
  } catch (const graph::Error& error) {
    onnx::FailModel(*source, error);
  }
}

}  // namespace

inline namespace TENSORCAST_ABI {

Status Graph::Load(const std::string& path, const onnx::LoadOptions& options, Graph* graph,
                   std::string* error) {
  return core::Guarded(error, [&] {
    std::unique_ptr<GraphState> state = Read(std::make_shared<files::InputFile>(path), {}, options);
    state->loaded_from = path;
    GraphAccess::Set(*graph, std::move(state));
    return Status();
  });
}

Status Graph::Parse(std::span<const std::byte> bytes, const onnx::LoadOptions& options,
                    Graph* graph, std::string* error) {
  return core::Guarded(error, [&] {
    std::shared_ptr<const onnx::MemoryBytes> source = onnx::MemoryBytes::CopyOf(bytes);
    const std::span<const std::byte> memory = source->bytes();
    GraphAccess::Set(*graph, Read(std::move(source), memory, options));
    return Status();
  });
}

Status Graph::Save(const std::string& path, const SaveOptions& options, std::string* error) const {
  return graph::GuardedGraph(error, [&] {
    const onnx::WireMessage model = ModelOf(GraphAccess::State(*this), options);
    files::CreateOptions create;
    create.overwrite = options.overwrite;
    const std::string& from = GraphAccess::State(*this).loaded_from;
    if (!from.empty()) create.permissions = files::PermissionsOfOutput(path, {&from, 1});
    files::OutputFile file(path, model.size(), create);
    std::uint64_t at = 0;
    WriteAll(model, [&](std::span<const std::byte> bytes) {
      file.Write(at, bytes);
      at += bytes.size();
    });
    file.Commit();
    return Status();
  });
}

Status Graph::Optimize(const onnx::OptimizeOptions& options, onnx::OptimizeReport* report,
                       std::string* error) {
  return graph::GuardedGraph(error, [&] {
    const GraphState& state = GraphAccess::State(*this);
    const std::vector<graph::Node>& nodes = state.graph.body.nodes;
    SaveOptions save;
    save.with_training = state.graph.holds_training ||
                         std::any_of(nodes.begin(), nodes.end(), [](const graph::Node& node) {
                           return !node.trains || node.lda != 1;
                         });
    const std::vector<std::byte> model = Written(ModelOf(state, save));
    std::vector<std::byte> optimized;
    onnx::OptimizeReport told;
    std::string why;
    const Status status = onnx::Optimize(model, options, &optimized, &told, &why);
    if (!status.ok()) throw core::Failure(status, why);
    if (told.changed()) {
      onnx::LoadOptions load;
      load.contradictions = state.options.contradictions;
      auto source = std::make_shared<const onnx::MemoryBytes>(std::move(optimized));
      const std::span<const std::byte> memory = source->bytes();
      std::unique_ptr<GraphState> made = Read(std::move(source), memory, load);
      made->options.raises_opset = state.options.raises_opset;
      made->loaded_from = state.loaded_from;
      GraphAccess::Set(*this, std::move(made));
    }
    if (report != nullptr) *report = std::move(told);
    return Status();
  });
}

Status Graph::Serialize(const SaveOptions& options, std::vector<std::byte>* bytes,
                        std::string* error) const {
  return graph::GuardedGraph(error, [&] {
    *bytes = Written(ModelOf(GraphAccess::State(*this), options));
    return Status();
  });
}

Status Session::Load(const std::string& path, const onnx::LoadOptions& options, Session* session,
                     std::string* error) {
  return core::Guarded(error, [&] {
    if (const Status status = CheckOptions(options); !status.ok()) return status;
    std::unique_ptr<const files::ByteSource> source = std::make_unique<files::InputFile>(path);
    if (options.optimize) source = Optimised(std::move(source));
    Set(session, std::move(source), {}, options);
    return Status();
  });
}

Status Session::Parse(std::span<const std::byte> bytes, const onnx::LoadOptions& options,
                      Session* session, std::string* error) {
  return core::Guarded(error, [&] {
    if (const Status status = CheckOptions(options); !status.ok()) return status;
    std::shared_ptr<const onnx::MemoryBytes> source;
    if (options.optimize) {
      const auto edited = Optimised(std::make_unique<onnx::MemoryBytes>(bytes));
      std::vector<std::byte> kept(static_cast<std::size_t>(edited->size()));
      edited->Read(0, kept);
      source = std::make_shared<const onnx::MemoryBytes>(std::move(kept));
    } else {
      source = onnx::MemoryBytes::CopyOf(bytes);
    }
    Set(session, source, source->bytes(), options);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
