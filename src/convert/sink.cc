// Files of tensors as sinks, and the choice among all of them.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/sink.h"

#include <algorithm>
#include <utility>

#include "formats/gguf_architecture.h"
#include "formats/gguf_keys.h"
#include "scale/dialects/dialect.h"
#include "scale/written_form.h"

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

  bool holds_blocks() const override { return true; }
  bool tells_weights() const override { return true; }
  void Restrict(std::span<Decision> decisions, const JobOptions&) const override {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      Decision& decision = decisions[i];
      if (decision.scaled) RestrictBlocks(decision, i);
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
  // Of what becomes blocks those that GGUF's readers want in float32, or that no block fits, become
  // that.
  void RestrictBlocks(Decision& decision, std::size_t tensor) const {
    const scale::WrittenForm form = BlocksOf(decision.scaled);
    const formats::TensorInfo& info = contents_.tensors[tensor];
    if (info.type == DataType::kUndefined && info.dtype == form.layout->block) {
      decision = {};
      decision.reason = Reason::kAlready;
      decision.text = "already " + std::string(form.format->name);
      return;
    }
    if (decision.applies_scales) {  // of another shape than its codes
      decision.scaled = form;
      return;
    }
    const bool is_kept = !decision.by_name && IsKept(tensor);
    const std::string why = WhyNoBlocks(form, info);
    if (!is_kept && why.empty()) {
      decision.scaled = form;
      return;
    }
    decision.scaled = {};
    decision.to = info.type == DataType::kFloat32 ? DataType::kUndefined : DataType::kFloat32;
    if (decision.to != DataType::kUndefined) return;
    decision.reason = is_kept ? Reason::kOutput : Reason::kMisfit;
    decision.text = is_kept ? "float32 for GGUF's readers" : why;
  }
  // The same format in GGUF's own blocks and by their rule. Throws files::Error (arguments).
  scale::WrittenForm BlocksOf(const scale::WrittenForm& asked) const {
    scale::WrittenForm form = asked;
    const scale::Dialect* const gguf = scale::DialectOfLayout("gguf");
    const auto layout =
        std::ranges::find(gguf->written, asked.format->name, &scale::WrittenLayout::format);
    if (layout == gguf->written.end()) {
      std::string names;
      for (const scale::WrittenLayout& one : gguf->written) {
        names.append(names.empty() ? "" : ", ").append(one.format);
      }
      throw files::Error(core::ErrorKind::kArguments,
                         words::PathText(path()) + ": GGUF has no blocks of " +
                             std::string(asked.format->name) + "; it has " + names,
                         path());
    }
    form.dialect = gguf;
    form.layout = &*layout;
    form.rule = scale::RuleOfBlocks(*asked.format);
    if (asked.rule != form.rule && asked.rule != asked.format->rules.front().rule) {
      throw files::Error(core::ErrorKind::kArguments,
                         words::PathText(path()) + ": blocks of " +
                             std::string(asked.format->name) + " have a scale by the rule " +
                             std::string(scale::RuleName(*asked.format, form.rule)) + " alone",
                         path());
    }
    return form;
  }
  // As ComfyUI-GGUF does, convolutions of Stable Diffusion are cut without regard to their rows.
  std::string WhyNoBlocks(const scale::WrittenForm& form, const formats::TensorInfo& info) const {
    constexpr std::uint64_t kRow = 256;
    const bool is_cut = (architecture_ == "sd1" || architecture_ == "sdxl") &&
                        info.shape.size() > 1 && info.elements % kRow == 0 && info.elements != 0;
    return is_cut ? std::string() : scale::WhyNot(*form.format, info.shape);
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
