// What is said and refused of quantised tensors and of what belongs to them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SCALED_TENSORS_H_
#define TENSORCAST_PROGRAMS_SCALED_TENSORS_H_

#include <string>
#include <vector>

#include "io/scale_companions.h"
#include "io/tensor_file.h"
#include "selection.h"

namespace tensorcast::tool {

// Refuses to cast tensors that have scales; "--raw-scaled" lifts it.
void RefuseScaled(const io::TensorReader& reader, const std::string& path,
                  const io::ScaleCompanions& scales, const std::vector<Decision>& decisions);

// "x.weight (float8e4m3fn) has no scale anywhere here" of tensors of the narrowest types; of those
// that are cast, where there are decisions. Empty where there are none, and of a model, whose graph
// says what scales them.
std::string UnscaledText(const io::TensorReader& reader, const io::ScaleCompanions& scales,
                         const std::vector<Decision>* decisions);

// "3 tensors (q.weight_scale: scale of q.weight, …)" of the companions; empty where there are none.
std::string CompanionsText(const io::TensorReader& reader,
                           const std::vector<io::Companion>& companions);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SCALED_TENSORS_H_
