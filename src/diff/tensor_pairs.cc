// One walk over A's names, looked up among B's; then what nobody asked for is left out.
//
// SPDX-License-Identifier: Apache-2.0
#include "diff/tensor_pairs.h"

#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "convert/matching.h"
#include "convert/new_names.h"
#include "convert/selection.h"
#include "files/error.h"
#include "files/system.h"
#include "naming/rename.h"

namespace tensorcast::diff {
namespace {

using core::ErrorKind;
using files::Error;

// The tensors that stand for themselves, and not for the scales of others.
std::vector<std::size_t> TensorsOf(const Side& side) {
  if (side.values.left) return *side.values.left;
  std::vector<std::size_t> all(side.tensors().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// Whether the only tensor has its name from the file, which holds none: npy, perhaps TensorProto.
bool IsNamedByFile(const Side& side) {
  if (side.tensors().size() != 1 || side.survey.opened.checkpoint != nullptr) return false;
  std::string_view file = side.survey.path;
  file.remove_prefix(files::NameBegin(side.survey.path));
  return (file.ends_with(".npy") || file.ends_with(".pb")) &&
         file.substr(0, file.rfind('.')) == side.tensors().front().name;
}

std::vector<TensorPair> ByName(const Side& a, const Side& b, const DiffRequest& request) {
  naming::Renames renames = convert::RenamesOf(request.renames);
  const std::vector<std::size_t> of_a = TensorsOf(a), of_b = TensorsOf(b);
  if (request.renames.empty() && of_a.size() == 1 && of_b.size() == 1 &&
      (IsNamedByFile(a) || IsNamedByFile(b))) {
    return {{of_a.front(), of_b.front()}};
  }
  std::unordered_map<std::string_view, std::size_t> places;  // in of_b
  for (std::size_t k = 0; k < of_b.size(); ++k) places.emplace(b.tensors()[of_b[k]].name, k);
  std::vector<std::optional<std::size_t>> taken(of_b.size());  // by which of A
  std::vector<TensorPair> pairs;
  pairs.reserve(of_a.size());
  for (const std::size_t i : of_a) {
    const std::string name = renames.Apply(a.tensors()[i].name).value_or(a.tensors()[i].name);
    TensorPair& pair = pairs.emplace_back();
    pair.a = i;
    const auto found = places.find(name);
    if (found == places.end()) continue;
    std::optional<std::size_t>& taker = taken[found->second];
    if (taker) {
      throw Error(ErrorKind::kArguments,
                  words::EscapeName(name) + " is the name of two tensors of " +
                      words::PathText(a.survey.path) +
                      " as they are renamed: " + words::EscapeName(a.tensors()[*taker].name) +
                      " and " + words::EscapeName(a.tensors()[i].name),
                  name);
    }
    taker = i;
    pair.b = of_b[found->second];
  }
  if (const std::optional<std::size_t> found = renames.Idle()) {
    const RequestedRename& idle = request.renames[*found];
    throw Error(ErrorKind::kArguments,
                convert::PlaceText(idle) + "'" + words::EscapeName(idle.from) +
                    "' matches no tensor of " + words::PathText(a.survey.path) +
                    convert::MeantText(idle.from, std::array{&a.survey}),
                Remedy::kMatchNames, idle.from);
  }
  for (std::size_t k = 0; k < of_b.size(); ++k) {
    if (!taken[k]) pairs.push_back({std::nullopt, of_b[k]});
  }
  return pairs;
}

// Refuses tensors whose values are asked for and cannot be read.
void RefuseUnread(const Side& side, const std::vector<bool>& is_taken) {
  const convert::InputScales& scales = side.survey.scales;
  std::vector<convert::Decision> decisions(side.survey.tensors().size());
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (is_taken[i]) decisions[i].to = DataType::kFloat64;
    if (!is_taken[i]) decisions[i].reason = convert::Reason::kExcluded;
  }
  convert::RefuseUnread(side.survey, decisions);
  if (scales.is_ignored) return;
  for (const scale::ScaledWeight& one : scales.weights.weights) {
    decisions[one.codes].applies_scales = true;
  }
  // Integers of which something only suggests a scale are what they are.
  for (const scale::UnreadWeight& one : scales.weights.unread) {
    if (!one.is_known) decisions[one.tensor].to = DataType::kUndefined;
  }
  for (const scale::OpaqueTensor& one : scales.weights.opaque) {
    if (is_taken[one.tensor]) decisions[one.tensor].reason = convert::Reason::kOpaque;
  }
  for (const scale::Companion& one : scales.companions.companions) decisions[one.tensor] = {};
  convert::RefusePacked(side.survey, decisions);
  convert::RefuseScaled(side.survey, decisions);
}

}  // namespace

Side OpenSide(const std::string& path, const convert::Opening& opening) {
  Side side{convert::OpenSurvey(path, opening), {}};
  side.values = convert::ApplyScales(
      side.survey, [](std::size_t) { return std::optional(scale::Rounding::kNearest); });
  return side;
}

std::vector<TensorPair> PairTensors(const Side& a, const Side& b, const DiffRequest& request) {
  convert::SelectionRequest selection;
  for (const std::string& text : request.only) selection.only.emplace_back(text);
  for (const std::string& text : request.excluded) selection.excluded.emplace_back(text);
  const std::array<convert::Matching, 2> matchings = {convert::Matching(a.survey, selection),
                                                      convert::Matching(b.survey, selection)};
  convert::RequireMatches(matchings, selection);
  std::vector<TensorPair> pairs = ByName(a, b, request);
  const auto any = [&](const TensorPair& pair,
                       bool (convert::Matching::*holds)(std::size_t) const) {
    return (pair.a && (matchings[0].*holds)(*pair.a)) || (pair.b && (matchings[1].*holds)(*pair.b));
  };
  std::erase_if(pairs, [&](const TensorPair& pair) {
    return !any(pair, &convert::Matching::IsChosen) || any(pair, &convert::Matching::IsExcluded);
  });
  std::vector<bool> of_a(a.tensors().size()), of_b(b.tensors().size());
  for (const TensorPair& pair : pairs) {
    if (pair.a) of_a[*pair.a] = true;
    if (pair.b) of_b[*pair.b] = true;
  }
  RefuseUnread(a, of_a);
  RefuseUnread(b, of_b);
  return pairs;
}

}  // namespace tensorcast::diff
