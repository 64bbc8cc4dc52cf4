// YAML in a build without libyaml.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/syntax.h"

namespace tensorcast::mdf {

Value ReadYaml(const std::string& /*path*/, const std::string& /*text*/) { return WriteYaml({}); }

std::string WriteYaml(const Value& /*value*/) {
  Refuse("is YAML, which this build was made without (libyaml); take .json or .bson");
}

}  // namespace tensorcast::mdf
