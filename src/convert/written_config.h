// What a model's configuration has to say of the scaled weights that a conversion makes, and of
// those that it leaves.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_
#define TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_

#include <map>
#include <string>

#include "formats/tensor_info.h"

namespace tensorcast::convert {

struct FilePlan;  // convert/file_plan.h
struct Survey;    // convert/survey.h
class NewNames;   // convert/new_names.h

// What the configurations beside a plan's output have to say.
struct OutputConfig {
  // As formats::FileContents has them: of a pipeline those of the components in which something is
  // another than it was, else the one.
  std::map<std::string, formats::Configuration> configurations = {};
  std::map<std::string, std::string> metadata = {};  // of each file
  std::string note = {};                             // what they do not say, for the user
};

// The configurations of a plan's output, `path`; the survey's scales are as they were found. One is
// the input's own, edited, if weights that this describes stay as they are. `names_type`: it is to
// name the type of its model. Throws files::Error (unsupported) if one configuration cannot say all
// that the plan makes and leaves.
OutputConfig ConfigOf(const Survey& survey, const std::string& path, const FilePlan& plan,
                      const NewNames& names, bool names_type);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_WRITTEN_CONFIG_H_
