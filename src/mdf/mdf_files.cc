// MDF files as graphs, and graphs as MDF files.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/failure.h"
#include "files/byte_source.h"
#include "files/error.h"
#include "files/output_options.h"
#include "files/system.h"
#include "files/text_output.h"
#include "formats/formats.h"
#include "graph/error.h"
#include "graph/graph_state.h"
#include "mdf/graph_of_model.h"
#include "mdf/model.h"
#include "mdf/model_of_graph.h"
#include "mdf/syntax.h"
#include "tensorcast/mdf.hpp"

namespace tensorcast::mdf {
namespace {

// Where a file says that it is MDF: before its graphs.
constexpr std::uint64_t kHeadBytes = 65536;

std::string TextOf(const files::ByteSource& source, std::uint64_t most) {
  std::string text(static_cast<std::size_t>(std::min(source.size(), most)), '\0');
  source.Read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

// A file that begins as another of our formats does is one of these.
const Syntax* SyntaxOf(const files::ByteSource& source) {
  const std::string head = TextOf(source, kHeadBytes);
  if (formats::LooksLikeTensorFile(std::as_bytes(std::span(head)))) return nullptr;
  if (const Syntax* const syntax = SyntaxOfHead(head)) return syntax;
  return SyntaxOfEnding(source.path());
}

[[noreturn]] void Fail(const std::string& path, const graph::Error& error) {
  throw files::Error(error.kind(), words::PathText(path) + ": " + error.what(), path);
}

// Calls read(model) with what a file says, and names the file in what that throws.
template <class Read> void WithModel(const std::string& path, const Read& read) {
  const files::InputFile source(path);
  const Syntax* const syntax = SyntaxOf(source);
  try {
    if (syntax == nullptr) {
      Refuse("is not an MDF model; " + JoinedSyntaxEndings("and") + " files are read");
    }
    if (source.size() > kMostFileBytes) {
      Refuse("has " + words::CountText(source.size(), "byte") + "; MDF files of at most " +
             std::to_string(kMostFileBytes) + " are read");
    }
    const std::string text = TextOf(source, kMostFileBytes);
    source.CheckUnchanged();
    const Value document = syntax->read(path, text);
    read(ReadModel(document));
  } catch (const graph::Error& error) {
    Fail(path, error);
  } catch (const files::Error&) {
    throw;
  } catch (const core::Failure& failure) {  // of the graph that is built
    const StatusCode code =
        failure.code() == StatusCode::kBadInput ? StatusCode::kBadFile : failure.code();
    throw core::Failure(code, words::PathText(path) + ": " + failure.what(), failure.remedy());
  }
}

}  // namespace

inline namespace TENSORCAST_ABI {

bool IsModelName(const std::string& path) { return SyntaxOfEnding(path) != nullptr; }

bool IsModelFile(const std::string& path) {
  bool is_model = false;
  const Status status = core::Guarded(nullptr, [&] {
    is_model = SyntaxOf(files::InputFile(path)) != nullptr;
    return Status();
  });
  // The name says it without memory; who goes on reads the file, and fails by himself or not.
  return status.code() == StatusCode::kOutOfMemory ? IsModelName(path) : is_model;
}

Status Inputs(const std::string& path, std::vector<ValueInfo>* inputs, std::string* error) {
  return core::Guarded(error, [&] {
    WithModel(path, [&](const Model& model) { *inputs = InputsOf(model); });
    return Status();
  });
}

Status Load(const std::string& path, const LoadOptions& options, Graph* graph, std::string* error) {
  return core::Guarded(error, [&] {
    WithModel(path, [&](const Model& model) { *graph = GraphOfModel(model, options); });
    GraphAccess::State(*graph).loaded_from = path;
    return Status();
  });
}

Status Save(const Graph& graph, const std::string& path, const SaveOptions& options,
            std::string* error) {
  return core::Guarded(error, [&] {
    const Syntax* const syntax = SyntaxOfEnding(path);
    if (syntax == nullptr) {
      throw files::Error(core::ErrorKind::kArguments,
                         words::PathText(path) + ": MDF is written as " + JoinedSyntaxEndings("or"),
                         path);
    }
    const GraphState& state = GraphAccess::State(graph);
    if (state.outputs.empty()) {
      throw files::Error(core::ErrorKind::kArguments,
                         words::PathText(path) + ": the graph has no output; mark one", path);
    }
    files::CreateOptions create{options.overwrite, options.inputs};
    if (create.inputs.empty() && !state.loaded_from.empty()) {
      create.permissions = files::PermissionsOfOutput(path, {&state.loaded_from, 1});
    }
    files::CheckOutput(path, 0, create);
    std::string text;
    try {
      text = syntax->write(ModelOfGraph(state));
    } catch (const graph::Error& wrong) {
      Fail(path, wrong);
    }
    files::WriteText(path, text, create);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::mdf
