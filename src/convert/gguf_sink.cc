// GGUF files as a sink: blocks, what their readers take in float32 alone, and the names, the order
// and the keys of another file that an output is to be like.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/gguf_sink.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "files/error.h"
#include "formats/formats.h"
#include "formats/gguf_architecture.h"
#include "formats/gguf_keys.h"
#include "scale/dialects/dialect.h"
#include "scale/written_form.h"

namespace tensorcast::convert {
namespace {

// The file that an output is to be like: with its keys, and its tensors in its order.
class GgufExample {
 public:
  // Throws files::Error (arguments) where it is no GGUF file, and what opening it throws.
  GgufExample(const std::string& path, const Opening& opening)
      : path_(path), survey_(OpenSurvey(path, opening)) {
    if (contents().gguf_keys == nullptr) {
      throw files::Error(core::ErrorKind::kArguments,
                         words::PathText(path) + ": an output can be made like a .gguf file only",
                         path);
    }
    std::uint64_t float32 = 0, all = 0;
    for (std::size_t i = 0; i < contents().tensors.size(); ++i) {
      const formats::TensorInfo& info = contents().tensors[i];
      places_.emplace(info.name, i);
      all += info.elements;
      if (info.type == DataType::kFloat32) float32 += info.elements;
    }
    is_of_float32_ = float32 > all / 2;
  }

  const formats::FileContents& contents() const { return survey_.reader().contents(); }
  void CheckUnchanged() const { survey_.reader().CheckUnchanged(); }

  // Whether it has a tensor in float32, unless it has most of them so.
  bool IsFloat32(std::string_view name) const {
    const auto found = places_.find(name);
    return found != places_.end() && !is_of_float32_ &&
           contents().tensors[found->second].type == DataType::kFloat32;
  }

  formats::FileContents WithKeys(formats::FileContents made) const {
    made.gguf_keys = contents().gguf_keys;
    return made;
  }

  // Sink::Arrange's. A scale of blocks that serves another tensor need not be there: it may be in
  // the values.
  void Arrange(const formats::FileContents& input,
               std::optional<std::vector<std::size_t>>& left) const {
    constexpr std::size_t kNone = SIZE_MAX;
    std::vector<std::size_t> at(contents().tensors.size(), kNone);
    const std::size_t count = left ? left->size() : input.tensors.size();
    std::size_t placed = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = left ? (*left)[k] : k;
      const formats::TensorInfo& info = input.tensors[i];
      const auto found = places_.find(info.name);
      if (found == places_.end()) {
        Fail("has no tensor " + words::Quoted(info.name) + ", which the input has" +
             (placed == 0 ? "; the names have to be the same" : ""));
      }
      const formats::TensorInfo& known = contents().tensors[found->second];
      if (known.shape != info.shape) {
        Fail("has " + words::Quoted(info.name) + " in the shape " + words::ShapeText(known.shape) +
             ", the input in " + words::ShapeText(info.shape));
      }
      at[found->second] = i;
      ++placed;
    }
    for (const scale::Companion& companion : survey_.scales.companions.companions) {
      if (at[companion.tensor] == kNone) at[companion.tensor] = kNone - 1;
    }
    const auto missing = std::ranges::find(at, kNone);
    if (missing != at.end()) {
      const auto n = static_cast<std::uint64_t>(std::ranges::count(at, kNone));
      const auto place = static_cast<std::size_t>(missing - at.begin());
      Fail("has " + words::CountText(n, "tensor") + " that the input does not have (" +
           (n > 1 ? "the first is " : "") + words::EscapeName(contents().tensors[place].name) +
           ")");
    }
    left.emplace();
    for (const std::size_t i : at) {
      if (i != kNone - 1) left->push_back(i);
    }
  }

 private:
  [[noreturn]] void Fail(const std::string& why) const {
    throw files::Error(core::ErrorKind::kContents, words::PathText(path_) + ": " + why, path_);
  }

  std::string path_;
  Survey survey_;
  std::unordered_map<std::string_view, std::size_t> places_;  // of its tensors, by their names
  bool is_of_float32_ = false;
};

// GGUF's readers take some tensors in float32 alone: they compute with these as they stand.
class GgufSink final : public Sink {
 public:
  GgufSink(std::string path, const formats::FileContents& contents,
           std::optional<formats::FileContents> renamed, std::optional<GgufExample> example,
           std::optional<ScaleRule> rule)
      : path_(std::move(path)),
        renamed_(std::move(renamed)),
        contents_(renamed_ ? *renamed_ : contents),
        example_(std::move(example)),
        rule_(rule),
        architecture_(ArchitectureOf(example_ ? example_->contents() : contents)) {}

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
    std::size_t n = 0, stay = 0;  // those that a repacking leaves as they are
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const DataType type = contents_.tensors[i].type;
      n += !decisions[i].by_name && decisions[i].to == DataType::kFloat32 &&
           type != DataType::kFloat32 && IsKept(i);
      stay += decisions[i].reason == Reason::kNotQuantised &&
              (type == DataType::kFloat16 || type == DataType::kBfloat16) && IsKept(i);
    }
    if (stay != 0) {
      return {words::PathText(path_) + ": " + words::CountText(stay, "tensor") +
              (stay == 1 ? " stays what it is" : " stay what they are") +
              ", and GGUF's readers want vectors and small tensors in float32: cast " +
              (stay == 1 ? "it" : "them") + " before (--to f32 --tensor NAME)"};
    }
    if (n == 0) return {};
    return {words::PathText(path_) + ": " + words::CountText(n, "tensor") +
            (n == 1 ? " becomes" : " become") +
            " float32, as GGUF's readers want vectors and small tensors"};
  }
  void Arrange(const formats::FileContents& input,
               std::optional<std::vector<std::size_t>>& left) const override {
    if (example_) example_->Arrange(input, left);
  }
  std::uint64_t Check(const formats::FileContents& contents,
                      const files::CreateOptions& options) const override {
    if (!example_) return formats::CheckTensorFile(path_, contents, options);
    return formats::CheckTensorFile(path_, example_->WithKeys(contents), options);
  }
  std::vector<FaultyFile> OtherFilesAmiss(const formats::FileContents& contents,
                                          const checkpoint::OpenedInput& found) const override {
    const formats::FileContents made = example_ ? example_->WithKeys(contents) : contents;
    const formats::GgufKeys* const keys = found.reader->contents().gguf_keys.get();
    if (keys != nullptr && formats::HasGgufKeys(path_, made, *keys)) {
      return {};
    }
    return {{std::filesystem::path(path_).filename().string(), FileFault::kKeys}};
  }
  std::unique_ptr<formats::TensorWriter> Create(formats::FileContents contents,
                                                const files::CreateOptions& options,
                                                const std::atomic<bool>*) const override {
    if (!example_) return formats::CreateTensorFile(path_, std::move(contents), options);
    auto writer =
        formats::CreateTensorFile(path_, example_->WithKeys(std::move(contents)), options);
    example_->CheckUnchanged();
    return writer;
  }

 private:
  static std::string_view ArchitectureOf(const formats::FileContents& contents) {
    if (contents.gguf_keys == nullptr) return formats::GgufArchitectureOf(contents.tensors).name;
    const auto found = contents.metadata.find(std::string(formats::kArchitectureKey));
    return found != contents.metadata.end() ? std::string_view(found->second) : std::string_view();
  }
  bool IsKept(std::size_t tensor) const {
    const formats::TensorInfo& info = contents_.tensors[tensor];
    return formats::IsGgufFloat32(architecture_, info) ||
           (example_ && example_->IsFloat32(info.name));
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
                         words::PathText(path_) + ": GGUF has no blocks of " +
                             std::string(asked.format->name) + "; it has " + names,
                         path_);
    }
    form.dialect = gguf;
    form.layout = &*layout;
    form.rule = scale::RuleOfBlocks(*asked.format);
    if (rule_ && *rule_ != form.rule) {
      throw files::Error(core::ErrorKind::kArguments,
                         words::PathText(path_) + ": blocks of " + std::string(asked.format->name) +
                             " take no scale rule but " +
                             std::string(scale::RuleName(*asked.format, form.rule)),
                         path_);
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

  const std::string path_;
  const std::optional<formats::FileContents> renamed_;  // the input's tensors under new names
  const formats::FileContents& contents_;
  const std::optional<GgufExample> example_;
  const std::optional<ScaleRule> rule_;  // of scales, that is asked for
  const std::string_view architecture_;
};

}  // namespace

std::unique_ptr<Sink> OpenGgufSink(const std::string& path, const formats::FileContents& input,
                                   const NewNames& names, const std::string& like,
                                   std::optional<ScaleRule> rule, const Opening& opening) {
  std::optional<GgufExample> example;
  if (!like.empty()) example.emplace(like, opening);
  std::optional<formats::FileContents> renamed;
  if (names.HasAny()) renamed = names.ContentsOf(input);
  return std::make_unique<GgufSink>(path, input, std::move(renamed), std::move(example), rule);
}

}  // namespace tensorcast::convert
