// A model's Cast beside the engine's own, and what many nodes cost. Prints CSV: milliseconds, and
// for the casts the ratio to CastPlan::Run on buffers that are as new or as used.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensorcast/onnx.hpp"
#include "tensorcast/session.hpp"

namespace tensorcast {
namespace {

constexpr int kRounds = 9;
constexpr std::uint64_t kElements = std::uint64_t{64} << 20;

std::string Varint(std::uint64_t value) {
  std::string text;
  for (; value > 127; value >>= 7) text += static_cast<char>(value % 128 + 128);
  return text + static_cast<char>(value);
}
std::string Number(std::uint32_t field, std::uint64_t value) {
  return Varint(field * 8) + Varint(value);
}
std::string Text(std::uint32_t field, const std::string& payload) {
  return Varint(field * 8 + 2) + Varint(payload.size()) + payload;
}
std::string Value(const std::string& name, int type) {
  return Text(1, name) + Text(2, Text(1, Number(1, static_cast<std::uint64_t>(type))));
}

// A chain of Casts at opset 25, float32 to float16 and back and so on.
std::string Chain(std::uint64_t nodes) {
  std::string graph;
  std::string from = "x";
  for (std::uint64_t i = 0; i < nodes; ++i) {
    std::string to("v");
    to += std::to_string(i);
    const std::string attribute = Text(1, "to") + Number(3, i % 2 == 0 ? 10 : 1) + Number(20, 2);
    graph += Text(1, Text(1, from) + Text(2, to) + Text(4, "Cast") + Text(5, attribute));
    from = to;
  }
  graph += Text(11, Value("x", 1)) + Text(12, Value(from, nodes % 2 == 0 ? 1 : 10));
  return Number(1, 10) + Text(8, Number(2, 25)) + Text(7, graph);
}

double Milliseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void Check(bool is_right, const std::string& what) {
  if (is_right) return;
  std::fprintf(stderr, "model_speed: %s\n", what.c_str());
  std::exit(1);
}

void MeasureCast(std::size_t threads) {
  const std::string bytes = Chain(1);
  Session session;
  std::string error;
  Check(Session::Parse(std::as_bytes(std::span(bytes)), {}, &session, &error).ok(), error);
  CastPlan plan;
  Check(CastPlan::Bind(DataType::kFloat32, DataType::kFloat16, {}, &plan).ok(), "no plan");
  std::vector<float> source(kElements);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i % 1000) * 0.01F;
  const auto executor = threads == 1 ? nullptr : MakeTbbExecutor(threads);
  RunOptions run;
  run.executor = executor.get();
  GraphRun graph_run;
  graph_run.executor = executor.get();
  const std::uint64_t shape[] = {kElements};
  TensorView input;
  input.type = DataType::kFloat32;
  input.shape = shape;
  input.data = std::as_bytes(std::span(source));

  std::vector<std::byte> destination(2 * kElements);
  SessionResults outputs;
  std::vector<double> used_plan, used_model, new_plan, new_model;
  for (int round = 0; round < kRounds; ++round) {
    used_plan.push_back(Milliseconds(
        [&] { Check(plan.Run(input.data, 0, destination, 0, kElements, run).ok(), "Run"); }));
    used_model.push_back(Milliseconds([&] {
      Check(session.Run({&input, 1}, graph_run, &outputs, &error).ok(), error);
    }));
    new_plan.push_back(Milliseconds([&] {
      const auto fresh = std::make_unique_for_overwrite<std::byte[]>(2 * kElements);
      Check(plan.Run(input.data, 0, {fresh.get(), 2 * kElements}, 0, kElements, run).ok(), "Run");
    }));
    new_model.push_back(Milliseconds([&] {
      SessionResults fresh;
      Check(session.Run({&input, 1}, graph_run, &fresh, &error).ok(), error);
    }));
  }
  // The ratios round by round: the machine's noise meets both alike.
  const auto ratio = [](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
    return Median(ratios);
  };
  std::printf("cast_64M_%zu_threads,%.1f,%.1f,%.2f\n", threads, Median(used_model),
              Median(used_plan), ratio(used_model, used_plan));
  std::printf("cast_64M_%zu_threads_new_memory,%.1f,%.1f,%.2f\n", threads, Median(new_model),
              Median(new_plan), ratio(new_model, new_plan));
}

void MeasureNodes(std::uint64_t nodes) {
  const std::string bytes = Chain(nodes);
  const float value = 1.5F;
  TensorView input;
  input.type = DataType::kFloat32;
  input.data = std::as_bytes(std::span(&value, 1));
  std::vector<double> loads, runs;
  for (int round = 0; round < (nodes > 100'000 ? 3 : kRounds); ++round) {
    Session session;
    std::string error;
    loads.push_back(Milliseconds([&] {
      Check(Session::Parse(std::as_bytes(std::span(bytes)), {}, &session, &error).ok(), error);
    }));
    SessionResults outputs;
    runs.push_back(Milliseconds([&] {
      Check(session.Run({&input, 1}, {}, &outputs, &error).ok(), error);
    }));
  }
  std::printf("load_%llu_nodes,%.1f,,\n", static_cast<unsigned long long>(nodes), Median(loads));
  std::printf("run_%llu_nodes,%.1f,,\n", static_cast<unsigned long long>(nodes), Median(runs));
}

// Blocks of five nodes, of which three Casts can go, with an operator that is not known between
// them, as exporters write them.
std::string Blocks(std::uint64_t nodes) {
  const auto cast = [](const std::string& from, const std::string& to, std::uint64_t type) {
    const std::string attribute = Text(1, "to") + Number(3, type) + Number(20, 2);
    return Text(1, Text(1, from) + Text(2, to) + Text(4, "Cast") + Text(5, attribute));
  };
  std::string graph;
  std::string from = "x";
  for (std::uint64_t i = 0; i < nodes / 5; ++i) {
    std::string name("v");
    name += std::to_string(i);
    graph += cast(from, name + "a", 6) + cast(name + "a", name + "b", 7) +
             cast(name + "b", name + "c", 2) + cast(name + "b", name + "d", 1) +
             Text(1, Text(1, name + "c") + Text(1, name + "d") + Text(2, name) + Text(4, "Opaque") +
                         Text(7, "bench"));
    graph += Text(13, Value(name, 2));
    from = name;
  }
  graph += Text(11, Value("x", 2)) + Text(12, Value(from, 2));
  return Number(1, 10) + Text(8, Number(2, 25)) + Text(7, graph);
}

void MeasureOptimising(std::uint64_t nodes) {
  const std::string bytes = Blocks(nodes);
  std::vector<double> times;
  for (int round = 0; round < (nodes > 100'000 ? 3 : kRounds); ++round) {
    std::vector<std::byte> optimised;
    onnx::OptimizeReport report;
    std::string error;
    times.push_back(Milliseconds([&] {
      Check(onnx::Optimize(std::as_bytes(std::span(bytes)), {}, &optimised, &report, &error).ok(),
            error);
    }));
    Check(report.removed.size() == nodes / 5 * 3, "not all Casts were removed");
  }
  std::printf("optimise_%llu_nodes,%.1f,,\n", static_cast<unsigned long long>(nodes),
              Median(times));
}

}  // namespace
}  // namespace tensorcast

int main() {
  std::printf("what,model_ms,plan_ms,ratio\n");
  tensorcast::MeasureCast(1);
  tensorcast::MeasureCast(2);
  for (const std::uint64_t nodes : {1'000, 10'000, 100'000, 1'000'000}) {
    tensorcast::MeasureNodes(nodes);
    tensorcast::MeasureOptimising(nodes);
  }
}
