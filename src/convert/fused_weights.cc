// Parts of matrices are found by their names in the input and, where it is one file of a checkpoint
// and has not all of a matrix, in the files that the index says.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/fused_weights.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <set>
#include <string_view>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "convert/matching.h"
#include "convert/scaled_tensors.h"
#include "files/error.h"
#include "files/named_file.h"
#include "files/system.h"
#include "formats/tensor_file.h"
#include "scale/fused_names.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;
using scale::FusedPart;
using scale::FusedPartOf;

// A weight that runtimes load as a part of a matrix: whether it gets a global scale, has got one
// that stays, or neither.
struct Part {
  enum class Is : std::uint8_t { kWritten, kAlready, kOther };
  std::uint32_t file = 0;
  std::uint32_t tensor = 0;
  Is is = Is::kOther;
  std::string_view name;
};

// A file and what is decided of its tensors.
struct DecidedFile {
  const Survey* survey = nullptr;
  std::vector<Decision>* decisions = nullptr;
};

// A file that is opened for this.
struct OpenedFile {
  FusedFile file;
  Survey survey;
  std::vector<Decision> decisions;
};

// Goes through parts in their order, matrix by matrix.
template <class Parts, class Use> void ForEachMatrix(Parts parts, const Use& use) {
  for (std::size_t begin = 0; begin < parts.size();) {
    const FusedPart first = *FusedPartOf(parts[begin].name);
    std::size_t end = begin + 1;
    while (end < parts.size() && FusedPartOf(parts[end].name)->IsBeside(first)) ++end;
    use(parts.subspan(begin, end - begin));
    begin = end;
  }
}

bool HasAny(std::span<const Part> matrix, Part::Is is) {
  return std::ranges::find(matrix, is, &Part::is) != matrix.end();
}

// Has a weight that is in the format already written once more.
void WriteAnew(Decision& decision, const SelectionRequest& request) {
  const Rule* const rule = decision.rule ? &request.rules[*decision.rule] : nullptr;
  const Goal& goal = rule != nullptr ? rule->to : *request.to;
  decision.to = goal.type;
  decision.scaled = goal.scaled;
  decision.by_name = rule != nullptr || !request.only.empty();
  decision.applies_scales = true;
  decision.reason = rule != nullptr ? Reason::kRule : Reason::kAsked;
  decision.text = rule != nullptr ? rule->text : "the request's type";
}

std::string ModuleName(const FusedPart& part, std::string_view module) {
  return std::string(part.parent) + std::string(module);
}

// `others`: files that are open already.
checkpoint::OpenedInput OpenBeside(const std::string& path, std::size_t others,
                                   const Opening& opening) {
  const std::size_t begin = files::NameBegin(path);
  const std::string directory = begin == 0 ? "." : path.substr(0, begin);
  formats::OpenOptions options;
  options.interrupted = opening.interrupted;
  options.spool = opening.spool;
  options.root = opening.inputs.root;
  return {formats::OpenTensorSource(
      files::OpenNamedFile(path, files::EnclosureOfCheckpoint(directory), others), options)};
}

class Finder {
 public:
  Finder(const DecidedFile& input, const SelectionRequest& request, const Opening& opening)
      : path_(input.survey->path), request_(request), opening_(opening), files_{input} {}

  FusedWeights Find() {
    AddParts(0);
    if (files_.front().survey->opened.checkpoint == nullptr) {
      for (const std::string& name : FilesOfMissing()) OpenOther(name);
    }
    ForEachMatrix(std::span(parts_), [&](std::span<Part> matrix) { WriteAlike(matrix); });
    SayOthers();
    std::uint32_t file = 0;
    for (OpenedFile& one : opened_) TakeOther(++file, one);
    return std::move(found_);
  }

 private:
  static constexpr std::size_t kMostFiles = 1024;

  void AddParts(std::uint32_t file) {
    const DecidedFile& from = files_[file];
    const std::vector<formats::TensorInfo>& tensors = from.survey->tensors();
    auto weight = from.survey->scales.weights.weights.begin();
    const auto end = from.survey->scales.weights.weights.end();
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      while (weight != end && weight->codes < i) ++weight;
      const bool is_scaled = weight != end && weight->codes == i;
      const Decision& decision = (*from.decisions)[i];
      const std::string_view name = is_scaled ? weight->name : tensors[i].name;
      const std::size_t rank = is_scaled ? weight->shape.size() : tensors[i].shape.size();
      if (decision.is_companion || rank < 2 || !FusedPartOf(name)) continue;
      Part::Is is = Part::Is::kOther;
      if (decision.scaled.HasGlobal()) {
        is = Part::Is::kWritten;
      } else if (is_scaled && weight->global && decision.reason == Reason::kAlready) {
        is = Part::Is::kAlready;
      }
      parts_.push_back({file, i, is, name});
    }
    std::ranges::stable_sort(parts_, [](const Part& a, const Part& b) {
      return *FusedPartOf(a.name) < *FusedPartOf(b.name);
    });
  }

  // The files of the index that have what is not here of matrices of which a part is.
  std::set<std::string, std::less<>> FilesOfMissing() const {
    std::set<std::string, std::less<>> missing;  // modules
    ForEachMatrix(std::span(parts_), [&](std::span<const Part> matrix) {
      if (!HasAny(matrix, Part::Is::kWritten) && !HasAny(matrix, Part::Is::kAlready)) return;
      const FusedPart part = *FusedPartOf(matrix.front().name);
      for (const std::string_view module : scale::FusedModules(part.kind)) {
        missing.insert(ModuleName(part, module));
      }
      for (const Part& one : matrix) {
        missing.erase(ModuleName(part, FusedPartOf(one.name)->module));
      }
    });
    std::set<std::string, std::less<>> files;
    if (missing.empty()) return files;
    const std::string own = path_.substr(files::NameBegin(path_));
    checkpoint::ForEachInIndex(path_, [&](std::string_view tensor, std::string_view file) {
      const std::size_t dot = std::min(tensor.rfind('.'), tensor.size());
      if (file != own && files.size() < kMostFiles && tensor.substr(dot).starts_with(".weight") &&
          missing.contains(tensor.substr(0, dot))) {
        files.emplace(file);
      }
    });
    return files;
  }

  void OpenOther(const std::string& name) {
    const bool is_shard = formats::HasEnding(name, checkpoint::kSafetensorsEnding) ||
                          formats::HasEnding(name, checkpoint::kTorchEnding);
    if (!is_shard || name.find('/') != std::string::npos || !files::WhyNoName(name).empty()) {
      throw Error(
          ErrorKind::kContents,
          words::PathText(path_) +
              ": the index beside it says that weights which share global "
              "scales with some here are in " +
              words::Quoted(name) +
              ", and a shard is a file in the index's own directory: mend it, or move it away",
          path_);
    }
    const std::string path = path_.substr(0, files::NameBegin(path_)) + name;
    if (!files::IsFile(path)) {
      found_.notes.push_back(
          words::PathText(path) +
          ": is not there, and has weights that runtimes load as one matrix with "
          "some of " +
          words::PathText(path_) + ": the global scales of these are made without them");
      return;
    }
    OpenedFile one;
    one.file.path = path;
    one.survey =
        SurveyOf(OpenBeside(path, opened_.size(), opening_), path, opening_.inputs.ignore_scales);
    one.file.bytes = one.survey.reader().file_bytes();
    one.decisions = Select(one.survey, Matching(one.survey, request_), request_, false);
    OpenedFile& opened = opened_.emplace_back(std::move(one));
    files_.push_back({&opened.survey, &opened.decisions});
    AddParts(static_cast<std::uint32_t>(files_.size() - 1));
  }

  // The bits of the global scale of a weight that has one.
  std::uint32_t GlobalOf(const Part& part) const {
    const auto& weights = files_[part.file].survey->scales.weights.weights;
    const auto weight = std::ranges::lower_bound(weights, std::size_t{part.tensor}, {},
                                                 &scale::ScaledWeight::codes);
    std::uint32_t bits = 0;
    files_[part.file].survey->reader().Read(*weight->global, 0,
                                            std::as_writable_bytes(std::span(&bits, 1)));
    return bits;
  }

  // A matrix is left alone if none of its parts is in the input.
  static bool IsOfInput(std::span<const Part> matrix) {
    return std::ranges::find(matrix, 0u, &Part::file) != matrix.end();
  }

  // Parts that have the format already stay where all of a matrix have one global scale, and none
  // gets another one now.
  void WriteAlike(std::span<Part> matrix) {
    const auto already = std::ranges::find(matrix, Part::Is::kAlready, &Part::is);
    if (!IsOfInput(matrix) || already == matrix.end()) return;
    const std::uint32_t global = GlobalOf(*already);
    const bool stays = std::ranges::all_of(matrix, [&](const Part& part) {
      return part.is == Part::Is::kOther ||
             (part.is == Part::Is::kAlready && GlobalOf(part) == global);
    });
    if (stays) return;
    for (Part& part : matrix) {
      if (part.is != Part::Is::kAlready) continue;
      part.is = Part::Is::kWritten;
      WriteAnew((*files_[part.file].decisions)[part.tensor], request_);
    }
  }

  void SayOthers() {
    const Part* first = nullptr;
    std::string_view written;
    std::uint64_t count = 0;
    ForEachMatrix(std::span(parts_), [&](std::span<const Part> matrix) {
      if (!IsOfInput(matrix) || !HasAny(matrix, Part::Is::kWritten)) return;
      for (const Part& part : matrix) {
        if (part.is != Part::Is::kOther || count++ > 0) continue;
        first = &part;
        written = std::ranges::find(matrix, Part::Is::kWritten, &Part::is)->name;
      }
    });
    if (first == nullptr) return;
    const Decision& decision = (*files_[first->file].decisions)[first->tensor];
    found_.notes.push_back(
        words::PathText(path_) + ": " + words::EscapeName(first->name) +
        (count > 1 ? " and " + words::CountText(count - 1, "other weight") + " do" : " does") +
        " not get the format (" + decision.text + ") that " + words::EscapeName(written) +
        " gets, and runtimes load the two as one matrix");
  }

  // Leaves of a file what shares a scale with the input's.
  void TakeOther(std::uint32_t file, OpenedFile& one) {
    std::set<std::size_t> taken;
    ForEachMatrix(std::span(parts_), [&](std::span<const Part> matrix) {
      if (!IsOfInput(matrix)) return;
      const bool is_wanted = std::ranges::any_of(
          matrix, [](const Part& part) { return part.file == 0 && part.is == Part::Is::kWritten; });
      for (const Part& part : matrix) {
        if (part.file != file || !is_wanted || part.is != Part::Is::kWritten) continue;
        one.file.weights.emplace_back(part.name);
        one.file.tensors.push_back(part.tensor);
        taken.insert(part.tensor);
      }
    });
    if (taken.empty()) return;
    for (std::size_t i = 0; i < one.decisions.size(); ++i) {
      if (!taken.contains(i)) one.decisions[i] = {};
    }
    RefuseScaled(one.survey, one.decisions);
    one.file.reader = ApplyScales(one.survey, WantedBy(one.decisions)).reader;
    found_.files.push_back(std::move(one.file));
  }

  const std::string& path_;
  const SelectionRequest& request_;
  const Opening& opening_;
  std::deque<OpenedFile> opened_;   // files_ points into it
  std::vector<DecidedFile> files_;  // the input, then those that are opened
  std::vector<Part> parts_;
  FusedWeights found_;
};

}  // namespace

FusedWeights FindFused(const Survey& survey, const SelectionRequest& request,
                       const Opening& opening, std::vector<Decision>& decisions) {
  const auto has_global = [](const Rule& rule) { return rule.to.scaled.HasGlobal(); };
  if (!(request.to && request.to->scaled.HasGlobal()) &&
      std::ranges::none_of(request.rules, has_global)) {
    return {};
  }
  return Finder({&survey, &decisions}, request, opening).Find();
}

std::vector<std::uint32_t> WithGlobals(std::span<const Decision> decisions) {
  std::vector<std::uint32_t> tensors;
  for (std::uint32_t i = 0; i < decisions.size(); ++i) {
    if (decisions[i].scaled.HasGlobal()) tensors.push_back(i);
  }
  return tensors;
}

SharedGlobals GlobalsOf(const formats::TensorReader& reader, std::span<const std::uint32_t> tensors,
                        std::span<const FusedFile> files) {
  std::vector<const formats::TensorReader*> readers = {&reader};
  std::vector<SharedGlobals::Member> members;
  for (const std::uint32_t tensor : tensors) members.push_back({0, tensor});
  for (const FusedFile& file : files) {
    const auto index = static_cast<std::uint32_t>(readers.size());
    for (const std::uint32_t tensor : file.tensors) members.push_back({index, tensor});
    readers.push_back(file.reader.get());
  }
  return {std::move(readers), std::move(members)};
}

}  // namespace tensorcast::convert
