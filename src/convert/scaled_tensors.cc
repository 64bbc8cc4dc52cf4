// Each in one line, with the first tensor named and the others counted.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/scaled_tensors.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "convert/selection.h"
#include "files/error.h"
#include "files/system.h"
#include "scale/dialects/dialect.h"

namespace tensorcast::convert {
namespace {

using words::EscapeName;

bool IsCast(const Decision& decision) { return decision.to != DataType::kUndefined; }

// Scales that have the type which is asked for, or are kept for their codes, are taken as much as
// those that are cast.
bool IsTakenAsItIs(const std::vector<formats::TensorInfo>& tensors,
                   std::span<const Decision> decisions, std::size_t tensor) {
  const TypeInfo* const type = FindType(tensors[tensor].type);
  return (decisions[tensor].reason == Reason::kCompanion ||
          decisions[tensor].reason == Reason::kAlready) &&
         type != nullptr && type->is_float() && type->bits >= 16;
}

}  // namespace

scale::Rounding RoundingFor(DataType to) {
  // A value of these types is not rounded once more.
  return to == DataType::kFloat64 || to == DataType::kString ? scale::Rounding::kNearest
                                                             : scale::Rounding::kOdd;
}

WantedScales WantedBy(std::span<const Decision> decisions) {
  return [decisions](std::size_t codes) -> std::optional<scale::Rounding> {
    const Decision& decision = decisions[codes];
    if (!IsCast(decision)) return std::nullopt;
    return RoundingFor(decision.to);
  };
}

namespace {

// The weights whose scales are to be applied, and what follows from them.
struct Applied {
  std::vector<scale::AppliedWeight> weights;
  // Whether every tensor that has scales is among them: what serves no tensor that is here, a
  // cache's scales and the marks of a file, goes with the last scaled weight.
  bool is_all = false;
  std::optional<std::vector<std::size_t>> left;
};

Applied AppliedBy(const Survey& survey, const WantedScales& wanted,
                  const std::vector<bool>& is_written) {
  Applied applied;
  std::unordered_set<std::size_t> codes, gone;
  for (const scale::ScaledWeight& weight : survey.scales.weights.weights) {
    const std::optional<scale::Rounding> rounding = wanted(weight.codes);
    if (!rounding) continue;
    applied.weights.push_back({weight, *rounding});
    codes.insert(weight.codes);
    gone.insert(weight.companions.begin(), weight.companions.end());
  }
  if (applied.weights.empty()) return applied;
  const scale::ScaleCompanions& found = survey.scales.companions;
  applied.is_all = std::ranges::all_of(found.scaled, [&](const scale::ScaledTensor& one) {
    return codes.contains(one.tensor) || (!is_written.empty() && !is_written[one.tensor]);
  });
  for (const scale::Companion& one : found.companions) {
    const bool is_scale = one.row != nullptr && one.row->role == scale::CompanionRole::kScale;
    if (applied.is_all && !one.served && !is_scale) gone.insert(one.tensor);
  }
  const std::size_t count = survey.tensors().size();
  std::vector<std::size_t>& left = applied.left.emplace();
  left.reserve(count - gone.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!gone.contains(i)) left.push_back(i);
  }
  return applied;
}

}  // namespace

ValuesReader ApplyScales(const Survey& survey, const WantedScales& wanted,
                         const std::vector<bool>& is_written) {
  Applied applied = AppliedBy(survey, wanted, is_written);
  if (applied.weights.empty()) return {survey.opened.reader};
  const auto scaled = std::make_shared<scale::ScaledReader>(
      survey.opened.reader, std::move(applied.weights), applied.is_all);
  return {scaled, scaled.get(), std::move(applied.left)};
}

std::optional<std::vector<std::size_t>> TensorsLeft(const Survey& survey,
                                                    const WantedScales& wanted) {
  return AppliedBy(survey, wanted, {}).left;
}

namespace {

bool IsUnread(const formats::TensorInfo& info) { return !info.why_not.empty(); }

}  // namespace

void RefuseUnread(const Survey& survey, std::span<const Decision> decisions) {
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const formats::TensorInfo& info = survey.tensors()[i];
    if (!IsUnread(info) || decisions[i].reason == Reason::kExcluded) continue;
    throw files::Error(core::ErrorKind::kUnsupported,
                       words::PathText(survey.path) + ": " + EscapeName(info.name) + " (" +
                           info.dtype + ") " + std::string(info.why_not),
                       Remedy::kLeaveOut, info.name);
  }
}

void LeaveOutUnread(const Survey& survey, std::optional<std::vector<std::size_t>>& left) {
  const std::vector<formats::TensorInfo>& tensors = survey.tensors();
  if (std::ranges::none_of(tensors, IsUnread)) return;
  if (!left) {
    left.emplace(tensors.size());
    std::iota(left->begin(), left->end(), std::size_t{0});
  }
  std::erase_if(*left, [&](std::size_t i) { return IsUnread(tensors[i]); });
}

std::string UnreadText(const Survey& survey) {
  std::size_t count = 0;
  const formats::TensorInfo* first = nullptr;
  for (const formats::TensorInfo& info : survey.tensors()) {
    if (IsUnread(info) && count++ == 0) first = &info;
  }
  if (count == 0) return {};
  return words::CountText(count, "tensor") +
         (count == 1 ? " that is not read is left out (" : " that are not read are left out (") +
         EscapeName(first->name) + (count == 1 ? ")" : ", ...)");
}

void RefuseScaled(const Survey& survey, std::span<const Decision> decisions) {
  const std::vector<formats::TensorInfo>& tensors = survey.tensors();
  const std::string& path = survey.path;
  const InputScales& scales = survey.scales;
  if (scales.is_ignored) return;
  for (const scale::UnreadWeight& unread : scales.weights.unread) {
    if (!IsCast(decisions[unread.tensor]) && !IsTakenAsItIs(tensors, decisions, unread.tensor)) {
      continue;
    }
    throw files::Error(unread.kind, words::PathText(path) + ": " + unread.why, unread.remedy,
                       tensors[unread.tensor].name);
  }
  std::string first;
  std::string name;  // its
  std::size_t found = 0;
  Remedy remedy = Remedy::kIgnoreScales;
  for (const scale::ScaledTensor& scaled : scales.companions.scaled) {
    if (!IsCast(decisions[scaled.tensor]) || decisions[scaled.tensor].applies_scales) continue;
    if (++found > 1) continue;
    if (!scaled.file.empty()) remedy = Remedy::kTakeDirectory;
    const formats::TensorInfo& info = tensors[scaled.tensor];
    const scale::Dialect* const packer = scale::DialectOfPacked(info);
    name = info.name;
    first = EscapeName(info.name) + " (" + std::string(TypeName(info.type)) +
            (packer != nullptr ? ", " + std::string(packer->packed.name) : "") +
            ") has its scales in " + EscapeName(scaled.companion) +
            (scaled.file.empty() ? "" : " of " + EscapeName(scaled.file));
  }
  if (found == 0) return;
  throw files::Error(core::ErrorKind::kContents,
                     words::PathText(path) + ": " + first +
                         (found > 1 ? ", and so " + std::to_string(found - 1) + " more" : "") +
                         "; cast without them its values are wrong",
                     remedy, name);
}

namespace {

// Weights of layouts that are not read: how many, and the first.
struct PackedWeights {
  std::size_t count = 0;
  const formats::TensorInfo* first = nullptr;
  std::set<std::string> writers;

  std::string Writers() const {
    std::string text;
    for (const std::string& writer : writers) {
      text.append(text.empty() ? "" : ", ").append(writer);
    }
    return text;
  }
};

template <class IsMeant> PackedWeights FindPacked(const Survey& survey, const IsMeant& is_meant) {
  const InputScales& scales = survey.scales;
  PackedWeights found;
  if (scales.weights.opaque.empty()) return found;
  std::unordered_set<std::size_t> serving;
  for (const scale::Companion& one : scales.companions.companions) serving.insert(one.tensor);
  std::unordered_set<std::string_view> layers;  // of which each has one, in whatever parts
  for (const scale::OpaqueTensor& one : scales.weights.opaque) {
    if (!is_meant(one.tensor, serving.contains(one.tensor))) continue;
    const std::string_view name = survey.tensors()[one.tensor].name;
    layers.insert(name.substr(0, name.rfind('.')));
    if (found.first == nullptr) found.first = &survey.tensors()[one.tensor];
    found.writers.insert(one.writer);
  }
  found.count = layers.size();
  return found;
}

}  // namespace

void RefusePacked(const Survey& survey, std::span<const Decision> decisions) {
  const PackedWeights found = FindPacked(survey, [&](std::size_t tensor, bool) {
    return decisions[tensor].reason == Reason::kOpaque;
  });
  if (found.count == 0) return;
  throw files::Error(core::ErrorKind::kUnsupported,
                     words::PathText(survey.path) + ": " + words::CountText(found.count, "weight") +
                         (found.count == 1 ? " is" : " are") + " packed by " + found.Writers() +
                         ", which is not read here; the first is " + EscapeName(found.first->name),
                     Remedy::kKeepPacked, found.first->name);
}

std::string PackedText(const Survey& survey) {
  const PackedWeights found =
      FindPacked(survey, [](std::size_t, bool is_serving) { return !is_serving; });
  if (found.count == 0) return {};
  return words::CountText(found.count, "weight") + (found.count == 1 ? " stays" : " stay") +
         " packed (" + found.Writers() + "; the first is " + EscapeName(found.first->name) + ")";
}

void RefuseOpaque(const scale::OpaqueTensor& opaque, const formats::TensorInfo& tensor) {
  throw files::Error(
      core::ErrorKind::kUnsupported,
      EscapeName(tensor.name) + " is quantised by " + opaque.writer + ", which is not read here",
      Remedy::kIgnoreScales, tensor.name);
}

std::vector<std::string> AppliedText(const Survey& survey, std::span<const Decision> decisions) {
  std::map<std::string, std::size_t> counts;
  for (const scale::ScaledWeight& weight : survey.scales.weights.weights) {
    if (!decisions.empty() && !IsCast(decisions[weight.codes])) continue;
    ++counts[weight.LayoutText() + ": " + weight.evidence];
  }
  std::vector<std::string> lines;
  for (const auto& [text, count] : counts) {
    lines.push_back(words::CountText(count, "weight") + (count == 1 ? " is " : " are ") + text);
  }
  return lines;
}

std::string UnscaledText(const Survey& survey, const std::vector<Decision>* decisions) {
  const formats::TensorInfo* first = nullptr;
  std::size_t found = 0;
  for (const std::size_t i : survey.scales.companions.unscaled) {
    if (decisions != nullptr && !IsCast((*decisions)[i])) continue;
    if (found++ == 0) first = &survey.tensors()[i];
  }
  if (found == 0) return {};
  return EscapeName(first->name) + " (" + std::string(TypeName(first->type)) + ")" +
         (found > 1 ? " and " + std::to_string(found - 1) + " more have" : " has") +
         " no scale anywhere here" + (decisions != nullptr ? "; cast as plain values" : "");
}

std::string BareCodesText(const Survey& survey, std::span<const Decision> decisions) {
  const InputScales& scales = survey.scales;
  const formats::TensorInfo* first = nullptr;
  std::size_t found = 0;
  for (const scale::ScaledTensor& scaled : scales.companions.scaled) {
    if (!scales.is_ignored || !IsCast(decisions[scaled.tensor])) continue;
    if (found++ == 0) first = &survey.tensors()[scaled.tensor];
  }
  if (found == 0) return {};
  return EscapeName(first->name) +
         (found > 1 ? " and " + std::to_string(found - 1) + " more are" : " is") +
         " cast without scales; the scales stay beside the codes, and any configuration still "
         "describes them";
}

std::vector<std::string> IdleConfigTexts(const Survey& survey) {
  constexpr std::string_view kOnlyShard = "model.safetensors";
  const std::string& path = survey.path;
  if (files::IsFile(path) && path.substr(files::NameBegin(path)) != kOnlyShard) return {};
  std::vector<bool> has_quantised(survey.parts());
  const auto mark = [&](std::size_t tensor) { has_quantised[survey.PartOf(tensor)] = true; };
  const scale::ScaleCompanions& found = survey.scales.companions;
  for (const scale::ScaledTensor& one : found.scaled) mark(one.tensor);
  for (const scale::Companion& one : found.companions) mark(one.tensor);
  for (const scale::Misfit& one : found.misfits) mark(one.tensor);
  for (const std::size_t one : found.unscaled) mark(one);
  for (const scale::UnreadWeight& one : survey.scales.weights.unread) mark(one.tensor);
  for (const scale::OpaqueTensor& one : survey.scales.weights.opaque) mark(one.tensor);
  std::vector<std::string> lines;
  for (std::uint32_t part = 0; part < survey.parts(); ++part) {
    const scale::QuantizationConfig& config = survey.scales.ConfigOf(part);
    if (has_quantised[part] || (!config.is_complete && config.schemes.empty())) continue;
    lines.push_back(EscapeName(survey.DirectoryOf(part)) + config.file + " says " +
                    words::Quoted(config.method) +
                    ", and no tensor has scales: all are taken as they are stored");
  }
  return lines;
}

std::vector<std::string> ConfigTexts(const Survey& survey) {
  std::vector<std::string> lines;
  for (std::uint32_t part = 0; part < survey.parts(); ++part) {
    lines.push_back(survey.scales.ConfigOf(part).problem);
  }
  std::erase(lines, "");
  std::ranges::move(IdleConfigTexts(survey), std::back_inserter(lines));
  return lines;
}

std::string CompanionsText(const Survey& survey) {
  constexpr std::size_t kShown = 2;
  const std::vector<formats::TensorInfo>& tensors = survey.tensors();
  const std::vector<scale::Companion>& companions = survey.scales.companions.companions;
  if (companions.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < companions.size() && i < kShown; ++i) {
    names += (i == 0 ? "" : ", ") + EscapeName(tensors[companions[i].tensor].name) + ": " +
             std::string(companions[i].role) + " of " + EscapeName(companions[i].of);
  }
  if (companions.size() > kShown) names += ", …";
  return words::CountText(companions.size(), "tensor") + " (" + names + ")";
}

}  // namespace tensorcast::convert
