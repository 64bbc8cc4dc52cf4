// Weights are looked at in the order of the file, so that the first that cannot go is the one
// named.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/repack_plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <unordered_set>
#include <utility>

#include "convert/candidate.h"
#include "convert/matching.h"
#include "convert/selection.h"
#include "files/error.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;

// Layouts that weights are put into, in the order in which they are listed.
constexpr std::string_view kTargets[] = {"compressed-tensors", "gptq",    "awq",     "mlx",
                                         "modelopt",           "comfyui", "gpt-oss", "gguf"};

[[noreturn]] void RefuseRequest(const std::string& why) { throw Error(ErrorKind::kArguments, why); }

// "5.96e-08": of a number that is looked at, and not computed with.
std::string ChangeText(double change) {
  std::array<char, 32> text;
  const int n = std::snprintf(text.data(), text.size(), "%.2e", change);
  return std::string(text.data(), static_cast<std::size_t>(n));
}

std::string FormText(const scale::Repacking& repacked) {
  return std::string(repacked.FormatText()) + " (" + std::string(repacked.form().dialect->name) +
         ")";
}

Decision DecisionOf(const Survey& survey, const Candidate& candidate, const Matching& matching,
                    const scale::Dialect& target) {
  Decision decision;
  decision.is_companion = candidate.companion != nullptr;
  const auto leave = [&](Reason reason, std::string text) {
    decision.reason = reason;
    decision.text = std::move(text);
    return std::move(decision);
  };
  if (!matching.IsChosen(candidate.index)) {
    return leave(Reason::kNotNamed, "not among those named");
  }
  if (matching.IsExcluded(candidate.index)) return leave(Reason::kExcluded, "excluded");
  if (decision.is_companion) {
    return leave(Reason::kCompanion, std::string(candidate.companion->role) + " of " +
                                         words::EscapeName(candidate.companion->of));
  }
  const auto fail = [&](ErrorKind kind, const std::string& why) {
    throw Error(kind, words::PathText(survey.path) + ": " + why, Remedy::kLeaveOut,
                candidate.tensor.name);
  };
  if (candidate.opaque != nullptr) {
    fail(ErrorKind::kUnsupported, words::EscapeName(candidate.tensor.name) + " is quantised by " +
                                      candidate.opaque->writer + ", which is not read here");
  }
  if (candidate.unread != nullptr && candidate.unread->is_known) {
    fail(candidate.unread->kind, candidate.unread->why);
  }
  if (candidate.weight == nullptr) {
    if (candidate.IsScaled()) {
      fail(ErrorKind::kContents, words::EscapeName(candidate.tensor.name) + " has its scales in " +
                                     words::EscapeName(candidate.scaled->companion) + " of " +
                                     words::EscapeName(candidate.scaled->file));
    }
    return leave(Reason::kNotQuantised, "not quantised");
  }
  if (candidate.weight->reading.dialect == &target) {
    return leave(Reason::kAlready, "already " + candidate.weight->LayoutText());
  }
  try {
    decision.repacked = scale::Repacking::Plan(survey.reader(), *candidate.weight, target);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kSystem) throw;
    fail(error.kind(), error.what());
  }
  return leave(Reason::kAsked, "the request's layout");
}

bool IsActivationScale(const scale::Companion& one) {
  return one.row != nullptr && one.row->role == scale::CompanionRole::kActivationScale;
}

}  // namespace

const scale::Dialect& RepackTargetOf(const Request& request) {
  std::string known;
  for (const std::string_view one : kTargets) known.append(known.empty() ? "" : ", ").append(one);
  const scale::Dialect* const target = std::ranges::count(kTargets, request.repack) != 0
                                           ? scale::DialectOfLayout(request.repack)
                                           : nullptr;
  if (target == nullptr) {
    RefuseRequest(words::Quoted(request.repack) +
                  " is not a layout that weights are repacked into; there are " + known);
  }
  const bool is_cast = request.to || !request.rules.empty() || !request.layout.empty() ||
                       request.scale_rule || request.rotate || !request.keep.empty() ||
                       request.all_types;
  if (is_cast) {
    RefuseRequest(
        "weights that are repacked stay what they are, and nothing can be cast beside them");
  }
  if (!request.select.empty()) {
    RefuseRequest("weights are repacked where they stand, and no tensor can be left out");
  }
  if (request.ignore_scales) {
    RefuseRequest("weights are repacked with their scales, which cannot be ignored");
  }
  return *target;
}

void CheckRepackSink(const Sink& sink, const scale::Dialect& target, const std::string& path) {
  const bool is_blocks = target.layout == "gguf";
  if (is_blocks ? sink.holds_blocks() : sink.holds_scaled_weights() && !sink.has_graph()) return;
  throw Error(ErrorKind::kUnsupported,
              words::PathText(path) + ": weights in the layout " + std::string(target.layout) +
                  " are written to " +
                  (is_blocks ? ".gguf files" : ".safetensors files and directories"),
              path);
}

std::vector<Decision> SelectRepacked(const Survey& survey, const Matching& matching,
                                     const scale::Dialect& target) {
  std::vector<Decision> decisions;
  decisions.reserve(survey.tensors().size());
  ForEachCandidate(survey, [&](const Candidate& candidate) {
    decisions.push_back(DecisionOf(survey, candidate, matching, target));
  });
  return decisions;
}

Repacked RepackedOf(const Survey& survey, std::span<const Decision> decisions) {
  Repacked repacked;
  std::unordered_set<std::size_t> codes, gone;
  for (const scale::ScaledWeight& weight : survey.scales.weights.weights) {
    if (decisions[weight.codes].repacked == nullptr) continue;
    codes.insert(weight.codes);
    gone.insert(weight.companions.begin(), weight.companions.end());
  }
  const scale::ScaleCompanions& found = survey.scales.companions;
  repacked.is_all =
      !codes.empty() && std::ranges::all_of(found.scaled, [&](const scale::ScaledTensor& one) {
        return codes.contains(one.tensor);
      });
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (!gone.contains(i)) repacked.left.push_back(i);
  }
  return repacked;
}

std::vector<std::string> RepackNotes(const Survey& survey, std::span<const Decision> decisions) {
  std::map<std::string, std::size_t> counts;
  std::size_t changed = 0;
  const scale::Repacking* most = nullptr;
  std::unordered_set<std::size_t> codes;
  for (const scale::ScaledWeight& weight : survey.scales.weights.weights) {
    const auto& repacked = decisions[weight.codes].repacked;
    if (repacked == nullptr) continue;
    codes.insert(weight.codes);
    ++counts[weight.LayoutText() + " and becomes " + FormText(*repacked)];
    if (repacked->change() == 0) continue;
    ++changed;
    if (most == nullptr || repacked->change() > most->change()) most = repacked.get();
  }
  std::vector<std::string> lines;
  for (const auto& [text, count] : counts) {
    std::string line = words::CountText(count, "weight") + (count == 1 ? " is " : " are ") + text;
    if (count != 1) line.replace(line.find(" and becomes "), 13, " and become ");
    lines.push_back(std::move(line));
  }
  if (most != nullptr) {
    lines.push_back("the reciprocal global scale of " + words::CountText(changed, "weight") +
                    " is rounded to float32: values change by " + ChangeText(most->change()) +
                    " of themselves or less (" + words::EscapeName(most->name()) + ")");
  }
  std::size_t left_out = 0;
  const std::string* first = nullptr;
  for (const scale::Companion& one : survey.scales.companions.companions) {
    if (!IsActivationScale(one) || !one.served || !codes.contains(*one.served)) continue;
    if (left_out++ == 0) first = &survey.tensors()[one.tensor].name;
  }
  if (left_out != 0) {
    lines.push_back(words::CountText(left_out, "scale") + " of activations " +
                    (left_out == 1 ? "is" : "are") + " left out (" + words::EscapeName(*first) +
                    "): only weights are repacked");
  }
  return lines;
}

}  // namespace tensorcast::convert

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

std::span<const std::string_view> RepackLayouts() { return kTargets; }

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert
