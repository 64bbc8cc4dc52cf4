// A checkpoint's directory as a sink: its tensors in other types, its other files, a configuration
// that is true of both.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_faults.h"
#include "checkpoint/checkpoint_others.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/model_config.h"
#include "convert/sink.h"
#include "files/error.h"
#include "files/named_file.h"
#include "files/same_bytes.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "json/ordered_json.h"
#include "scale/dialects/dialect.h"

namespace tensorcast::convert {
namespace {

constexpr const char* kConfig = "config.json";

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
  CheckpointSink(std::string path, const checkpoint::CheckpointReader& reader)
      : path_(std::move(path)), reader_(reader) {}

  std::uint64_t Check(const formats::FileContents& contents,
                      const files::CreateOptions& options) const override {
    return checkpoint::CheckCheckpoint(
        path_, reader_, contents, checkpoint::ShardsOf(reader_, contents, options.max_shard_bytes),
        checkpoint::FindOtherFiles(reader_).bytes, options);
  }

  std::vector<std::string> FilesOf(const formats::FileContents& contents,
                                   const files::CreateOptions& options,
                                   std::vector<std::uint32_t>& file_of) const override {
    checkpoint::Sharding sharding =
        checkpoint::ShardsOf(reader_, contents, options.max_shard_bytes);
    file_of = std::move(sharding.shard_of);
    return std::move(sharding.shards);
  }

  bool holds_scaled_weights() const override { return true; }

  std::vector<std::string> OtherInputs() const override {
    std::vector<std::string> paths;
    for (const std::string& name : checkpoint::FindOtherFiles(reader_).copied) {
      paths.push_back(files::Joined(reader_.directory(), name));
    }
    return paths;
  }

  std::vector<FaultyFile> OtherFilesAmiss(const formats::FileContents& contents,
                                          const checkpoint::OpenedInput& found) const override {
    const checkpoint::CheckpointExtras extras = Extras(contents);
    std::vector<FaultyFile> amiss;
    if (found.checkpoint != nullptr) {
      amiss = checkpoint::FaultsBesideTensors(*found.checkpoint, contents,
                                              checkpoint::ShardsOf(reader_, contents, 0));
    }
    const auto look = [&](const std::string& name, const auto& is_right) {
      const std::string path = files::Joined(path_, name);
      const bool is_missing = !files::IsFile(path);
      if (is_missing || !is_right(files::InputFile(path))) {
        amiss.push_back({name, is_missing ? FileFault::kMissing : FileFault::kContents});
      }
    };
    for (const std::string& name : extras.others.copied) {
      if (extras.texts.contains(name)) continue;
      const auto made = OpenInInput(name);
      look(name, [&](const files::InputFile& file) {
        return file.size() == made->size() && files::HaveSameBytes(file, *made, made->size());
      });
    }
    for (const auto& [name, text] : extras.texts) {
      look(name, [&text = text](const files::InputFile& file) {
        return file.size() == text.size() && checkpoint::ReadText(file, text.size()) == text;
      });
    }
    return amiss;
  }

  std::unique_ptr<formats::TensorWriter> Create(
      formats::FileContents contents, const files::CreateOptions& options,
      const std::atomic<bool>* interrupted) const override {
    checkpoint::Sharding sharding =
        checkpoint::ShardsOf(reader_, contents, options.max_shard_bytes);
    if (!options.begun.empty() && !options.takes_begun) {
      return checkpoint::JoinCheckpoint(path_, options, std::move(contents), std::move(sharding));
    }
    const checkpoint::CheckpointExtras extras = Extras(contents);
    return checkpoint::CreateCheckpoint(path_, reader_, std::move(contents), std::move(sharding),
                                        extras, options, interrupted);
  }

 private:
  checkpoint::CheckpointExtras Extras(const formats::FileContents& contents) const {
    checkpoint::CheckpointExtras extras;
    extras.others = checkpoint::FindOtherFiles(reader_);
    for (const auto& [directory, said] : contents.configurations) Say(directory, said, extras);
    return extras;
  }

  // Makes the configurations in a directory of the output say what they have to.
  void Say(const std::string& directory, const formats::Configuration& said,
           checkpoint::CheckpointExtras& extras) const {
    std::vector<std::string>& copied = extras.others.copied;
    const auto has = [&](const std::string& name) { return std::ranges::count(copied, name) != 0; };
    const bool is_quantised = !said.quantization_config.empty();
    const bool is_other = said.is_dequantised || is_quantised;
    if (is_other) {
      std::erase(copied, directory + checkpoint::kQuantizationFile);
      for (const scale::Dialect* const dialect : scale::Dialects()) {
        const std::string name = directory + std::string(dialect->file.name);
        if (dialect->file.says_more) {
          Edit(name, has(name), extras,
               [](checkpoint::ModelConfig& config) { config.RemoveQuantisation(); });
        } else {
          std::erase(copied, name);
        }
      }
    }
    for (const auto& [name, text] : said.files) extras.texts[directory + name] = text;
    const std::string name = directory + kConfig;
    Edit(name, has(name), extras, [&](checkpoint::ModelConfig& config) {
      if (said.model_type != DataType::kUndefined) config.SetType(said.model_type);
      if (is_other) config.RemoveQuantisation();
      if (is_quantised) {
        config.Set("quantization_config", Indented(said.quantization_config));
        // MLX reads it under a name of its own.
        if (scale::DialectOfConfig(json::JsonOrNull(said.quantization_config)) != nullptr) {
          config.Set("quantization", Indented(said.quantization_config));
        }
      }
    });
    if (is_quantised && !has(name)) {
      const std::string own = directory + checkpoint::kQuantizationFile;
      extras.texts[own] = said.quantization_config + "\n";
      const std::string input =
          directory.empty() ? reader_.directory() : files::Joined(reader_.directory(), directory);
      extras.notes.push_back(words::PathText(input) +
                             ": has no config.json; the \"quantization_config\" of these weights "
                             "is in " +
                             words::PathText(files::Joined(path_, own)));
    }
  }

  std::unique_ptr<files::ByteSource> OpenInInput(const std::string& name) const {
    return files::OpenNamedFile(files::Joined(reader_.directory(), name), reader_.enclosure(), 0);
  }

  // Writes a file of the input anew, if it is there.
  template <class Change>
  void Edit(const std::string& name, bool is_there, checkpoint::CheckpointExtras& extras,
            Change change) const {
    if (!is_there) return;
    const auto file = OpenInInput(name);
    try {
      checkpoint::ModelConfig config(*file);
      change(config);
      extras.texts[name] = config.text();
    } catch (const files::Error& error) {
      if (error.kind() != core::ErrorKind::kContents) throw;
      extras.notes.push_back(std::string(error.what()) + "; it is copied as it is");
    }
  }

  std::string path_;
  const checkpoint::CheckpointReader& reader_;
};

}  // namespace

std::unique_ptr<Sink> OpenCheckpointSink(const std::string& path,
                                         const checkpoint::CheckpointReader& reader) {
  return std::make_unique<CheckpointSink>(path, reader);
}

}  // namespace tensorcast::convert
