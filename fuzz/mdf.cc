// Fuzzes MDF: the first byte chooses a syntax, the rest is a file in it. What is read is refused in
// one line, or is a graph that runs as an ONNX model; what of it is written as MDF is read again as
// the same graph, in every syntax.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/failure.h"
#include "demand.h"
#include "fuzzers.h"
#include "graph/error.h"
#include "graph/graph_state.h"
#include "mdf/graph_of_model.h"
#include "mdf/model.h"
#include "mdf/model_of_graph.h"
#include "mdf/syntax.h"
#include "tensorcast/graph.hpp"
#include "tensorcast/session.hpp"

namespace {

using tensorcast::Graph;
using namespace tensorcast::mdf;  // NOLINT(google-build-using-namespace)

void DemandLine(std::string_view text) {
  Demand(!text.empty(), "a refusal without a text");
  Demand(std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }),
         "a refusal of more than one line");
}

// What `make` gives, or nothing where it refuses in one line.
template <class Make> auto Tried(const Make& make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (const tensorcast::graph::Error& error) {
    DemandLine(error.what());
  } catch (const tensorcast::core::Failure& failure) {
    DemandLine(failure.what());
  }
  return std::nullopt;
}

std::optional<Graph> GraphOf(const Value& document) {
  LoadOptions options;
  options.other_inputs = tensorcast::DataType::kFloat32;
  return Tried([&] { return GraphOfModel(ReadModel(document), options); });
}

// The model in ONNX, which loads.
std::string Summary(const Graph& graph) {
  std::vector<std::byte> bytes;
  std::string error;
  Demand(graph.Serialize({}, &bytes, &error).ok(), error.c_str());
  tensorcast::Session session;
  Demand(tensorcast::Session::Parse(bytes, {}, &session, &error).ok(), error.c_str());
  return graph.Summary(tensorcast::SummaryFormat::kCsv);
}

void FuzzMdf(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  constexpr std::string_view kEndings[] = {".json", ".bson", ".yaml"};
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Syntax& syntax = *SyntaxOfEnding(kEndings[data[0] % 3]);
  const std::optional<Value> document = Tried([&] { return syntax.read("file", text); });
  if (!document) return;
  const std::optional<Graph> graph = GraphOf(*document);
  if (!graph) return;
  (void)Summary(*graph);
  const std::optional<Value> written =
      Tried([&] { return ModelOfGraph(tensorcast::GraphAccess::State(*graph)); });
  if (!written) return;
  std::optional<std::string> first;
  for (const std::string_view ending : kEndings) {
    const Syntax& other = *SyntaxOfEnding(ending);
    const std::optional<std::string> file = Tried([&] { return other.write(*written); });
    if (!file) continue;  // uint64 in BSON
    const std::optional<Value> again = Tried([&] { return other.read("file", *file); });
    Demand(again.has_value(), "what was written is refused");
    const std::optional<Graph> read = GraphOf(*again);
    Demand(read.has_value(), "what was written is not a model");
    const std::string summary = Summary(*read);
    Demand(!first || *first == summary, "two syntaxes give two models");
    first = summary;
  }
}

const Fuzzer kMdfFuzzer("mdf", FuzzMdf);

}  // namespace
