// Names data files, and reads the models of a directory for what they name.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/data_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "io/error_text.h"
#include "io/external_data.h"
#include "io/onnx_model.h"
#include "io/system.h"
#include "io/tensor_file.h"

namespace tensorcast::onnx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelEnding = ".onnx";
constexpr std::string_view kDataEnding = ".data";

// "m.onnx" as "m" and ".onnx".
std::pair<std::string_view, std::string_view> SplitEnding(std::string_view model) {
  const std::size_t stem =
      io::HasEnding(model, kModelEnding) ? model.size() - kModelEnding.size() : model.size();
  return {model.substr(0, stem), model.substr(stem)};
}

// What a model says of its data files. Nothing: that cannot be told.
std::optional<std::set<std::string>> Locations(const std::string& path) {
  std::set<std::string> locations;
  try {
    const io::InputFile file(path);
    const io::OnnxModel model = io::ReadOnnxModel(file);
    // Their tensors are not listed.
    if (model.has_training_info) return std::nullopt;
    const auto add = [&](const io::OnnxTensor& tensor) {
      if (tensor.message.is_external) {
        locations.insert(io::ParseExternalData(file, tensor.message).location);
      }
    };
    const auto add_attributes = [&](const std::vector<io::OnnxAttribute>& attributes) {
      for (const io::OnnxAttribute& attribute : attributes) {
        std::for_each(attribute.tensors.begin(), attribute.tensors.end(), add);
      }
    };
    for (const io::OnnxGraph& graph : model.graphs) {
      if (graph.sparse_initializers != 0) return std::nullopt;
      std::for_each(graph.initializers.begin(), graph.initializers.end(), add);
      for (const io::OnnxNode& node : graph.nodes) add_attributes(node.attributes);
    }
    for (const io::OnnxFunction& function : model.functions) {
      add_attributes(function.default_attributes);
      for (const io::OnnxNode& node : function.nodes) add_attributes(node.attributes);
    }
  } catch (const io::Error&) {
    return std::nullopt;
  }
  return locations;
}

// The last part of the file that a location leads to, with the directory it is in.
bool LeadsTo(const fs::path& directory, const std::string& location, const fs::path& file) {
  std::error_code ignored;
  return fs::equivalent(directory / location, file, ignored);
}

}  // namespace

std::string DataName(std::string_view model) {
  return std::string(model) + std::string(kDataEnding);
}

std::string DataName(std::string_view model, std::string_view digest) {
  const auto [stem, ending] = SplitEnding(model);
  return std::string(stem) + '.' + std::string(digest) + std::string(ending) +
         std::string(kDataEnding);
}

bool IsDataName(std::string_view name, std::string_view model) {
  if (name == DataName(model)) return true;
  const std::size_t stem = SplitEnding(model).first.size() + 1;
  if (name.size() < stem + kDigestDigits) return false;
  const std::string_view digest = name.substr(stem, kDigestDigits);
  return digest.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         name == DataName(model, digest);
}

ReplacedData::ReplacedData(const std::string& path) {
  const fs::path file(path);
  directory_ = file.parent_path().string();
  std::error_code error;
  const fs::file_type type = fs::symlink_status(file, error).type();
  if (type == fs::file_type::not_found) return;
  // What a link leads to, or what has another name too, is not gone when this name is.
  const bool goes = type == fs::file_type::regular && fs::hard_link_count(file, error) == 1;
  if (error) {
    note_ = "data of the model that was replaced may stay: " + io::PathText(path) +
            " could not be looked at: " + error.message();
  }
  if (!goes) return;
  for (const std::string& location : Locations(path).value_or(std::set<std::string>())) {
    if (IsDataName(location, file.filename().string())) names_.push_back(location);
  }
}

std::vector<std::string> ReplacedData::Remove(const std::vector<std::string>& kept) const {
  std::vector<std::string> notes;
  if (!note_.empty()) notes.push_back(note_);
  for (const std::string& name : names_) {
    const fs::path file = fs::path(directory_) / name;
    std::error_code error;
    const fs::file_type type = fs::symlink_status(file, error).type();
    if (type == fs::file_type::none) {
      notes.push_back(io::PathText(file.string()) + ", the data of the model that was replaced, " +
                      "stays: it cannot be looked at: " + error.message());
    }
    if (type != fs::file_type::regular) continue;
    if (std::any_of(kept.begin(), kept.end(),
                    [&](const std::string& path) { return LeadsTo({}, path, file); })) {
      continue;
    }
    std::string user;  // a model that names it, or may
    for (fs::directory_iterator entry(directory_.empty() ? "." : directory_, error), end;
         !error && entry != end && user.empty(); entry.increment(error)) {
      const fs::path& model = entry->path();
      std::error_code none;
      if (!io::HasEnding(model.string(), kModelEnding) || !fs::is_regular_file(model, none)) {
        continue;
      }
      const std::optional<std::set<std::string>> locations = Locations(model.string());
      if (!locations ||
          std::any_of(locations->begin(), locations->end(), [&](const std::string& location) {
            return LeadsTo(directory_, location, file);
          })) {
        user = model.filename().string();
      }
    }
    if (!user.empty() || error) {
      notes.push_back(io::PathText(file.string()) + ", the data of the model that was replaced, " +
                      (error ? "stays: its directory cannot be read"
                             : "stays: " + io::PathText(user) + " may use it"));
    } else {
      fs::remove(file, error);
    }
  }
  return notes;
}

}  // namespace tensorcast::onnx
