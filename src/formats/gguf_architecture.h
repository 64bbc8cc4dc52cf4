// Diffusion models by the names of their tensors, as ComfyUI-GGUF tells them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_GGUF_ARCHITECTURE_H_
#define TENSORCAST_SRC_FORMATS_GGUF_ARCHITECTURE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/tensor_info.h"

namespace tensorcast::formats {

struct GgufArchitecture {
  std::string_view name;       // general.architecture; empty: it is none that is known
  std::string_view diffusers;  // not empty: the tensor by whose name it is diffusers' form of
                               // `name`, which no reader of GGUF takes
};

// Of the model that these tensors are, with or without a prefix that all of its names have.
GgufArchitecture GgufArchitectureOf(std::span<const TensorInfo> tensors);

// Whether ComfyUI-GGUF keeps a tensor in float32 that is a model's of this architecture: short
// ones, and those that it reads without a type of its own. Of an architecture that is not its own
// only vectors and scalars, as llama.cpp does.
bool IsGgufFloat32(std::string_view architecture, const TensorInfo& info);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_GGUF_ARCHITECTURE_H_
