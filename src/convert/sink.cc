// Files of tensors as sinks, and the choice among all of them.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/sink.h"

#include <filesystem>
#include <utility>

#include "convert/gguf_sink.h"

namespace tensorcast::convert {
namespace {

class FileSink final : public Sink {
 public:
  explicit FileSink(std::string path) : path_(std::move(path)) {}

  std::string_view one_tensor_file() const override { return formats::OneTensorFile(path_); }
  bool holds_scaled_weights() const override { return formats::HasEnding(path_, ".safetensors"); }
  std::uint64_t Check(const formats::FileContents& contents,
                      const files::CreateOptions& options) const override {
    return formats::CheckTensorFile(path_, contents, options);
  }
  std::vector<FaultyFile> OtherFilesAmiss(const formats::FileContents& contents,
                                          const checkpoint::OpenedInput& found) const override {
    if (!formats::HasEnding(path_, ".safetensors") ||
        found.reader->contents().metadata == contents.metadata) {
      return {};
    }
    return {{std::filesystem::path(path_).filename().string(), FileFault::kMetadata}};
  }
  std::unique_ptr<formats::TensorWriter> Create(formats::FileContents contents,
                                                const files::CreateOptions& options,
                                                const std::atomic<bool>*) const override {
    return formats::CreateTensorFile(path_, std::move(contents), options);
  }

 private:
  const std::string path_;
};

}  // namespace

std::unique_ptr<Sink> OpenSink(const std::string& path, const checkpoint::OpenedInput& input,
                               const NewNames& names, const std::string& like,
                               std::optional<ScaleRule> rule, const Opening& opening) {
  if (!like.empty() && !formats::HasEnding(path, ".gguf")) {
    throw files::Error(
        core::ErrorKind::kArguments,
        words::PathText(path) + ": only a .gguf output can be made like another file", path);
  }
  if (input.model != nullptr && formats::HasEnding(path, ".onnx")) {
    return OpenModelSink(path, *input.model);
  }
  if (input.checkpoint != nullptr && checkpoint::IsDirectoryName(path)) {
    return OpenCheckpointSink(path, *input.checkpoint);
  }
  formats::CheckOutputFormat(path);
  if (formats::HasEnding(path, ".gguf")) {
    return OpenGgufSink(path, input.reader->contents(), names, like, rule, opening);
  }
  return std::make_unique<FileSink>(path);
}

}  // namespace tensorcast::convert
