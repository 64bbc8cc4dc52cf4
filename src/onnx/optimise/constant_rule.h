// Which Casts of constants are done once, in the model: where it does not grow by that, or all.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_OPTIMISE_CONSTANT_RULE_H_
#define TENSORCAST_SRC_ONNX_OPTIMISE_CONSTANT_RULE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "files/byte_source.h"
#include "onnx/optimise/cast_rules.h"
#include "onnx/optimise/folded_constant.h"
#include "onnx/optimise/model_values.h"
#include "protobuf/onnx_model.h"

namespace tensorcast::onnx {

// What a Cast of a constant gave, as the model holds it now. Its values end the new field.
struct NewConstant {
  std::size_t node = 0;         // the Cast that it stands for
  bool is_initializer = false;  // of the node's graph; else a Constant in the node's place
  std::string head;             // the field, up to the values
  FoldedConstant values;
};

struct FoldedConstants {
  std::vector<NewConstant> constants;                            // by their nodes, rising
  std::vector<const protobuf::OnnxTensor*> unread_initializers;  // which can go
};

// After ApplyCastRules, whose values and fates it goes on with; constants that nobody reads any
// more go too. `source` holds the model and outlives the result.
FoldedConstants FoldConstants(const protobuf::OnnxModel& model, const files::ByteSource& source,
                              bool fold_all, ModelValues& values, NodeFates& fates);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_OPTIMISE_CONSTANT_RULE_H_
