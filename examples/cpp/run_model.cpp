// Runs an ONNX model of Casts with one float32 input on four numbers, and prints what it gives.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "tensorcast/onnx.hpp"

namespace onnx = tensorcast::onnx;

int main(int argc, char** argv) {
  onnx::Model model;
  std::string error;
  if (argc != 2 || !onnx::Model::Load(argv[1], {}, &model, &error).ok()) {
    std::fprintf(stderr, "usage: run_model MODEL.onnx   %s\n", error.c_str());
    return 1;
  }

  const std::vector<float> values = {0.1f, 448.f, 512.f, -1e-9f};
  const std::vector<std::uint64_t> shape = {values.size()};
  std::vector<onnx::TensorView> inputs(model.inputs().size());  // the others take their defaults
  const auto x = model.FindInput("x").value_or(0);
  inputs.at(x).type = tensorcast::DataType::kFloat32;
  inputs[x].shape = shape;
  inputs[x].data = std::as_bytes(std::span(values));

  onnx::Outputs outputs;
  if (!model.Run(inputs, {}, &outputs, &error).ok()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string type(tensorcast::TypeName(outputs[i].type));
    std::printf("%s, %s:", model.outputs()[i].name.c_str(), type.c_str());
    for (const std::byte byte : outputs[i].data) std::printf(" %02x", std::to_integer<int>(byte));
    std::printf("\n");
  }
}
