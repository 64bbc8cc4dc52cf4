// What a conversion knows of its input's quantised tensors: whose scales it applies, what it leaves
// alone, what it refuses and says of them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_SCALED_TENSORS_H_
#define TENSORCAST_SRC_CONVERT_SCALED_TENSORS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/scale_companions.h"
#include "io/tensor_file.h"
#include "scale/scaled_reader.h"
#include "scale/scaled_weights.h"

namespace tensorcast::convert {

struct Decision;  // convert/selection.h

struct InputScales {
  io::ScaleCompanions companions;
  scale::ScaledWeights weights;  // none where scales are ignored, and of models
  bool is_ignored = false;
};

// `path` is the input's, a file or a directory. Throws io::Error.
InputScales FindScales(const io::TensorReader& reader, const std::string& path, bool ignore_scales);

// Applies scales: in the reader's place comes one in which each weight that is wanted, by the index
// of its codes, is one tensor of its values (scale::ScaledReader). `kept` gets the tensors that are
// left, by index, without those that only served such weights; it stays empty, and nothing happens,
// where there is no such weight. Returns the new reader, or null.
using WantedScales = std::function<std::optional<scale::Rounding>(std::size_t codes)>;
const scale::ScaledReader* ApplyScales(std::unique_ptr<io::TensorReader>& reader,
                                       const InputScales& scales, const WantedScales& wanted,
                                       std::vector<std::size_t>* kept);
// What a type that its values are cast to asks of them.
scale::Rounding RoundingFor(DataType to);
// Those of weights that are cast.
WantedScales WantedBy(std::span<const Decision> decisions);

// Whether a tensor's name, type and shape are those of gpt-oss's experts: uint8 [E, R, G, 16], of
// two codes of MXFP4 in each byte.
bool IsPackedMxfp4(const io::TensorInfo& info);

// Refuses to cast tensors that have scales which are not applied (Remedy::kIgnoreScales; of scales
// in another file of the checkpoint kTakeDirectory).
void RefuseScaled(const std::vector<io::TensorInfo>& tensors, const std::string& path,
                  const InputScales& scales, std::span<const Decision> decisions);

// Refuses to leave packed what was to be cast: tensors of layouts that are not read
// (Reason::kOpaque).
void RefusePacked(const std::vector<io::TensorInfo>& tensors, const std::string& path,
                  const InputScales& scales, std::span<const Decision> decisions);
[[noreturn]] void RefuseOpaque(const scale::OpaqueTensor& opaque, const io::TensorInfo& tensor);

// "14 weights stay packed (GPTQ or AWQ; the first is x.qweight)" of those that are not refused;
// empty where there are none.
std::string PackedText(const std::vector<io::TensorInfo>& tensors, const InputScales& scales);

// One line for each layout whose scales are applied: "12 weights are fp8-block (DeepSeek):
// config.json says ...".
std::vector<std::string> AppliedText(const InputScales& scales,
                                     std::span<const Decision> decisions);

// "x.weight (float8e4m3fn) has no scale anywhere here" of tensors of the narrowest types; of those
// that are cast, where there are decisions. Empty where there are none.
std::string UnscaledText(const std::vector<io::TensorInfo>& tensors, const InputScales& scales,
                         const std::vector<Decision>* decisions);

// "x.weight is cast without scales; these stay beside the codes ..." where scales are ignored.
std::string BareCodesText(const std::vector<io::TensorInfo>& tensors, const InputScales& scales,
                          std::span<const Decision> decisions);

// "config.json says "fp8", and no tensor has scales ..." of a whole checkpoint of plain weights
// whose configuration says that they are quantised. Else empty.
std::string IdleConfigText(const std::string& path, const InputScales& scales);

// "3 tensors (q.weight_scale: scale of q.weight, …)" of the companions; empty where there are none.
std::string CompanionsText(const std::vector<io::TensorInfo>& tensors,
                           const std::vector<io::Companion>& companions);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_SCALED_TENSORS_H_
