// Which of what a torch file holds is the model: the dict whose tensors are read, and their names.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_TORCH_ROOT_H_
#define TENSORCAST_SRC_FORMATS_TORCH_ROOT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.h"
#include "formats/pickle_machine.h"
#include "formats/torch_objects.h"

namespace tensorcast::formats {

struct NamedTorchTensor {
  std::string name;
  const TorchTensor* tensor;  // of the objects
};

struct TorchRoot {
  std::vector<NamedTorchTensor> tensors;  // in the order of the dicts
  std::vector<std::string> notes;         // how the root was chosen, what is not read
};

// What a root's name is for the top itself, where it is not chosen by itself.
inline constexpr std::string_view kTopRoot = ".";

// The top is the root where a tensor stands in it itself, else the one of "state_dict", "model",
// "module", "params_ema" and "ema" below which there are tensors. `wanted`: keys from the top on,
// joined by dots; empty: none is wanted. Throws Error: arguments (kChooseRoot) where that leaves a
// choice, unsupported where the root holds something that would have to be imported.
TorchRoot FindTorchRoot(const files::ByteSource& file, const PickleMachine& machine,
                        const TorchObjects& objects, const PickleValue& top,
                        std::string_view wanted);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_TORCH_ROOT_H_
