// Which weights a checkpoint's configuration says are quantised to float8, or to int8.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_CONFIG_COVERAGE_H_
#define TENSORCAST_SRC_SCALE_CONFIG_COVERAGE_H_

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "formats/tensor_info.h"
#include "naming/name_pattern.h"
#include "naming/regular_expression.h"
#include "scale/dialects/dialect.h"
#include "scale/quantization_config.h"

namespace tensorcast::scale {

// Targets and exceptions as the libraries that write them read them: compressed-tensors' names,
// "re:" patterns and the class "Linear"; transformers' modules_to_not_convert; ModelOpt's
// exclude_modules, which are globs. What a method says otherwise covers nothing.
class ConfigCoverage {
 public:
  // Throws files::Error (contents) where a pattern is none.
  explicit ConfigCoverage(const QuantizationConfig& config, bool integers = false);

  bool Covers(const formats::TensorInfo& weight) const;
  // Whether it is among the exceptions, which are plain.
  bool Excepts(const formats::TensorInfo& weight) const;

 private:
  // Names that stand for a module or, as patterns, for several.
  class ModuleNames {
   public:
    void Add(const QuantizationConfig& config, const std::string& entry);
    bool Contain(std::string_view module) const;

   private:
    std::unordered_set<std::string> whole_;
    std::vector<std::string> parts_;  // of transformers' list: a name's beginning, end or middle
    std::vector<naming::NamePattern> globs_;
    std::vector<naming::RegularExpression> expressions_;
  };

  // The weight's own name, where its codes are called otherwise.
  std::string PlainName(std::string_view codes) const;

  ModuleNames targets_, ignored_;
  bool takes_linear_ = false;
  std::span<const Layout> layouts_;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_CONFIG_COVERAGE_H_
