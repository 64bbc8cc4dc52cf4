// What the dialects have in common whose weights are GPTQ's or AWQ's `qweight`, `qzeros`, `scales`.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_DIALECTS_GPTQ_H_
#define TENSORCAST_SRC_SCALE_DIALECTS_GPTQ_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "json/ordered_json_fwd.h"
#include "scale/dialects/dialect.h"
#include "scale/packed_tensors.h"

namespace tensorcast::scale {

inline constexpr CompanionName kQweightNames[] = {
    {.tensor = ".qweight",
     .companion = ".scales",
     .role = CompanionRole::kScale,
     .codes = Codes::kWords,
     .is_needed = true},
    {".qweight", ".qzeros", CompanionRole::kZeroPoint, Codes::kWords},
    {".qweight", ".g_idx", CompanionRole::kOrder, Codes::kWords},
};

// What a configuration says of all such weights.
struct QweightSettings {
  bool is_said = false;
  int bits = 0;                             // 0: nothing
  std::optional<std::uint64_t> group = {};  // 0: a group is a row
  bool has_exceptions = false;              // some weights have other bits or groups
  bool is_symmetric = true;
  bool says_symmetric = false;  // and not by saying nothing
  bool is_ordered = false;      // columns are of groups in an order of their own
  std::string format = {};      // "gptq_v2", "gemm", "auto_round:auto_awq" ..., in lower case
  std::string words = {};       // "int32": what several codes are packed in
  std::string misread = {};     // "says \"bits\" 16": a number that such weights do not have

  // "4-bit integers, groups of 128"; empty where nothing is said.
  std::string Text() const;
};

// The members that the three configurations share: "bits", "group_size", "sym"; AWQ's other names
// of the first two.
QweightSettings SettingsOf(const QuantizationConfig& config);
// Puts them into the configuration's schemes; nothing where its numbers are no integers.
void ReadQweightConfig(const json::OrderedJson& json, QuantizationConfig& config);

// The tensors of one weight, of types and ranks that fit; nothing if they do not.
struct QweightTensors {
  const formats::TensorInfo* words = nullptr;
  std::size_t scales = 0;
  DataType scale_type = DataType::kUndefined;
  std::uint64_t groups = 0, scale_columns = 0;  // of the scales' shape
  std::optional<std::size_t> zeros, order;
};
std::optional<QweightTensors> QweightTensorsOf(const PackedTensors& tensors);
// Which of them has another type than its kind; empty: none has.
std::string WrongQweightType(const PackedTensors& tensors, const QweightTensors& found);
// A shape that has so many dimensions of 1 and more, of 32-bit integers.
bool AreWords(const formats::TensorInfo& info, std::uint64_t rows, std::uint64_t columns);

// The formats that are read; an empty one says nothing.
inline constexpr std::string_view kGptqFormats[] = {"", "gptq", "gptq_v2"};
inline constexpr std::string_view kAwqFormats[] = {"", "gemm", "gemv"};

// Whether they say that codes are packed in others than words of 32 bits.
bool ContradictsWords(const QweightSettings& settings);
// "l.qzeros [4, 8] (int32)"
std::string TypedName(const formats::TensorInfo& info);
// Why tensors with scales are none of these: which of them has another type or shape than it needs,
// of the form that the settings say. Nothing without scales.
PackedReading RefuseQweight(const PackedTensors& tensors, const QweightSettings& settings,
                            bool is_awq);

// Gives nothing where the shapes, or the format, are not GPTQ's.
PackedReading ReadGptq(const PackedTensors& tensors, const QweightSettings& settings);
// Gives nothing where the shapes, or the format, are not AWQ's.
PackedReading ReadAwq(const PackedTensors& tensors, const QweightSettings& settings);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_DIALECTS_GPTQ_H_
