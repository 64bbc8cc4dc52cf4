// What a plain scalar of YAML 1.1 means, as PyYAML's SafeLoader has it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_MDF_YAML_SCALAR_H_
#define TENSORCAST_SRC_MDF_YAML_SCALAR_H_

#include <string_view>

#include "mdf/value.h"

namespace tensorcast::mdf {

// null, a truth value, a number, or else a text; a date stays a text. Throws graph::Error
// (unsupported) where it is a number to the base 60 or one beyond 64 bits.
Value PlainScalar(std::string_view text);

}  // namespace tensorcast::mdf

#endif  // TENSORCAST_SRC_MDF_YAML_SCALAR_H_
