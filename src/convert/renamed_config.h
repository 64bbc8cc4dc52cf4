// A configuration that stays beside quantised weights, where these get other names.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_RENAMED_CONFIG_H_
#define TENSORCAST_SRC_CONVERT_RENAMED_CONFIG_H_

#include <cstdint>
#include <string>

#include "convert/new_names.h"
#include "scale/dialects/dialect.h"

namespace tensorcast::convert {

struct FilePlan;  // convert/file_plan.h
struct Survey;    // convert/survey.h

// Renames the layers in what a plan has to say of a part of an output, `path`; what it leaves to
// the input's configuration too, where that names layers. Patterns that mean the same layers as
// before stay. Throws files::Error (unsupported) where one would mean others.
void RenameLayers(const Survey& survey, const FilePlan& plan, std::uint32_t part,
                  const NewNames& names, const std::string& path, scale::WrittenConfig& texts);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_RENAMED_CONFIG_H_
