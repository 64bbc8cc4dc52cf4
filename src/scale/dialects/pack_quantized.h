// compressed-tensors' format "pack-quantized".
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_DIALECTS_PACK_QUANTIZED_H_
#define TENSORCAST_SRC_SCALE_DIALECTS_PACK_QUANTIZED_H_

#include "scale/packed_tensors.h"

namespace tensorcast::scale {

// Gives nothing where the codes are no words.
PackedReading ReadPackQuantized(const PackedTensors& tensors);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_DIALECTS_PACK_QUANTIZED_H_
