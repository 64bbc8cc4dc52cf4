// A model's config.json, edited so that it is true of tensors in other types.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CHECKPOINT_MODEL_CONFIG_H_
#define TENSORCAST_SRC_CHECKPOINT_MODEL_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "files/byte_source.h"
#include "json/json_text.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::checkpoint {

// What torch calls a type in which it can compute, and so build a model in: "bfloat16"; empty for
// all others.
std::string_view TorchName(DataType type);

// Finds the type that a model is built in: that of the most values among those of TorchName. What
// is stored in narrower types is not, and scales and what else serves codes is not to be added.
class ModelTypeCount {
 public:
  void Add(DataType type, std::uint64_t elements);
  // kUndefined: nothing was of such a type.
  DataType Most() const;

 private:
  std::map<DataType, std::uint64_t> elements_;  // of types that torch names
};

class ModelConfig {
 public:
  // Throws Error (contents) where the file is not a JSON object, or large for a configuration.
  explicit ModelConfig(const files::ByteSource& file)
      : json_(file.path(), ReadText(file, kMostConfigBytes)) {}

  const std::string& text() const { return json_.text(); }

  // Sets each "torch_dtype" and "dtype" that names a type of torch's, those of a multimodal model's
  // parts too, but not what a quantisation's configuration says of its own.
  void SetType(DataType type);

  // Takes away what says how tensors are quantised, from the model's parts too. Whether there was
  // such a thing.
  bool RemoveQuantisation();

  // Members of the outermost object, as JSON text: "quantization_config" ...
  std::optional<std::string> Find(std::string_view key) const { return json_.Find(key); }
  void Set(std::string_view key, std::string_view value) { json_.Set(key, value); }
  bool Remove(std::string_view key) { return json_.Remove(key); }

 private:
  json::JsonText json_;
};

}  // namespace tensorcast::checkpoint

#endif  // TENSORCAST_SRC_CHECKPOINT_MODEL_CONFIG_H_
