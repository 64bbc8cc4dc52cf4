// A name is believed where it stands for nothing else, or where the configuration names its
// dialect.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/missing_parts.h"

#include <algorithm>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "files/error.h"

namespace tensorcast::scale {

using formats::TensorInfo;
namespace {

std::string LeafOf(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// bitsandbytes' bytes of 4-bit codes are a column, and its rows of int8 are none.
bool IsPackedAs(const CompanionName& row, const TensorInfo& info) {
  const bool is_column = info.shape.size() == 2 && info.shape.back() == 1;
  if (row.codes == Codes::kAny && !is_column) return false;
  if (row.codes == Codes::kNarrow && is_column) return false;
  return TensorFits(row, info, true);
}

// Whether such a companion says what the weight is, beside its scales.
bool IsOfWeight(const CompanionName& row) {
  return row.role != CompanionRole::kScale && row.role != CompanionRole::kActivationScale;
}

// Zero points of packed codes, which mean nothing without these.
bool IsZeroPointOfWords(const CompanionName& row) {
  return row.role == CompanionRole::kZeroPoint && row.codes == Codes::kWords &&
         row.dialect != nullptr && row.dialect->read_packed != nullptr;
}

}  // namespace

std::string ShapedName(const TensorInfo& info) {
  return words::EscapeName(info.name) + " " + words::ShapeText(info.shape);
}

std::optional<UnreadWeight> MissingParts::TornApart(std::size_t codes) {
  std::string name;
  for (const CompanionName& row : CompanionNames()) {
    if (!IsOfWeight(row) || !tensors_[codes].name.ends_with(row.tensor)) continue;
    name.assign(tensors_[codes].name, 0, tensors_[codes].name.size() - row.tensor.size());
    const auto found = Elsewhere().find(name.append(row.companion));
    if (found != Elsewhere().end()) return Torn(codes, row, name, found->second);
  }
  return std::nullopt;
}

std::vector<UnreadWeight> MissingParts::Find(const std::unordered_set<std::size_t>& settled) {
  std::vector<const CompanionName*> rows;
  for (const CompanionName& row : CompanionNames()) {
    if (row.is_needed || IsZeroPointOfWords(row)) rows.push_back(&row);
  }
  // Several dialects may have the same names.
  std::stable_partition(rows.begin(), rows.end(),
                        [&](const CompanionName* row) { return row->dialect == config_.dialect; });
  const ConfigCoverage coverage(config_);
  const ConfigCoverage of_integers(config_, true);
  std::vector<UnreadWeight> found;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (settled.contains(i)) continue;
    for (const CompanionName* const row : rows) {
      std::optional<UnreadWeight> refusal;
      if (row->is_needed && tensors_[i].name.ends_with(row->tensor)) {
        refusal = BareCodes(*row, i, coverage);
      }
      if (!refusal && tensors_[i].name.ends_with(row->companion)) {
        refusal = LonePart(*row, i, coverage);
      }
      if (!refusal) continue;
      found.push_back(*std::move(refusal));
      break;
    }
    if (!found.empty() && found.back().tensor == i) continue;
    if (std::optional<UnreadWeight> refusal = BareIntegers(i, of_integers)) {
      found.push_back(*std::move(refusal));
    }
  }
  return found;
}

std::optional<UnreadWeight> MissingParts::BareCodes(const CompanionName& row, std::size_t codes,
                                                    const ConfigCoverage& coverage) {
  const TensorInfo& info = tensors_[codes];
  const TypeInfo* const type = FindType(info.type);
  // Names that stand for nothing else, of the words that such codes are packed in.
  const bool tells = row.tensor != ".weight" && type != nullptr && type->is_integer() &&
                     type->bits >= 16 && LeafOf(info.name).find("weight") != std::string::npos;
  if (!tells && !IsSaid(row, info, coverage)) return std::nullopt;
  const std::string stem = info.name.substr(0, info.name.size() - row.tensor.size());
  const std::string name = stem + std::string(row.companion);
  const TensorInfo* const companion = Named(name);
  if (type == nullptr || !type->is_integer() || !IsPackedAs(row, info)) {
    // Values under the name of codes, beside the scales of codes.
    if (companion == nullptr || row.tensor.empty() || (type != nullptr && type->is_integer())) {
      return std::nullopt;
    }
    return Refusal(codes, "has the type " + std::string(TypeName(info.type)) + " beside " +
                              words::EscapeName(name) + ", which codes do not have" +
                              SaysText(row));
  }
  if (companion != nullptr) {
    return Refusal(codes, "has " + ShapedName(*companion) + " (" +
                              std::string(TypeName(companion->type)) +
                              "), which cannot be its scales" + SaysText(row));
  }
  if (const auto found = Elsewhere().find(name); found != Elsewhere().end()) {
    return Torn(codes, row, found->first, found->second);
  }
  if (std::optional<UnreadWeight> torn = TornApart(codes)) return torn;
  return Refusal(codes, "has no scales: a tensor called " + words::EscapeName(name) +
                            " is missing" + SaysText(row));
}

std::optional<UnreadWeight> MissingParts::BareIntegers(std::size_t codes,
                                                       const ConfigCoverage& coverage) {
  const TensorInfo& info = tensors_[codes];
  const TypeInfo* const type = FindType(info.type);
  if (type == nullptr || !type->is_integer() || type->bits != 8 || info.elements == 0 ||
      config_.dialect == nullptr || !coverage.Covers(info)) {
    return std::nullopt;
  }
  const auto layout = std::ranges::find_if(config_.dialect->layouts, [&](const Layout& one) {
    return one.storage == Storage::kInt8 && info.name.ends_with(one.codes);
  });
  if (layout == config_.dialect->layouts.end()) return std::nullopt;
  std::string name = info.name.substr(0, info.name.size() - layout->codes.size());
  name += layout->scale;
  if (Named(name) != nullptr || Elsewhere().contains(name)) return std::nullopt;
  return Refusal(codes, "has no scales: a tensor called " + words::EscapeName(name) +
                            " is missing; " + config_.file + " says " +
                            words::Quoted(config_.method));
}

std::optional<UnreadWeight> MissingParts::LonePart(const CompanionName& row, std::size_t part,
                                                   const ConfigCoverage& coverage) {
  const TensorInfo& info = tensors_[part];
  const std::string holds = "holds the " + std::string(RoleText(row.role)) + "s of ";
  // Others' names may end so ("logit_scale"); those of a part of their own do not.
  const bool is_part =
      row.companion.starts_with('.') || LeafOf(info.name).find("weight") != std::string::npos;
  if (!is_part || !CompanionTypeFits(row, info)) return std::nullopt;
  TensorInfo wanted;
  wanted.name = info.name.substr(0, info.name.size() - row.companion.size());
  wanted.name += row.tensor;
  if (!IsSaid(row, wanted, coverage)) return std::nullopt;
  const TensorInfo* const codes = Named(wanted.name);
  const std::string name = words::EscapeName(wanted.name);
  if (codes == nullptr || codes->elements == 0) {
    return Refusal(part, holds + "codes that are not here: a tensor called " + name +
                             (codes == nullptr ? " is missing" : " has no elements") +
                             SaysText(row));
  }
  const TypeInfo* const type = FindType(codes->type);
  if (type == nullptr || !type->is_integer() || TensorFits(row, *codes, true)) return std::nullopt;
  return Refusal(part, holds + name + ", which has the type " + std::string(TypeName(codes->type)) +
                           ", and codes do not" + SaysText(row));
}

bool MissingParts::IsSaid(const CompanionName& row, const TensorInfo& codes,
                          const ConfigCoverage& coverage) {
  if (row.dialect == config_.dialect && !coverage.Excepts(codes)) return true;
  std::string name;
  return std::ranges::any_of(CompanionNames(), [&](const CompanionName& other) {
    if (other.dialect != row.dialect || !other.is_telling || !IsOfWeight(other) ||
        !codes.name.ends_with(other.tensor)) {
      return false;
    }
    name.assign(codes.name, 0, codes.name.size() - other.tensor.size());
    return Named(name.append(other.companion)) != nullptr;
  });
}

UnreadWeight MissingParts::Refusal(std::size_t tensor, const std::string& why) const {
  return {tensor, core::ErrorKind::kContents, ShapedName(tensors_[tensor]) + " " + why,
          Remedy::kKeepPacked};
}

UnreadWeight MissingParts::Torn(std::size_t codes, const CompanionName& row,
                                const std::string& companion, const std::string& file) const {
  return {codes, core::ErrorKind::kContents,
          ShapedName(tensors_[codes]) + " has a " + std::string(RoleText(row.role)) + ", " +
              words::EscapeName(companion) + ", in " + words::EscapeName(file),
          Remedy::kTakeDirectory};
}

std::string MissingParts::SaysText(const CompanionName& row) const {
  if (row.dialect != config_.dialect || config_.file.empty()) return {};
  return "; " + config_.file + " says " +
         (config_.method.empty() ? "a quantization" : words::Quoted(config_.method));
}

const TensorInfo* MissingParts::Named(const std::string& name) {
  if (!by_name_) by_name_.emplace(tensors_);
  const std::optional<std::uint32_t> found = by_name_->Find(name);
  return found ? &tensors_[*found] : nullptr;
}

const std::unordered_map<std::string, std::string>& MissingParts::Elsewhere() {
  if (elsewhere_) return *elsewhere_;
  elsewhere_.emplace();
  checkpoint::ForEachInIndex(path_, [&](std::string_view name, std::string_view file) {
    if (std::ranges::any_of(CompanionNames(), [&](const CompanionName& row) {
          return row.role != CompanionRole::kActivationScale && name.ends_with(row.companion);
        })) {
      elsewhere_->emplace(name, file);
    }
  });
  for (const TensorInfo& info : tensors_) elsewhere_->erase(info.name);
  return *elsewhere_;
}

}  // namespace tensorcast::scale
