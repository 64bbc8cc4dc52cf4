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

#include "convert/survey.h"
#include "formats/tensor_reader.h"
#include "scale/scaled_reader.h"

namespace tensorcast::convert {

struct Decision;  // convert/selection.h

// Which weights' scales are to be applied, by the index of the codes.
using WantedScales = std::function<std::optional<scale::Rounding>(std::size_t codes)>;

// An input with such weights in the place of their codes.
struct ValuesReader {
  std::shared_ptr<const formats::TensorReader> reader;
  // The same, where there is such a weight; else null, and the reader is the survey's.
  const scale::ScaledReader* scaled = nullptr;
  std::optional<std::vector<std::size_t>> left = {};  // see TensorsLeft
};
// `is_written`: of each tensor whether anybody will have it; empty: all are. Where every weight
// that is has its scales applied, nothing says any more that weights are quantised.
ValuesReader ApplyScales(const Survey& survey, const WantedScales& wanted,
                         const std::vector<bool>& is_written = {});
// The tensors that are left then, by index: without those that only served such weights. Nothing
// where there is no such weight: all are.
std::optional<std::vector<std::size_t>> TensorsLeft(const Survey& survey,
                                                    const WantedScales& wanted);
// What a type that its values are cast to asks of them.
scale::Rounding RoundingFor(DataType to);
// The scales of weights that are cast.
WantedScales WantedBy(std::span<const Decision> decisions);

// Refuses tensors whose values are not read (TensorInfo::why_not) unless they are excluded.
void RefuseUnread(const Survey& survey, std::span<const Decision> decisions);
// Takes these out of the tensors that are left.
void LeaveOutUnread(const Survey& survey, std::optional<std::vector<std::size_t>>& left);
// "2 tensors that are not read are left out (x, ...)", or empty.
std::string UnreadText(const Survey& survey);

// Refuses to cast tensors that have scales which are not applied (Remedy::kIgnoreScales; of scales
// in another file of the checkpoint kTakeDirectory). Not where scales are ignored.
void RefuseScaled(const Survey& survey, std::span<const Decision> decisions);

// Refuses to leave packed what was to be cast: tensors of layouts that are not read
// (Reason::kOpaque).
void RefusePacked(const Survey& survey, std::span<const Decision> decisions);
[[noreturn]] void RefuseOpaque(const scale::OpaqueTensor& opaque,
                               const formats::TensorInfo& tensor);

// What has to be said of the quantised tensors of an input. Each is a line without the input's name
// or empty.

// One for each layout whose scales are applied: "12 weights are fp8-block (DeepSeek): config.json
// says ..."; without decisions those whose scales could be.
std::vector<std::string> AppliedText(const Survey& survey, std::span<const Decision> decisions);
// "14 weights stay packed (GPTQ or AWQ; the first is x.qweight)", of those that are not refused.
std::string PackedText(const Survey& survey);
// "x.weight (float8e4m3fn) has no scale anywhere here" of tensors of the narrowest types; of those
// that are cast, where there are decisions.
std::string UnscaledText(const Survey& survey, const std::vector<Decision>* decisions);
// "x.weight is cast without scales; these stay beside the codes ..." where scales are ignored.
std::string BareCodesText(const Survey& survey, std::span<const Decision> decisions);
// "config.json says "fp8", and no tensor has scales ..." of a whole checkpoint of plain weights
// whose configuration says that they are quantised; of a pipeline's components, each.
std::vector<std::string> IdleConfigTexts(const Survey& survey);
// Why configurations are not understood, then the lines above.
std::vector<std::string> ConfigTexts(const Survey& survey);
// "3 tensors (q.weight_scale: scale of q.weight, …)" of the companions.
std::string CompanionsText(const Survey& survey);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_SCALED_TENSORS_H_
