// Builds a graph of two casts, runs it forward and backward, and prints what it gives.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tensorcast/graph.hpp"
#include "tensorcast/session.hpp"

using tensorcast::DataType;
using tensorcast::TensorView;

namespace {

void Check(const tensorcast::Status& status) {
  if (status.ok()) return;
  const std::string text(status.message());
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(1);
}

template <class Number> void Print(const char* what, const char* format, const TensorView& view) {
  std::vector<Number> numbers(view.data.size() / sizeof(Number));
  std::memcpy(numbers.data(), view.data.data(), view.data.size());
  std::printf("%s:", what);
  for (const Number number : numbers) std::printf(format, number);
  std::printf("\n");
}

}  // namespace

int main() {
  // x: float32[?, 3] -> y: float16; gradients are halved on their way back.
  tensorcast::Graph graph;
  tensorcast::GraphValue x, y;
  Check(graph.AddInput("x", DataType::kFloat32, {{}, {.size = 3}}, &x));
  Check(graph.AddCast(x, {.to = DataType::kFloat16, .lda_coeff = 0.5}, &y));
  Check(graph.MarkOutput(y, "y"));

  tensorcast::Session session;
  Check(tensorcast::Session::Create(graph, {.backward = true}, &session));
  const std::vector<float> values = {1.0f, 0.1f, 70000.0f};
  const std::vector<std::uint64_t> shape = {1, 3};
  TensorView view;
  view.type = DataType::kFloat32;
  view.shape = shape;
  view.data = std::as_bytes(std::span(values));
  Check(session.BindInput("x", view));
  Check(session.Run({}));
  TensorView result;
  Check(session.Output("y", &result));
  Print<std::uint16_t>("y, codes of float16", " %04x", result);

  const std::vector<std::uint16_t> ones = {0x3c00, 0x3c00, 0x3c00};
  TensorView gradient = result;
  gradient.data = std::as_bytes(std::span(ones));
  Check(session.BindGradient("y", gradient));
  Check(session.Backward({}));
  bool has_gradient = false;
  Check(session.Gradient("x", &has_gradient, &result));
  Print<float>("gradient of x", " %g", result);
}
