// The table, and what is read off it.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scaled_format.h"

#include <algorithm>

namespace tensorcast::scale {
namespace {

constexpr NamedRule kFloatRules[] = {
    {"amax", ScaleRule::kAmax}, {"pow2", ScaleRule::kUp}, {"mse", ScaleRule::kMse}};
constexpr NamedRule kPowerRules[] = {{"round", ScaleRule::kRound},
                                     {"up", ScaleRule::kUp},
                                     {"ocp", ScaleRule::kOcp},
                                     {"mse", ScaleRule::kMse}};
constexpr NamedRule kGlobalRules[] = {{"amax", ScaleRule::kAmax},
                                      {"mse", ScaleRule::kMse},
                                      {"four-over-six", ScaleRule::kFourOverSix}};

constexpr NamedRule kIntegerRules[] = {{"amax", ScaleRule::kAmax},
                                       {"pow2", ScaleRule::kUp},
                                       {"mse", ScaleRule::kMse},
                                       {"mse-fine", ScaleRule::kMseFine}};
constexpr NamedRule kGroupRules[] = {
    {"amax", ScaleRule::kAmax}, {"mse", ScaleRule::kMse}, {"mse-fine", ScaleRule::kMseFine}};

// Of formats whose own rule it is.
constexpr NamedRule kBlockRules[] = {{"amax", ScaleRule::kAmax}};

// GGUF's own: codes of 4, 5 and 8 bits are taken as int8 one by one.
constexpr Scaling kGgufScaled = {DataType::kInt8, DataType::kFloat16};

// What divides the values: a float32, or a power of two.
constexpr Scaling FloatScaled(DataType element) { return {element, DataType::kFloat32}; }
constexpr Scaling PowerScaled(DataType element) { return {element, DataType::kFloat8E8M0}; }

// Integers in groups; 0: in rows.
constexpr std::uint64_t kUsualGroup = 128;
constexpr ScaledFormat GroupsOf(int bits, std::uint64_t group, bool is_asymmetric) {
  ScaledFormat format = {bits == 4 ? "int4-group" : "int8-group",
                         group == 0 ? CellsBy::kRows : CellsBy::kGroups,
                         group == 0 ? std::uint64_t{0} : 1,
                         group,
                         {bits == 4 ? DataType::kInt4 : DataType::kInt8, DataType::kFloat16},
                         kGroupRules};
  format.group_bits = bits;
  format.is_asymmetric = is_asymmetric;
  return format;
}

// Groups of 32 are OCP Microscaling's, of 16 NVFP4's; blocks of 128 x 128 DeepSeek's.
constexpr ScaledFormat kFormats[] = {
    {"fp8-tensor", CellsBy::kTensor, 0, 0, FloatScaled(DataType::kFloat8E4M3FN), kFloatRules},
    {"fp8-row", CellsBy::kRows, 0, 0, FloatScaled(DataType::kFloat8E4M3FN), kFloatRules},
    {"fp8-block", CellsBy::kBlocks, 128, 128, FloatScaled(DataType::kFloat8E4M3FN), kFloatRules},
    {"int8-row", CellsBy::kRows, 0, 0, FloatScaled(DataType::kInt8), kIntegerRules},
    {"mxfp8", CellsBy::kGroups, 1, 32, PowerScaled(DataType::kFloat8E4M3FN), kPowerRules},
    {"mxfp8-e5m2", CellsBy::kGroups, 1, 32, PowerScaled(DataType::kFloat8E5M2), kPowerRules},
    {"mxfp6", CellsBy::kGroups, 1, 32, PowerScaled(DataType::kFloat6E2M3), kPowerRules},
    {"mxfp6-e3m2", CellsBy::kGroups, 1, 32, PowerScaled(DataType::kFloat6E3M2), kPowerRules},
    {"mxfp4", CellsBy::kGroups, 1, 32, PowerScaled(DataType::kFloat4E2M1), kPowerRules},
    {"nvfp4",
     CellsBy::kGroups,
     1,
     16,
     {DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies, Factor::kMultiplies},
     kGlobalRules},
    {"q8_0", CellsBy::kGroups, 1, 32, kGgufScaled, kBlockRules, true},
    {"q5_1", CellsBy::kGroups, 1, 32, kGgufScaled, kBlockRules, true},
    {"q5_0", CellsBy::kGroups, 1, 32, kGgufScaled, kBlockRules, true},
    {"q4_1", CellsBy::kGroups, 1, 32, kGgufScaled, kBlockRules, true},
    {"q4_0", CellsBy::kGroups, 1, 32, kGgufScaled, kBlockRules, true},
    GroupsOf(4, kUsualGroup, false),
    GroupsOf(8, kUsualGroup, false),
};

// Their other sizes and rules, by bits.
constexpr ScaledFormat kGroups[] = {
    GroupsOf(4, 32, false), GroupsOf(4, 64, false), GroupsOf(4, 128, false), GroupsOf(4, 0, false),
    GroupsOf(4, 32, true),  GroupsOf(4, 64, true),  GroupsOf(4, 128, true),  GroupsOf(4, 0, true),
    GroupsOf(8, 32, false), GroupsOf(8, 64, false), GroupsOf(8, 128, false), GroupsOf(8, 0, false),
    GroupsOf(8, 32, true),  GroupsOf(8, 64, true),  GroupsOf(8, 128, true),  GroupsOf(8, 0, true),
};

}  // namespace

std::span<const ScaledFormat> ScaledFormats() { return kFormats; }

const ScaledFormat* FindScaledFormat(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kFormats), std::end(kFormats),
                   [&](const ScaledFormat& format) { return format.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

const ScaledFormat* FindGroups(const ScaledFormat& format, std::uint64_t group,
                               bool is_asymmetric) {
  if (group == kUsualGroup && !is_asymmetric) return FindScaledFormat(format.name);
  const auto* const found =
      std::find_if(std::begin(kGroups), std::end(kGroups), [&](const ScaledFormat& one) {
        return one.name == format.name && one.block_columns == group &&
               one.is_asymmetric == is_asymmetric;
      });
  return found == std::end(kGroups) ? nullptr : found;
}

bool ScaledFormat::Takes(std::span<const std::uint64_t> shape) const {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return false;
  return cells != CellsBy::kGroups || (!shape.empty() && shape.back() % block_columns == 0);
}

Partition ScaledFormat::PartitionOf(std::span<const std::uint64_t> shape) const {
  switch (cells) {
    case CellsBy::kTensor: return Partition::OfTensor(shape);
    case CellsBy::kRows: return Partition::OfRows(shape);
    case CellsBy::kBlocks: return Partition::OfBlocks(shape, block_rows, block_columns);
    case CellsBy::kGroups: break;
  }
  return Partition::OfGroups(shape, block_columns);
}

std::optional<ScaleRule> ScaledFormat::FindRule(std::string_view rule) const {
  for (const NamedRule& named : rules) {
    if (named.name == rule) return named.rule;
  }
  return std::nullopt;
}

double BitsPerValue(const Scaling& scaling, const Partition& partition) {
  const auto bits = [](DataType type) { return static_cast<double>(detail::Row(type).bits); };
  const double global = scaling.global_use == Factor::kNone ? 0 : bits(DataType::kFloat32);
  return bits(scaling.element) +
         (bits(scaling.scale) * static_cast<double>(partition.cells()) + global) /
             static_cast<double>(partition.elements());
}

}  // namespace tensorcast::scale
