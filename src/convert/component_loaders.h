// Who loads the components of a pipeline, and which scaled weights they read.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_COMPONENT_LOADERS_H_
#define TENSORCAST_SRC_CONVERT_COMPONENT_LOADERS_H_

#include <span>

#include "convert/selection.h"
#include "convert/survey.h"

namespace tensorcast::convert {

// Refuses scaled weights in components whose loader could not read them, and names all of these.
// Throws files::Error (unsupported).
void RefuseUnloadable(const Survey& survey, std::span<const Decision> decisions);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_COMPONENT_LOADERS_H_
