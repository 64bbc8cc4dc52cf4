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

std::string PlaceText(const RequestedRename& rename) {
  return rename.where.empty() ? std::string() : words::Escape(rename.where) + ": ";
}

naming::Renames RenamesOf(std::span<const RequestedRename> requested) {
  naming::Renames renames;
  for (const RequestedRename& one : requested) {
    try {
      renames.Add({one.from, one.to});
    } catch (const Error& error) {
      throw Error(error.kind(), PlaceText(one) + error.what());
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
    if (name != weight.name) renamed_.push_back(weight.codes);
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
    if (plain_[i] != tensors[i].name) renamed_.push_back(i);
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

std::string NewNames::Text(const Survey& survey, const std::vector<bool>& is_written) const {
  std::vector<std::size_t> renamed = renamed_;
  std::erase_if(renamed, [&](std::size_t i) { return !is_written.empty() && !is_written[i]; });
  if (renamed.empty()) return {};
  const std::size_t first = renamed.front();
  std::string old = survey.tensors()[first].name;
  for (const scale::ScaledWeight& weight : survey.scales.weights.weights) {
    if (weight.codes == first) old = weight.name;
  }
  return words::CountText(renamed.size(), "tensor") + (renamed.size() == 1 ? " is" : " are") +
         " renamed (" + words::EscapeName(old) + " is written as " +
         words::EscapeName(plain_[first]) + (renamed.size() == 1 ? ")" : ", ...)");
}

void RequireRenamed(std::span<const RequestedRename> requested, const naming::Renames& renames,
                    const std::vector<Survey>& surveys) {
  const std::optional<std::size_t> found = renames.Idle();
  if (!found) return;
  const RequestedRename& idle = requested[*found];
  const naming::NamePattern pattern(idle.from);
  for (const Survey& survey : surveys) {
    for (const formats::TensorInfo& info : survey.tensors()) {
      if (!pattern.Matches(info.name)) continue;
      throw Error(ErrorKind::kArguments,
                  PlaceText(idle) + "'" + words::EscapeName(idle.from) + "' matches " +
                      words::EscapeName(info.name) +
                      " alone, which takes its name from the weight that it belongs to",
                  idle.from);
    }
  }
  RefuseIdle(PlaceText(idle), idle.from, surveys, Remedy::kMatchNames);
}

}  // namespace tensorcast::convert
