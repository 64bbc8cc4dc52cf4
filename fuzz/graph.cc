// Fuzzes graphs: the bytes are calls of graph.h, wrong ones among them. What was built is saved if
// it can be, and is then a model that loads, saves as the same bytes, and runs forward and
// backward.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "demand.h"
#include "fuzzers.h"
#include "tensorcast/graph.h"
#include "tensorcast/session.h"

namespace {

constexpr std::size_t kMostCalls = 256;
constexpr std::uint64_t kElements = 3;

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool IsAtEnd() const { return size_ == 0; }
  std::uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  int Below(int n) { return Byte() % n; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

// Names that collide now and then, of what is not UTF-8 and of control characters too.
std::string NameOf(Bytes& bytes) {
  static const char* const names[] = {"",  "x", "y", "Cast_0", "Cast_0_output_0", "a\nb",
                                      "é", "w", "z", "\xFF",   "Identity_0",      "\x01"};
  return names[bytes.Below(12)];
}

std::vector<std::byte> ModelOf(const tensorcast_graph* graph, bool with_training) {
  std::uint64_t size = 0;
  const std::int32_t asked =
      tensorcast_graph_serialize(graph, with_training ? 1 : 0, nullptr, 0, &size);
  if (asked != TENSORCAST_BUFFER_TOO_SMALL) return {};
  std::vector<std::byte> model(static_cast<std::size_t>(size));
  Demand(tensorcast_graph_serialize(graph, with_training ? 1 : 0, model.data(), size, nullptr) ==
             TENSORCAST_OK,
         "a graph that takes another size than it said");
  return model;
}

class Builder {
 public:
  explicit Builder(Bytes& bytes) : bytes_(bytes), values_{0, -1, INT64_MAX} {
    const std::int64_t opset = bytes_.Below(32);
    const std::int32_t raises = bytes_.Below(2);
    if (tensorcast_graph_create(opset, raises, bytes_.Below(2), &graph_) != TENSORCAST_OK) {
      Demand(tensorcast_graph_create(0, 1, 0, &graph_) == TENSORCAST_OK, "no graph");
    }
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() { tensorcast_graph_destroy(graph_); }

  tensorcast_graph* graph() const { return graph_; }

  void Call() {
    const std::string name = NameOf(bytes_);
    switch (bytes_.Below(12)) {
      case 0: AddInput(name); break;
      case 1: AddConstant(name); break;
      case 2:
      case 3: AddCast(name); break;
      case 4: AddCastLike(name); break;
      case 5:
        Took(tensorcast_graph_add_identity(graph_, Value(), name.c_str(), "", &added_));
        break;
      case 6: (void)tensorcast_graph_mark_output(graph_, Value(), name.c_str()); break;
      case 7: SetCast(name); break;
      case 8: (void)tensorcast_graph_rename_value(graph_, Value(), name.c_str()); break;
      case 9: (void)tensorcast_graph_rename_node(graph_, Node(), "", name.c_str()); break;
      case 10: (void)tensorcast_graph_remove_node(graph_, Node(), name.c_str()); break;
      default: (void)tensorcast_graph_set_opset(graph_, bytes_.Below(31) - 1); break;
    }
  }

 private:
  std::int64_t Value() { return values_[bytes_.Byte() % values_.size()]; }
  std::int64_t Node() { return bytes_.Below(20) - 3; }
  std::int32_t Type() { return bytes_.Below(30); }

  void Took(std::int32_t status) {
    Demand((status == TENSORCAST_OK) == (added_ != 0), "a status and a value that disagree");
    if (status == TENSORCAST_OK) values_.push_back(added_);
  }

  void AddInput(const std::string& name) {
    const std::int64_t shape[2] = {bytes_.Below(2) == 0 ? -1 : 3, 1};
    const std::int32_t type = Type();
    const std::int64_t rank = bytes_.Below(5) - 2;
    const std::string dim_names = NameOf(bytes_);
    Took(tensorcast_graph_add_input(graph_, name.c_str(), type, shape, rank, dim_names.c_str(),
                                    &added_));
  }

  void AddConstant(const std::string& name) {
    const std::int64_t three = kElements;
    const std::int64_t lengths[kElements] = {1, 0, 1};
    const std::int32_t type = Type();
    std::uint64_t size = type == TENSORCAST_STRING ? 2 : 0;
    (void)tensorcast_storage_bytes(type, kElements, &size);
    if (type == TENSORCAST_STRING) size = 2;
    if (bytes_.Below(16) == 0) ++size;
    const std::string data(static_cast<std::size_t>(size), '1');
    Took(tensorcast_graph_add_constant(graph_, name.c_str(), data.data(), size, &three, 1, type,
                                       lengths, kElements, &added_));
  }

  // Read one after the other, so that every compiler makes the same calls of the same bytes.
  struct Settings {
    explicit Settings(Bytes& bytes)
        : output(NameOf(bytes)),
          saturate(bytes.Below(2)),
          round_mode(bytes.Below(3)),
          training(bytes.Below(2)),
          lda(bytes.Below(5) * 0.5 - 1) {}
    std::string output;
    std::int32_t saturate, round_mode, training;
    double lda;
  };

  void AddCast(const std::string& name) {
    const Settings with(bytes_);
    const std::int64_t input = Value();
    const std::int32_t to = Type();
    Took(tensorcast_graph_add_cast(graph_, input, to, with.saturate, with.round_mode, name.c_str(),
                                   with.output.c_str(), with.training, with.lda, &added_));
  }

  void AddCastLike(const std::string& name) {
    const Settings with(bytes_);
    const std::int64_t input = Value();
    const std::int64_t target = Value();
    Took(tensorcast_graph_add_cast_like(graph_, input, target, with.saturate, with.round_mode,
                                        name.c_str(), with.output.c_str(), with.training, with.lda,
                                        &added_));
  }

  void SetCast(const std::string& name) {
    const double number = bytes_.Below(32);
    const std::int64_t node = Node();
    (void)tensorcast_graph_set_cast(graph_, node, name.c_str(), bytes_.Below(6), number);
  }

  Bytes& bytes_;
  tensorcast_graph* graph_ = nullptr;
  std::vector<std::int64_t> values_;  // those that were given, and some that none was
  std::int64_t added_ = 0;
};

void Bind(tensorcast_session* session, std::int64_t input) {
  const std::int64_t lengths[kElements] = {1, 1, 1};
  std::int32_t type = 0;
  std::int64_t rank = 0;
  Demand(tensorcast_session_value(session, TENSORCAST_GRAPH_INPUTS, input, nullptr, nullptr, &type,
                                  &rank, nullptr) == TENSORCAST_OK,
         "an input that is not there");
  // Of the rank that is declared; a scalar has one element.
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank < 0 ? 1 : rank), 1);
  if (!shape.empty()) shape[0] = kElements;
  const std::uint64_t elements = shape.empty() ? 1 : kElements;
  std::uint64_t size = elements;  // of strings
  if (type != TENSORCAST_STRING) (void)tensorcast_storage_bytes(type, elements, &size);
  const std::string data(static_cast<std::size_t>(size), '\1');
  const std::string texts(kElements, '1');
  const bool is_text = type == TENSORCAST_STRING;
  Demand(tensorcast_session_bind_input(session, input, nullptr,
                                       is_text ? texts.data() : data.data(), size, shape.data(),
                                       shape.size(), type, lengths, elements, 1) == TENSORCAST_OK,
         "an input that cannot be bound");
}

// Gives each output the value of itself as its gradient, where it may have one.
void RunBack(tensorcast_session* session, std::uint64_t outputs) {
  for (std::uint64_t i = 0; i < outputs; ++i) {
    const auto index = static_cast<std::int64_t>(i);
    std::int32_t type = 0;
    std::uint64_t rank = 0, elements = 0, size = 0;
    Demand(tensorcast_session_output_size(session, index, nullptr, &type, &rank, &elements,
                                          &size) == TENSORCAST_OK,
           "an output without a size");
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    std::vector<std::int64_t> shape(static_cast<std::size_t>(rank));
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(elements));
    Demand(tensorcast_session_copy_output(session, index, nullptr, bytes.data(), size, shape.data(),
                                          rank, lengths.data(), elements) == TENSORCAST_OK,
           "an output that cannot be copied");
    (void)tensorcast_session_bind_gradient(session, index, nullptr, bytes.data(), size,
                                           shape.data(), rank, type, 1);
  }
  Demand(tensorcast_session_backward(session, nullptr, nullptr) == TENSORCAST_OK,
         "a run that does not go back");
}

void Run(const tensorcast_graph* graph) {
  tensorcast_session* session = nullptr;
  Demand(
      tensorcast_session_create(graph, 1, 1, 0, TENSORCAST_TARGET_BEST, &session) == TENSORCAST_OK,
      "a graph that is saved but does not run");
  std::uint64_t inputs = 0, outputs = 0;
  (void)tensorcast_session_value_count(session, TENSORCAST_GRAPH_INPUTS, &inputs);
  (void)tensorcast_session_value_count(session, TENSORCAST_GRAPH_OUTPUTS, &outputs);
  for (std::uint64_t i = 0; i < inputs; ++i) Bind(session, static_cast<std::int64_t>(i));
  const std::int32_t status = tensorcast_session_run(session, nullptr, nullptr, 1);
  // Constants of strings may be no numbers, and numbers no integers.
  Demand(status == TENSORCAST_OK || status == TENSORCAST_NOT_A_NUMBER ||
             status == TENSORCAST_NOT_AN_INTEGER,
         "a run that fails");
  if (status == TENSORCAST_OK) RunBack(session, outputs);
  tensorcast_session_destroy(session);
}

void FuzzGraph(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  Builder builder(bytes);
  for (std::size_t i = 0; i < kMostCalls && !bytes.IsAtEnd(); ++i) builder.Call();
  const bool with_training = size % 2 == 1;
  const std::vector<std::byte> model = ModelOf(builder.graph(), with_training);
  if (model.empty()) return;
  tensorcast_graph* loaded = nullptr;
  Demand(tensorcast_graph_parse(model.data(), model.size(), 0, &loaded) == TENSORCAST_OK,
         "a saved graph that does not load");
  const std::vector<std::byte> again = ModelOf(loaded, with_training);
  Demand(again.size() == model.size(), "a loaded graph that is saved as another");
  Run(builder.graph());
  Run(loaded);
  tensorcast_graph_destroy(loaded);
}

const Fuzzer kGraphFuzzer("graph", FuzzGraph);

}  // namespace
