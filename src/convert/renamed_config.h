// A configuration that stays beside quantised weights, where these get other names.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_RENAMED_CONFIG_H_
#define TENSORCAST_SRC_CONVERT_RENAMED_CONFIG_H_

#include <string>

#include "convert/new_names.h"
#include "formats/tensor_reader.h"
#include "scale/dialects/dialect.h"

namespace tensorcast::convert {

struct FilePlan;  // convert/file_plan.h

// Renames the layers in what a plan has to say of an output, `path`; what it leaves to the input's
// configuration too, where that names layers. Patterns that mean the same layers as before stay.
// Throws files::Error (unsupported) where one would mean others.
void RenameLayers(const formats::TensorReader& reader, const InputScales& scales,
                  const FilePlan& plan, const NewNames& names, const std::string& path,
                  scale::WrittenConfig& texts);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_RENAMED_CONFIG_H_
