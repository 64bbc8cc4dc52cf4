// Decides, in this order: the request's rules, the output's, the scales'.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/decide.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "convert/misread_weights.h"
#include "convert/scaled_tensors.h"
#include "files/error.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;

// The name that a tensor has when scales are applied.
const std::string& NameOf(const Survey& survey, std::size_t tensor) {
  for (const scale::ScaledWeight& weight : survey.scales.weights.weights) {
    if (weight.codes == tensor) return weight.name;
  }
  return survey.tensors()[tensor].name;
}

// The one tensor that the request leaves for `file`, which holds no more.
std::size_t OnlyTensor(const Survey& survey, const std::vector<Decision>& decisions,
                       std::string_view file) {
  constexpr std::size_t kListed = 10;
  const auto left = TensorsLeft(survey, WantedBy(decisions));
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < (left ? left->size() : decisions.size()); ++k) {
    const std::size_t i = left ? (*left)[k] : k;
    const Reason reason = decisions[i].reason;
    if (reason != Reason::kNotNamed && reason != Reason::kExcluded) chosen.push_back(i);
  }
  if (chosen.size() == 1) return chosen.front();
  const std::string holds = std::string(file) + " holds one tensor";
  if (chosen.empty()) throw Error(ErrorKind::kArguments, holds + ", and none is chosen");
  std::string names;
  for (std::size_t i = 0; i < chosen.size() && i < kListed; ++i) {
    names += (i == 0 ? "" : ", ") + words::EscapeName(NameOf(survey, chosen[i]));
  }
  if (chosen.size() > kListed) {
    names += " and " + std::to_string(chosen.size() - kListed) + " more";
  }
  throw Error(ErrorKind::kArguments,
              holds + ", not " + std::to_string(chosen.size()) + " (" + names + ")",
              Remedy::kChooseOneTensor, survey.path);
}

}  // namespace

Decided Decide(const Survey& survey, const Matching& matching, const SelectionRequest& request,
               const Sink& sink, const Opening& opening, const JobOptions& options,
               std::vector<bool> is_written) {
  Decided decided;
  std::vector<Decision>& decisions = decided.decisions;
  if (request.repack != nullptr) {
    decisions = SelectRepacked(survey, matching, *request.repack);
    RefuseUnread(survey, decisions);
    decided.repacked = RepackedOf(survey, decisions);
    return decided;
  }
  decided.asks_for_type = request.to || !request.rules.empty();
  decisions = Select(survey, matching, request, sink.tells_weights());
  for (std::size_t i = 0; i < is_written.size(); ++i) {
    if (is_written[i]) continue;
    decisions[i] = {};
    decisions[i].reason = Reason::kExcluded;
  }
  decided.is_written = std::move(is_written);
  RefuseUnread(survey, decisions);
  if (!sink.gives_types_back()) RefusePacked(survey, decisions);
  sink.Restrict(decisions, options);
  decided.unkept_rules = CheckKept(survey.tensors(), request, decisions);
  decided.fused = FindFused(survey, request, opening, decisions);
  if (const std::string_view file = sink.one_tensor_file(); !file.empty()) {
    decided.only = OnlyTensor(survey, decisions, file);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      if (i != decided.only) decisions[i] = {};
    }
  }
  if (!sink.gives_types_back()) RefuseScaled(survey, decisions);
  return decided;
}

std::vector<std::string> NotesOn(const Survey& survey, const Sink& sink, const Decided& decided) {
  const std::vector<Decision>& decisions = decided.decisions;
  std::vector<std::string> notes = survey.reader().notes();
  const auto note = [&](const std::string& text) {
    if (!text.empty()) notes.push_back(words::PathText(survey.path) + ": " + text);
  };
  for (std::uint32_t part = 0; part < survey.parts(); ++part) {
    const std::string& problem = survey.scales.ConfigOf(part).problem;
    if (problem.empty()) continue;
    notes.push_back(problem + "; what it says of the tensors is not known");
  }
  if (decided.repacked) {
    for (const std::string& text : RepackNotes(survey, decisions)) note(text);
    for (std::string& text : sink.NotesOn(decisions)) notes.push_back(std::move(text));
    return notes;
  }
  for (const std::string& text : AppliedText(survey, decisions)) note(text);
  for (std::string& text : sink.NotesOn(decisions)) notes.push_back(std::move(text));
  for (const std::string& text : MisreadNotes(survey, decisions)) note(text);
  for (const std::string& text : LeftNotes(survey.tensors(), decisions)) note(text);
  note(UnrotatedNote(survey.tensors(), decisions));
  note(TurnedNote(survey, decisions));
  note(UnscaledText(survey, &decisions));
  note(PackedText(survey));
  note(UnreadText(survey));
  note(BareCodesText(survey, decisions));
  for (const std::string& text : decided.unkept_rules) note(text);
  notes.insert(notes.end(), decided.fused.notes.begin(), decided.fused.notes.end());
  for (const std::string& text : IdleConfigTexts(survey)) note(text);
  return notes;
}

}  // namespace tensorcast::convert
