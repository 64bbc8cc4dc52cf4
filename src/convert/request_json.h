// A request as JSON and back: what another process needs to make the same plan.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_REQUEST_JSON_H_
#define TENSORCAST_SRC_CONVERT_REQUEST_JSON_H_

#include "convert/json_place.h"
#include "json/ordered_json_fwd.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

// Every option by its name, as the tool's reports have them too.
json::OrderedJson OptionsJson(const CastOptions& options);
json::OrderedJson RequestJson(const Request& request);
// Throws files::Error (contents) if it is no request.
Request RequestOf(const Place& json);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_REQUEST_JSON_H_
