// Files of tensors as sinks, and the choice among all of them.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/sink.h"

#include <algorithm>
#include <utility>

#include "formats/gguf_architecture.h"
#include "formats/gguf_keys.h"

namespace tensorcast::convert {
namespace {

class FileSink : public Sink {
 public:
  explicit FileSink(std::string path) : path_(std::move(path)) {}

  std::string_view one_tensor_file() const override { return formats::OneTensorFile(path_); }
  bool holds_scaled_weights() const override { return formats::HasEnding(path_, ".safetensors"); }
  std::uint64_t Check(const formats::FileContents& contents,
                      const files::CreateOptions& options) const override {
    return formats::CheckTensorFile(path_, contents, options);
  }
  std::unique_ptr<formats::TensorWriter> Create(formats::FileContents contents,
                                                const files::CreateOptions& options,
                                                const std::atomic<bool>*) const override {
    return formats::CreateTensorFile(path_, std::move(contents), options);
  }

 protected:
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// GGUF's readers take some tensors in float32 alone: they compute with these as they stand.
class GgufSink final : public FileSink {
 public:
  GgufSink(std::string path, const formats::FileContents& contents)
      : FileSink(std::move(path)), contents_(contents), architecture_(ArchitectureOf(contents)) {}

  void Restrict(std::span<Decision> decisions, const JobOptions&) const override {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      Decision& decision = decisions[i];
      if (!IsTaken(decision, i)) continue;
      if (contents_.tensors[i].type == DataType::kFloat32) {
        decision.to = DataType::kUndefined;
        decision.reason = Reason::kOutput;
        decision.text = "float32 for GGUF's readers";
      } else {
        decision.to = DataType::kFloat32;
        if (decision.reason == Reason::kAlready) decision.reason = Reason::kAsked;
      }
    }
  }
  std::vector<std::string> NotesOn(std::span<const Decision> decisions) const override {
    std::size_t n = 0;
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      n += !decisions[i].by_name && decisions[i].to == DataType::kFloat32 &&
           contents_.tensors[i].type != DataType::kFloat32 && IsKept(i);
    }
    if (n == 0) return {};
    return {words::PathText(path()) + ": " + words::CountText(n, "tensor") +
            (n == 1 ? " becomes" : " become") +
            " float32, as GGUF's readers want vectors and small tensors"};
  }

 private:
  static std::string_view ArchitectureOf(const formats::FileContents& contents) {
    if (contents.gguf_keys == nullptr) return formats::GgufArchitectureOf(contents.tensors).name;
    const auto found = contents.metadata.find(std::string(formats::kArchitectureKey));
    return found != contents.metadata.end() ? std::string_view(found->second) : std::string_view();
  }
  bool IsKept(std::size_t tensor) const {
    return formats::IsGgufFloat32(architecture_, contents_.tensors[tensor]);
  }
  // What the request casts, or finds cast, without naming it.
  bool IsTaken(const Decision& decision, std::size_t tensor) const {
    const DataType to =
        decision.reason == Reason::kAlready ? contents_.tensors[tensor].type : decision.to;
    return (to == DataType::kFloat16 || to == DataType::kBfloat16) && !decision.by_name &&
           !decision.rule && !decision.applies_scales && IsKept(tensor);
  }

  const formats::FileContents& contents_;
  const std::string_view architecture_;
};

}  // namespace

std::unique_ptr<Sink> OpenSink(const std::string& path, const checkpoint::OpenedInput& input) {
  if (input.model != nullptr && formats::HasEnding(path, ".onnx")) {
    return OpenModelSink(path, *input.model);
  }
  if (input.checkpoint != nullptr && checkpoint::IsDirectoryName(path)) {
    return OpenCheckpointSink(path, *input.checkpoint);
  }
  formats::CheckOutputFormat(path);
  if (formats::HasEnding(path, ".gguf")) {
    return std::make_unique<GgufSink>(path, input.reader->contents());
  }
  return std::make_unique<FileSink>(path);
}

}  // namespace tensorcast::convert
