// Writes and reads what nodes say of training.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/run/training_metadata.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/failure.h"
#include "graph/graph_state.h"
#include "onnx/byte_sources.h"
#include "protobuf/onnx_fields.h"
#include "protobuf/protobuf_wire.h"
#include "protobuf/tensor_proto_message.h"
#include "text/shortest.h"
#include "words/error_text.h"

namespace tensorcast::onnx {
namespace {

constexpr std::string_view kKey = "tensorcast.training";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kOff = "training=false";
constexpr std::string_view kLda = "lda_coeff=";
// Far more than an entry of ours has.
constexpr std::uint64_t kMostEntryBytes = std::uint64_t{1} << 20;

struct Setting {
  bool trains = true;
  double lda = 1;
};

std::optional<Setting> SettingOf(std::string_view text) {
  Setting setting;
  if (text.starts_with(kOff)) {
    setting.trains = false;
    text.remove_prefix(kOff.size());
    if (text.empty()) return setting;
    if (!text.starts_with(' ')) return std::nullopt;
    text.remove_prefix(1);
  }
  if (!text.starts_with(kLda)) return std::nullopt;
  text.remove_prefix(kLda.size());
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, setting.lda);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return setting;
}

// The output of an entry's key; nothing where it is no key of ours; empty: that of the model.
std::optional<std::string_view> OutputOf(std::string_view key) {
  if (!key.starts_with(kKey)) return std::nullopt;
  key.remove_prefix(kKey.size());
  if (key.empty()) return key;
  if (key.front() != ':' || key.size() == 1) return std::nullopt;
  return key.substr(1);
}

// The entry that a field of the model holds, if it is metadata.
std::optional<protobuf::StringEntry> EntryOf(const graph::Blob& bytes) {
  constexpr std::uint64_t kTagBytes = 10;
  if (bytes.size > kMostEntryBytes + kTagBytes) return std::nullopt;
  const BlobSource source(bytes);
  protobuf::WireReader reader(source, 0, bytes.size);
  protobuf::WireField field;
  if (!reader.Next(&field) || field.number != protobuf::FieldNumber("ModelProto.metadata_props")) {
    return std::nullopt;
  }
  return protobuf::ReadStringEntry(source, field, [](std::string_view) {
    throw core::Failure(StatusCode::kBadFile,
                        "metadata_props of the model hold something that is not a text");
  });
}

}  // namespace

std::vector<std::pair<std::string, std::string>> TrainingEntries(const graph::Graph& graph) {
  std::vector<std::pair<std::string, std::string>> entries = {
      {std::string(kKey), std::string(kVersion)}};
  for (const graph::Node& node : graph.body.nodes) {
    const bool is_usual = node.trains && node.lda == 1;
    if (is_usual || node.outputs.empty() || node.outputs[0] == graph::kNoValue) continue;
    std::string value(node.trains ? std::string_view() : kOff);
    if (node.lda != 1) {
      value +=
          std::string(value.empty() ? "" : " ") + std::string(kLda) + text::ShortestText(node.lda);
    }
    entries.emplace_back(std::string(kKey) + ':' + graph.body.name(node.outputs[0]), value);
  }
  return entries;
}

void TakeTrainingEntries(graph::Graph& graph) {
  std::unordered_map<std::string, Setting> settings;
  std::vector<graph::Blob> others;
  for (graph::Blob& bytes : graph.model_fields) {
    const std::optional<protobuf::StringEntry> entry = EntryOf(bytes);
    const std::optional<std::string_view> output =
        entry ? OutputOf(entry->key) : std::optional<std::string_view>();
    if (!output) {
      others.push_back(std::move(bytes));
      continue;
    }
    const auto refuse = [&](const std::string& why) {
      throw core::Failure(StatusCode::kBadFile, "metadata_props has " + words::Quoted(entry->key) +
                                                    " = " + words::Quoted(entry->value) + why);
    };
    if (output->empty()) {
      if (entry->value != kVersion) refuse(", a version that is not known here; expected \"1\"");
      graph.holds_training = true;
      continue;
    }
    const std::optional<Setting> setting = SettingOf(entry->value);
    if (!setting) refuse("; expected \"training=false\", \"lda_coeff=X\", or both");
    settings[std::string(*output)] = *setting;
  }
  graph.model_fields = std::move(others);
  if (settings.empty()) return;
  for (graph::Node& node : graph.body.nodes) {
    if (!GraphState::IsCast(node) || node.outputs.empty() || node.outputs[0] == graph::kNoValue)
      continue;
    const auto found = settings.find(graph.body.name(node.outputs[0]));
    if (found == settings.end()) continue;
    node.trains = found->second.trains;
    node.lda = found->second.lda;
  }
}

}  // namespace tensorcast::onnx
