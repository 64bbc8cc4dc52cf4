// Fuzzes the removal of Casts: what comes out of a model is a model, and where the original runs,
// so does it, with the same outputs.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "demand.h"
#include "fuzzers.h"
#include "tensorcast/onnx.hpp"
#include "tensorcast/session.hpp"

namespace {

using namespace tensorcast;

constexpr std::uint64_t kRunElements = 40;

struct Ran {
  bool loaded = false;
  bool ran = false;
  std::vector<std::vector<std::byte>> outputs;  // with the types and the texts
};

// Inputs are of the model's types and hold the same bytes each time.
Ran Run(std::span<const std::byte> bytes, std::uint8_t fill) {
  Ran result;
  Session session;
  if (!Session::Parse(bytes, {}, &session).ok()) return result;
  result.loaded = true;
  std::vector<std::byte> data(8 * kRunElements);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>(i * 37 + fill);
  }
  const std::string digits("1234567890123456789012345678901234567890");
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i <= kRunElements; ++i) offsets.push_back(i);
  const std::uint64_t shape[] = {kRunElements};
  std::vector<TensorView> inputs;
  for (const ValueInfo& info : session.inputs()) {
    TensorView& view = inputs.emplace_back();
    if (info.has_default) continue;
    view.type = info.type;
    view.shape = shape;
    if (info.type == DataType::kString) {
      view.strings = {offsets, digits};
    } else {
      view.data = std::span(data).first(StorageBytes(info.type, kRunElements).value());
    }
  }
  SessionResults outputs;
  if (!session.Run(inputs, {}, &outputs).ok()) return result;
  result.ran = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::vector<std::byte>& output = result.outputs.emplace_back();
    output.push_back(static_cast<std::byte>(outputs[i].type));
    const auto add = [&](std::span<const std::byte> more) {
      output.insert(output.end(), more.begin(), more.end());
    };
    add(outputs[i].data);
    add(std::as_bytes(outputs[i].strings.offsets));
    add(std::as_bytes(outputs[i].strings.bytes));
  }
  return result;
}

void Optimise(std::span<const std::byte> bytes, bool fold_all) {
  onnx::OptimizeOptions options;
  options.fold_all = fold_all;
  std::vector<std::byte> optimised;
  onnx::OptimizeReport report;
  std::string error;
  if (!onnx::Optimize(bytes, options, &optimised, &report, &error).ok()) {
    Demand(!error.empty() && error.find('\n') == std::string::npos, "an error of one line");
    return;
  }
  Demand(report.changed() || std::ranges::equal(bytes, optimised),
         "other bytes, though nothing was changed");
  std::vector<std::byte> again;
  Demand(onnx::Optimize(optimised, options, &again, &report, &error).ok(), error.c_str());
  const std::uint8_t fill = bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes.back());
  const Ran before = Run(bytes, fill);
  if (!before.loaded) return;
  const Ran after = Run(optimised, fill);
  Demand(after.loaded, "a model that does not load any more");
  if (!before.ran) return;
  Demand(after.ran && before.outputs == after.outputs, "other outputs");
}

void FuzzOptimise(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  Optimise(bytes, false);
  Optimise(bytes, true);
}

const Fuzzer kOptimiseFuzzer("optimise", FuzzOptimise);

}  // namespace
