// What a graph costs beside the engine, by the flat C calls: a run of one Cast over the plan's own
// run, and the building, saving and opening of graphs of many nodes. Prints CSV.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "tensorcast/graph.h"
#include "tensorcast/session.h"

namespace {

constexpr int kRounds = 15;
constexpr int kCalls = 20'000;

void Check(std::int32_t status) {
  if (status == TENSORCAST_OK) return;
  char text[1024] = "";
  (void)tensorcast_last_error(text, sizeof text, nullptr);
  std::fprintf(stderr, "graph_speed: status %d: %s\n", static_cast<int>(status), text);
  std::exit(1);
}

double Seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// float32 to float16 and back and so on; the last value is an output.
tensorcast_graph* Chain(int nodes) {
  tensorcast_graph* graph = nullptr;
  std::int64_t value = 0;
  Check(tensorcast_graph_create(0, 0, 0, &graph));
  Check(tensorcast_graph_add_input(graph, "x", TENSORCAST_FLOAT32, nullptr, -1, "", &value));
  for (int i = 0; i < nodes; ++i) {
    const std::int32_t to = i % 2 == 0 ? TENSORCAST_FLOAT16 : TENSORCAST_FLOAT32;
    Check(tensorcast_graph_add_cast(graph, value, to, 1, 0, "", "", 1, 1, &value));
  }
  Check(tensorcast_graph_mark_output(graph, value, "y"));
  return graph;
}

// Nanoseconds of a run of one Cast of n elements, of the plan alone, and between them.
void MeasureOneCast(std::int64_t n) {
  tensorcast_graph* const graph = Chain(1);
  tensorcast_session* session = nullptr;
  tensorcast_plan* plan = nullptr;
  Check(tensorcast_session_create(graph, 0, 0, 0, TENSORCAST_TARGET_BEST, &session));
  Check(tensorcast_plan_create(TENSORCAST_FLOAT32, TENSORCAST_FLOAT16, nullptr,
                               TENSORCAST_TARGET_BEST, &plan));
  const auto count = static_cast<std::uint64_t>(n);
  std::vector<float> source(count, 1.5F);
  std::vector<std::uint16_t> result(count);
  Check(tensorcast_session_bind_input(session, 0, nullptr, source.data(), 4 * count, &n, 1,
                                      TENSORCAST_FLOAT32, nullptr, 0, 0));
  Check(tensorcast_session_bind_output(session, 0, nullptr, result.data(), 2 * count));
  std::vector<double> of_session, of_plan, more;
  const int calls = n > 10'000 ? kCalls / 100 : kCalls;
  for (int round = 0; round < kRounds; ++round) {
    of_session.push_back(1e9 / calls * Seconds([&] {
                           for (int i = 0; i < calls; ++i)
                             Check(tensorcast_session_run(session, nullptr, nullptr, 0));
                         }));
    of_plan.push_back(1e9 / calls * Seconds([&] {
                        for (int i = 0; i < calls; ++i) {
                          Check(tensorcast_plan_run(plan, source.data(), 4 * count, 0,
                                                    result.data(), 2 * count, 0, count, nullptr));
                        }
                      }));
    more.push_back(of_session.back() - of_plan.back());
  }
  std::printf("one_cast_%lld_ns,%.0f,%.0f,%.0f\n", static_cast<long long>(n), Median(of_session),
              Median(of_plan), Median(more));
  tensorcast_plan_destroy(plan);
  tensorcast_session_destroy(session);
  tensorcast_graph_destroy(graph);
}

// Milliseconds.
void MeasureNodes(int nodes) {
  std::vector<double> build, serialize, parse, create, run;
  for (int round = 0; round < (nodes < 100'000 ? kRounds : 5); ++round) {
    tensorcast_graph* graph = nullptr;
    tensorcast_graph* loaded = nullptr;
    tensorcast_session* session = nullptr;
    std::uint64_t size = 0;
    build.push_back(1e3 * Seconds([&] { graph = Chain(nodes); }));
    (void)tensorcast_graph_serialize(graph, 0, nullptr, 0, &size);
    std::vector<std::byte> model(size);
    serialize.push_back(1e3 * Seconds([&] {
                          Check(tensorcast_graph_serialize(graph, 0, model.data(), size, nullptr));
                        }));
    parse.push_back(
        1e3 * Seconds([&] { Check(tensorcast_graph_parse(model.data(), size, 0, &loaded)); }));
    create.push_back(
        1e3 * Seconds([&] {
          Check(tensorcast_session_create(graph, 0, 0, 0, TENSORCAST_TARGET_BEST, &session));
        }));
    const float value = 1.5F;
    Check(tensorcast_session_bind_input(session, 0, nullptr, &value, 4, nullptr, 0,
                                        TENSORCAST_FLOAT32, nullptr, 0, 0));
    Check(tensorcast_session_run(session, nullptr, nullptr, 0));
    run.push_back(1e3 *
                  Seconds([&] { Check(tensorcast_session_run(session, nullptr, nullptr, 0)); }));
    tensorcast_session_destroy(session);
    tensorcast_graph_destroy(loaded);
    tensorcast_graph_destroy(graph);
  }
  for (const auto& [what, times] : {std::pair{"build", &build},
                                    {"serialize", &serialize},
                                    {"parse", &parse},
                                    {"open_session", &create},
                                    {"run", &run}}) {
    std::printf("%s_%d_nodes_ms,%.2f,,\n", what, nodes, Median(*times));
  }
}

}  // namespace

int main() {
  std::printf("what,graph,plan,more\n");
  for (const std::int64_t n : {1, 64, 1'024, 65'536}) MeasureOneCast(n);
  for (const int nodes : {1'000, 100'000, 1'000'000}) MeasureNodes(nodes);
}
