// A request as JSON and back: what another process needs to make the same plan.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_REQUEST_JSON_H_
#define TENSORCAST_SRC_CONVERT_REQUEST_JSON_H_

#include <string_view>

#include "convert/json_place.h"
#include "json/ordered_json_fwd.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

// The version of plans, handles of outputs and records.
inline constexpr int kDocumentVersion = 1;

// A document that is said to be `what`, with its kind and the version that is read here. Throws
// files::Error (contents) where it is another.
json::OrderedJson ParseDocument(std::string_view text, const char* what, const char* kind);

// Every option by its name, as the tool's reports have them too.
json::OrderedJson OptionsJson(const CastOptions& options);
json::OrderedJson RequestJson(const Request& request);
// Throws files::Error (contents) if it is no request.
Request RequestOf(const Place& json);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_REQUEST_JSON_H_
