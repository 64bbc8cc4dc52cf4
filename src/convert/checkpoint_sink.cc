// A checkpoint's directory as a sink: its tensors in other types, its other files, a configuration
// that is true of both.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/sink.h"
#include "io/checkpoint_others.h"
#include "io/checkpoint_reader.h"
#include "io/checkpoint_writer.h"
#include "io/model_config.h"
#include "io/system_directory.h"

namespace tensorcast::convert {
namespace {

constexpr const char* kConfig = "config.json";
// All of it is of quantised tensors.
constexpr const char* kQuantisation = "hf_quant_config.json";

// JSON of several lines as the value of an outermost member.
std::string Indented(std::string_view json) {
  std::string text;
  for (const char c : json) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

class CheckpointSink final : public Sink {
 public:
  CheckpointSink(std::string path, const io::CheckpointReader& reader)
      : path_(std::move(path)), reader_(reader) {}

  std::uint64_t Check(const io::FileContents& contents,
                      const io::CreateOptions& options) const override {
    return io::CheckCheckpoint(path_, reader_, contents,
                               io::LayOutCheckpoint(reader_, contents, options.max_shard_bytes),
                               io::FindOtherFiles(reader_).bytes, options);
  }

  bool holds_scaled_weights() const override { return true; }

  std::unique_ptr<io::TensorWriter> Create(io::FileContents contents,
                                           const io::CreateOptions& options,
                                           const std::atomic<bool>* interrupted) const override {
    io::CheckpointLayout layout = io::LayOutCheckpoint(reader_, contents, options.max_shard_bytes);
    const io::CheckpointExtras extras = Extras(contents);
    return io::CreateCheckpoint(path_, reader_, std::move(contents), std::move(layout), extras,
                                options, interrupted);
  }

 private:
  io::CheckpointExtras Extras(const io::FileContents& contents) const {
    io::CheckpointExtras extras;
    extras.others = io::FindOtherFiles(reader_);
    std::vector<std::string>& copied = extras.others.copied;
    const bool is_quantised = !contents.quantization_config.empty();
    if (contents.is_dequantised || is_quantised) std::erase(copied, kQuantisation);
    if (!contents.hf_quant_config.empty()) extras.texts[kQuantisation] = contents.hf_quant_config;
    const DataType type = io::ModelType(contents);
    if (std::find(copied.begin(), copied.end(), kConfig) == copied.end()) return extras;
    const io::InputFile file(io::Joined(reader_.directory(), kConfig), reader_.enclosure());
    try {
      io::ModelConfig config(file);
      if (type != DataType::kUndefined) config.SetType(type);
      if (contents.is_dequantised || is_quantised) config.RemoveQuantisation();
      if (is_quantised) {
        config.Set("quantization_config", Indented(contents.quantization_config));
      }
      extras.texts[kConfig] = config.text();
    } catch (const io::Error& error) {
      if (error.kind() != io::ErrorKind::kContents) throw;
      extras.notes.push_back(std::string(error.what()) + "; it is copied as it is");
    }
    return extras;
  }

  std::string path_;
  const io::CheckpointReader& reader_;
};

}  // namespace

std::unique_ptr<Sink> OpenCheckpointSink(const std::string& path,
                                         const io::CheckpointReader& reader) {
  return std::make_unique<CheckpointSink>(path, reader);
}

}  // namespace tensorcast::convert
