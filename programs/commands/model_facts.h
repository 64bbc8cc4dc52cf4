// What a checkpoint's directory is, in a line: parameters, bits per weight, architecture, type.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_COMMANDS_MODEL_FACTS_H_
#define TENSORCAST_PROGRAMS_COMMANDS_MODEL_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "convert/survey.h"
#include "display/tool_json.h"

namespace tensorcast::tool {

struct ModelFacts {
  // Values of the floating tensors, and of weights that are codes with scales; integers are no
  // parameters.
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;   // of all these, with what serves them
  std::size_t packed = 0;    // tensors of weights whose number of values is not known
  std::string architecture;  // as config.json has it, or its model_type; empty: it does not say
  std::string dtype;         // the same: the type that the model is built in
};

ModelFacts FindModelFacts(const convert::Survey& survey);

// "LlamaForCausalLM   bfloat16   8.03 B parameters   4.56 bits per weight".
std::string FactsText(const ModelFacts& facts);
// What is not known is null.
Json FactsJson(const ModelFacts& facts);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_COMMANDS_MODEL_FACTS_H_
