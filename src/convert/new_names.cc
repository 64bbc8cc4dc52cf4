// A part of a weight has the weight's name in its own, or that of its module: "q.weight_scale_inv",
// "q.qzeros" of "q.weight".
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/new_names.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "convert/candidate.h"
#include "convert/matching.h"
#include "files/error.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;

constexpr std::string_view kWeightWord = "weight";

// The name of a part of the weight `old`, which is now called `made`; nothing: it cannot be told.
std::optional<std::string> NameOfPart(std::string_view part, std::string_view old,
                                      std::string_view made) {
  if (old == made) return std::string(part);
  const bool is_named_weight = old == kWeightWord || old.ends_with(".weight");
  if (is_named_weight && made != kWeightWord && !made.ends_with(".weight")) return std::nullopt;
  if (part.starts_with(old)) return std::string(made) + std::string(part.substr(old.size()));
  if (!is_named_weight) return std::nullopt;
  const std::string_view module = old.substr(0, old.size() - kWeightWord.size());
  if (!part.starts_with(module)) return std::nullopt;
  return std::string(made.substr(0, made.size() - kWeightWord.size())) +
         std::string(part.substr(module.size()));
}

void RequireName(const std::string& path, const std::string& old, std::string_view made) {
  if (!made.empty()) return;
  throw Error(ErrorKind::kArguments,
              words::PathText(path) + ": " + words::EscapeName(old) + " would have no name left",
              old);
}

}  // namespace

naming::Renames RenamesOf(const Request& request) {
  naming::Renames renames;
  for (const RequestedRename& one : request.renames) {
    try {
      renames.Add({one.from, one.to});
    } catch (const Error& error) {
      if (one.where.empty()) throw;
      throw Error(error.kind(), words::Escape(one.where) + ": " + error.what());
    }
  }
  return renames;
}

NewNames::NewNames(const Survey& survey, naming::Renames& renames) {
  if (renames.empty()) return;
  const std::vector<formats::TensorInfo>& tensors = survey.tensors();
  const InputScales& scales = survey.scales;
  const auto made = [&](const std::string& name) {
    std::optional<std::string> found = renames.Apply(name);
    if (found) RequireName(survey.path, name, *found);
    return found ? *std::move(found) : name;
  };
  plain_.resize(tensors.size());
  std::vector<bool> is_named(tensors.size());
  for (const scale::ScaledWeight& weight : scales.weights.weights) {
    const std::string name = made(weight.name);
    const auto take = [&](std::size_t part) {
      plain_[part] = part == weight.codes ? name : tensors[part].name;
      std::optional<std::string>& stored = stored_[part];  // several weights may share it
      if (!stored) stored = NameOfPart(tensors[part].name, weight.name, name);
      is_named[part] = true;
    };
    take(weight.codes);
    for (const std::size_t part : weight.companions) take(part);
    if (name != weight.name && count_++ == 0) first_ = weight.codes;
  }
  for (const scale::Companion& one : scales.companions.companions) {
    if (scales.is_ignored || is_named[one.tensor] || one.is_of_layer) continue;
    const std::string name = made(one.of);
    std::optional<std::string> part = NameOfPart(tensors[one.tensor].name, one.of, name);
    if (!part && name == one.of) continue;
    plain_[one.tensor] = part.value_or(tensors[one.tensor].name);
    stored_[one.tensor] = std::move(part);
    is_named[one.tensor] = true;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_named[i]) continue;
    plain_[i] = made(tensors[i].name);
    if (plain_[i] != tensors[i].name && count_++ == 0) first_ = i;
  }
}

const std::string& NewNames::Stored(const Survey& survey, std::size_t tensor) const {
  const auto part = stored_.find(tensor);
  if (part == stored_.end()) return plain_[tensor];
  if (part->second) return *part->second;
  const std::string& name = survey.tensors()[tensor].name;
  throw Error(ErrorKind::kArguments,
              words::PathText(survey.path) + ": " + words::EscapeName(name) +
                  " stays quantised, and its parts are told by names that end in 'weight': rename "
                  "what stands before that, or cast it",
              name);
}

formats::FileContents NewNames::ContentsOf(formats::FileContents contents) const {
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) contents.tensors[i].name = plain_[i];
  return contents;
}

std::string NewNames::Text(const Survey& survey) const {
  std::string old = survey.tensors()[first_].name;
  for (const scale::ScaledWeight& weight : survey.scales.weights.weights) {
    if (weight.codes == first_) old = weight.name;
  }
  return words::CountText(count_, "tensor") + (count_ == 1 ? " is" : " are") + " renamed (" +
         words::EscapeName(old) + " is written as " + words::EscapeName(plain_[first_]) +
         (count_ == 1 ? ")" : ", ...)");
}

void RequireRenamed(const naming::Renames& renames, const std::vector<Survey>& surveys) {
  const naming::Rename* const idle = renames.Idle();
  if (idle == nullptr) return;
  const naming::NamePattern pattern(idle->from());
  for (const Survey& survey : surveys) {
    for (const formats::TensorInfo& info : survey.tensors()) {
      if (!pattern.Matches(info.name)) continue;
      throw Error(ErrorKind::kArguments,
                  "'" + words::EscapeName(idle->from()) + "' matches " +
                      words::EscapeName(info.name) +
                      " alone, and what serves a weight is named after the weight",
                  idle->from());
    }
  }
  RefuseIdle(idle->from(), surveys);
}

}  // namespace tensorcast::convert
