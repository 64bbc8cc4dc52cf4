// model_index.json has a member for each component: [the library, the class], or [null, null] where
// it is left away.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/pipeline.h"

#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "files/error.h"
#include "files/named_file.h"
#include "files/system_directory.h"
#include "json/ordered_json.h"

namespace tensorcast::checkpoint {
namespace {

bool IsPipeline(const json::OrderedJson& json) {
  return json.is_object() && json.contains("_class_name") && json["_class_name"].is_string();
}

bool IsClass(const json::OrderedJson& value) {
  return value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string();
}

bool IsDirectoryWord(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
         name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
}

}  // namespace

std::vector<Component> FindComponents(const std::string& directory,
                                      const files::Enclosure& enclosure) {
  std::vector<Component> components;
  const std::string path = files::Joined(directory, kPipelineFile);
  if (!files::IsFile(path)) return components;
  const json::OrderedJson index =
      json::JsonOrNull(ReadText(*files::OpenNamedFile(path, enclosure, 0), kMostConfigBytes));
  if (!IsPipeline(index)) return components;
  for (const auto& [name, value] : index.items()) {
    const std::string below = files::Joined(directory, name);
    if (!IsClass(value) || !IsDirectoryWord(name) || !files::IsDirectory(below)) continue;
    const bool has_weights =
        std::ranges::any_of(files::ListDirectory(below), [](const files::DirectoryEntry& entry) {
          return entry.kind == files::DirectoryEntry::Kind::kFile && IsWeightsName(entry.name);
        });
    if (!has_weights) continue;
    components.push_back({name, value[0].get<std::string>(), value[1].get<std::string>()});
  }
  std::ranges::sort(components, {}, &Component::name);
  return components;
}

bool NamesPipeline(const std::string& path) {
  const files::InputFile file(path);
  return file.size() <= kMostConfigBytes &&
         IsPipeline(json::JsonOrNull(ReadText(file, kMostConfigBytes)));
}

}  // namespace tensorcast::checkpoint
