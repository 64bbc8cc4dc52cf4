// The name of json::OrderedJson, for headers: io/ordered_json.h.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_JSON_ORDERED_JSON_FWD_H_
#define TENSORCAST_SRC_JSON_ORDERED_JSON_FWD_H_

#include <nlohmann/json_fwd.hpp>

namespace tensorcast::json {

template <class Key, class T, class Less, class Allocator> class IndexedMembers;
using OrderedJson = nlohmann::basic_json<IndexedMembers>;

}  // namespace tensorcast::json

#endif  // TENSORCAST_SRC_JSON_ORDERED_JSON_FWD_H_
