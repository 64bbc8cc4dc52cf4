// YAML in a build without libyaml.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/error.h"
#include "mdf/syntax.h"

namespace tensorcast::mdf {
namespace {

[[noreturn]] void RefuseYaml() {
  throw graph::Error(graph::ErrorKind::kUnsupported,
                     "is YAML, which this build was made without (libyaml); take .json or .bson");
}

}  // namespace

Value ReadYaml(const std::string& /*path*/, const std::string& /*text*/) { RefuseYaml(); }

std::string WriteYaml(const Value& /*value*/) { RefuseYaml(); }

}  // namespace tensorcast::mdf
