// Members of a library's configuration, and what several of them say alike. A member of an
// unexpected kind is as if it were not there, but for sizes of blocks, without which other ones
// would be tried.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_CONFIG_JSON_H_
#define TENSORCAST_SRC_SCALE_CONFIG_JSON_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/ordered_json_fwd.h"
#include "scale/quantization_config.h"

namespace tensorcast::scale {

// null where `json` is no object, or has no such member.
const json::OrderedJson& Member(const json::OrderedJson& json, const char* key);
std::string Text(const json::OrderedJson& json);
std::vector<std::string> Texts(const json::OrderedJson& json);  // those of a list
// Whether a member says something: neither null, false or empty, nor made of such members alone.
bool SaysSomething(const json::OrderedJson& json);
// Whether a dialect's list has a word.
inline bool IsAmong(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Refuses the weights of a configuration in which one of these members says that the input of
// layers is rotated while a model runs: their weights are stored for that, and are not the model's.
void RefuseRotated(const json::OrderedJson& json, std::span<const char* const> members,
                   QuantizationConfig& config);

// "config_groups" of compressed-tensors and ModelOpt: a scheme for each that has weights.
void ReadGroups(const json::OrderedJson& json, QuantizationConfig& config);
// transformers' "fp8" and the like: float8, in blocks of "weight_block_size".
void ReadFp8(const json::OrderedJson& json, QuantizationConfig& config);

// A configuration's text, whatever bytes its names have.
std::string ConfigText(const json::OrderedJson& json, int indent = 2);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_CONFIG_JSON_H_
