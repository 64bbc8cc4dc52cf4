// What the nodes of a graph say of training, as metadata_props of its model: the key
// "tensorcast.training" says that the model holds it, and "tensorcast.training:OUTPUT" what the
// node of this first output says where that is not the usual: "training=false lda_coeff=0.5".
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_RUN_TRAINING_METADATA_H_
#define TENSORCAST_SRC_ONNX_RUN_TRAINING_METADATA_H_

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace tensorcast::onnx {

// Keys and values that say it of a graph.
std::vector<std::pair<std::string, std::string>> TrainingEntries(const graph::Graph& graph);

// Takes them out of a graph's model_fields and into its nodes. An entry of a node that is not there
// (any more) is dropped. Throws core::Failure (kBadFile) where one is not as TrainingEntries has
// it.
void TakeTrainingEntries(graph::Graph& graph);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_RUN_TRAINING_METADATA_H_
