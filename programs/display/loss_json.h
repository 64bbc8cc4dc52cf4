// Pieces of the tool's JSON that several commands write.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_LOSS_JSON_H_
#define TENSORCAST_PROGRAMS_DISPLAY_LOSS_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "convert/request_json.h"
#include "formats/tensor_info.h"
#include "json/ordered_json_fwd.h"
#include "tensorcast/report.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

using Json = io::OrderedJson;

// Of every JSON the tool writes; raised when a member changes its meaning or goes away.
inline constexpr int kJsonSchemaVersion = 1;

using convert::OptionsJson;
// Null where nothing was compared.
Json SnrJson(const LossReport& loss);
// A limit of a share has a member "unit" that says "%".
Json CrossedJson(const CrossedLimit& crossed);
// Counts and figures; one that is infinite or undefined is null.
Json FiguresJson(const LossReport& loss);
// What the code of a result stands for.
enum class ResultIs : std::uint8_t { kValue, kCodeOfScale };
// The same with the examples, whose indices are of `info`.
Json LossOfTensorJson(const io::TensorInfo& info, const LossReport& loss,
                      ResultIs result = ResultIs::kValue);
Json TensorJson(const io::TensorInfo& info);
// The type's name; null where none is known.
Json TypeJson(DataType type);
// Indented, with a newline at the end.
std::string JsonText(const Json& json);
// The same of JSON that is text.
std::string IndentedJson(std::string_view json);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_LOSS_JSON_H_
