// What is said and refused of quantised tensors and of what belongs to them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_SCALED_TENSORS_H_
#define TENSORCAST_SRC_CONVERT_SCALED_TENSORS_H_

#include <span>
#include <string>
#include <vector>

#include "convert/selection.h"
#include "io/scale_companions.h"
#include "io/tensor_file.h"

namespace tensorcast::convert {

// Refuses to cast tensors that have scales (Remedy::kIgnoreScales).
void RefuseScaled(const std::vector<io::TensorInfo>& tensors, const std::string& path,
                  const io::ScaleCompanions& scales, std::span<const Decision> decisions);

// "x.weight (float8e4m3fn) has no scale anywhere here" of tensors of the narrowest types; of those
// that are cast, where there are decisions. Empty where there are none.
std::string UnscaledText(const std::vector<io::TensorInfo>& tensors,
                         const io::ScaleCompanions& scales, const std::vector<Decision>* decisions);

// "3 tensors (q.weight_scale: scale of q.weight, …)" of the companions; empty where there are none.
std::string CompanionsText(const std::vector<io::TensorInfo>& tensors,
                           const std::vector<io::Companion>& companions);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_SCALED_TENSORS_H_
