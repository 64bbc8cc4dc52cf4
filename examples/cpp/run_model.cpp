// Runs an ONNX model of Casts with one float32 input on four numbers, and prints what it gives.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "tensorcast/session.hpp"

using tensorcast::Session;
using tensorcast::TensorView;

int main(int argc, char** argv) {
  Session session;
  std::string error;
  if (argc != 2 || !Session::Load(argv[1], {}, &session, &error).ok()) {
    std::fprintf(stderr, "usage: run_model MODEL.onnx   %s\n", error.c_str());
    return 1;
  }

  const std::vector<float> values = {0.1f, 448.f, 512.f, -1e-9f};
  const std::vector<std::uint64_t> shape = {values.size()};
  std::vector<TensorView> inputs(session.inputs().size());  // the others take their defaults
  std::size_t x = 0;
  (void)session.FindInput("x", &x);
  inputs.at(x).type = tensorcast::DataType::kFloat32;
  inputs[x].shape = shape;
  inputs[x].data = std::as_bytes(std::span(values));

  tensorcast::SessionResults outputs;
  if (!session.Run(inputs, {}, &outputs, &error).ok()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string type(tensorcast::TypeName(outputs[i].type));
    std::printf("%s, %s:", session.outputs()[i].name.c_str(), type.c_str());
    for (const std::byte byte : outputs[i].data) std::printf(" %02x", std::to_integer<int>(byte));
    std::printf("\n");
  }
}
