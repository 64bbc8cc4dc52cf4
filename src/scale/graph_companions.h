// The scales and zero points of an ONNX model, whatever they are called: its graph says which input
// of which operator is one.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_GRAPH_COMPANIONS_H_
#define TENSORCAST_SRC_SCALE_GRAPH_COMPANIONS_H_

#include "formats/onnx_tensors.h"
#include "scale/scale_companions.h"

namespace tensorcast::scale {

// Adds them to what the names told. None is left unscaled: what the graph does not scale has no
// scale.
void AddGraphCompanions(const formats::OnnxTensorReader& model, ScaleCompanions& found);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GRAPH_COMPANIONS_H_
