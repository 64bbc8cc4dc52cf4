// Weights that lack something they cannot be without: packed codes without their scales, scales
// without their codes, and what an index says to stand in another file.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_MISSING_PARTS_H_
#define TENSORCAST_SRC_SCALE_MISSING_PARTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/name_order.h"
#include "formats/tensor_info.h"
#include "scale/config_coverage.h"
#include "scale/quantization_config.h"
#include "scale/scale_names.h"
#include "scale/scaled_weights.h"

namespace tensorcast::scale {

// "q.weight_scale [4, 4]"
std::string ShapedName(const formats::TensorInfo& info);

class MissingParts {
 public:
  // `path`: the checkpoint's, whose index is read where it is asked. All have to outlive it.
  MissingParts(const std::vector<formats::TensorInfo>& tensors, const std::string& path,
               const QuantizationConfig& config)
      : tensors_(tensors), path_(path), config_(config) {}

  // A weight of which the index says that something beside its scales stands in another file:
  // without it the weight would be another one.
  std::optional<UnreadWeight> TornApart(std::size_t codes);

  // Of the tensors that are not settled: packed codes without the scales that they need, or with
  // what cannot be these, scales and zero points whose codes are nowhere, and integers of a byte
  // without the scales that the configuration says they have.
  std::vector<UnreadWeight> Find(const std::unordered_set<std::size_t>& settled);

 private:
  std::optional<UnreadWeight> BareCodes(const CompanionName& row, std::size_t codes,
                                        const ConfigCoverage& coverage);
  // Integers of a byte that the configuration says to have scales.
  std::optional<UnreadWeight> BareIntegers(std::size_t codes, const ConfigCoverage& coverage);
  // Scales or zero points without codes.
  std::optional<UnreadWeight> LonePart(const CompanionName& row, std::size_t part,
                                       const ConfigCoverage& coverage);
  // Whether the configuration, or something else that serves the same weight, says that the codes
  // of that name are the row's.
  bool IsSaid(const CompanionName& row, const formats::TensorInfo& codes,
              const ConfigCoverage& coverage);
  UnreadWeight Refusal(std::size_t tensor, const std::string& why) const;
  UnreadWeight Torn(std::size_t codes, const CompanionName& row, const std::string& companion,
                    const std::string& file) const;
  // "; config.json says "gptq"", where that is the row's dialect.
  std::string SaysText(const CompanionName& row) const;
  const formats::TensorInfo* Named(const std::string& name);
  // What the index says of companions of weights in other files, by name.
  const std::unordered_map<std::string, std::string>& Elsewhere();

  const std::vector<formats::TensorInfo>& tensors_;
  const std::string& path_;
  const QuantizationConfig& config_;
  std::optional<formats::NameOrder<formats::TensorInfo>> by_name_;  // made when asked for
  std::optional<std::unordered_map<std::string, std::string>> elsewhere_;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_MISSING_PARTS_H_
