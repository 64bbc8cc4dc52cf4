// Opens external data files, and finds values in them.
//
// SPDX-License-Identifier: Apache-2.0
#include "protobuf/external_data.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "files/error.h"
#include "files/named_file.h"
#include "files/system.h"
#include "protobuf/protobuf_wire.h"

namespace tensorcast::protobuf {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::uint64_t kMostEntryBytes = 65536;  // a path is at most 4096

std::uint64_t Number(const files::ByteSource& source, const TensorProtoMessage& message,
                     const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) {
    FailTensorProto(source, message, ErrorKind::kContents,
                    "has external data with the " + key + ' ' + words::Quoted(text) +
                        "; expected a number of bytes");
  }
  return value;
}

// What is wrong with a location before any file is looked at; empty where nothing is.
std::string WhyNoLocation(std::string_view location) {
  if (location.empty()) return "is empty";
  if (location.front() == '/') return "is absolute";
  for (std::size_t at = 0; at <= location.size();) {
    const std::size_t slash = std::min(location.find('/', at), location.size());
    const std::string_view part = location.substr(at, slash - at);
    if (part == "..") return "has '..' in it";
    if (std::string why = part == "." ? "" : files::WhyNoName(part); !why.empty()) return why;
    at = slash + 1;
  }
  return {};
}

}  // namespace

ExternalData ParseExternalData(const files::ByteSource& source, const TensorProtoMessage& message) {
  ExternalData data;
  std::set<std::string> keys;
  WireReader fields(source, message.begin, message.end);
  for (WireField field; fields.Next(&field);) {
    if (field.number != kExternalData) continue;
    if (field.size() > kMostEntryBytes) {
      FailTensorProto(source, message, ErrorKind::kUnsupported,
                      "has an entry of external_data with " +
                          words::CountText(field.size(), "byte") + "; at most " +
                          std::to_string(kMostEntryBytes) + " are read");
    }
    const auto [key, value] = ReadStringEntry(source, field, [&](std::string_view part) {
      FailTensorProto(
          source, message, ErrorKind::kContents,
          "has an entry of external_data whose " + std::string(part) + " is not a string");
    });
    const bool is_known =
        key == "location" || key == "offset" || key == "length" || key == "checksum";
    if (!is_known) continue;
    // Readers that keep the first and readers that keep the last would see different tensors.
    if (!keys.insert(key).second) {
      FailTensorProto(source, message, ErrorKind::kContents,
                      "has external data with the " + key + " for the second time");
    }
    if (key == "location") data.location = value;
    if (key == "offset") data.offset = Number(source, message, key, value);
    if (key == "length") data.length = Number(source, message, key, value);
  }
  if (keys.count("location") == 0) {
    FailTensorProto(source, message, ErrorKind::kContents,
                    "has external data without a location: the file that holds it is not named");
  }
  return data;
}

ExternalFiles::ExternalFiles(std::string model_path, bool allow_hard_links)
    : model_path_(std::move(model_path)), allow_hard_links_(allow_hard_links) {}

const files::ByteSource& ExternalFiles::Open(const std::string& tensor,
                                             const std::string& location) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = files_.find(location); found != files_.end()) return *found->second;
  const std::string where =
      words::PathText(model_path_) + ": tensor " + words::Quoted(tensor) + " has its data in ";
  if (const std::string why = WhyNoLocation(location); !why.empty()) {
    throw Error(ErrorKind::kContents, where + words::Quoted(location) + ", which " + why +
                                          "; a location is a path below the model's directory");
  }
  const std::string path = model_path_.substr(0, files::NameBegin(model_path_)) + location;
  std::unique_ptr<files::ByteSource> file;
  try {
    file = files::OpenNamedFile(path, files::EnclosureOfModel(model_path_, allow_hard_links_),
                                files_.size());
  } catch (const Error& error) {
    throw Error(error.kind(), where + error.what(), error.remedy(), error.subject(),
                error.system_error());
  }
  return *files_.emplace(location, std::move(file)).first->second;
}

std::uint64_t ExternalFiles::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [location, file] : files_) bytes += file->size();
  return bytes;
}

ExternalRange FindExternalValues(ExternalFiles& files, const files::ByteSource& source,
                                 const TensorProtoMessage& message,
                                 std::optional<std::uint64_t> bytes) {
  const auto fail = [&](const std::string& why) {
    FailTensorProto(source, message, ErrorKind::kContents, why);
  };
  if (message.data_type == static_cast<std::uint64_t>(DataType::kString)) {
    fail("has strings in external data; ONNX keeps them in the model");
  }
  if (message.values.number != 0) {
    fail("has values in " + std::string(TensorProtoFieldName(message.values.number)) +
         " and in external data; a TensorProto has them in one place");
  }
  const ExternalData data = ParseExternalData(source, message);
  const files::ByteSource& file = files.Open(message.name, data.location);
  const std::string where = " in " + words::Quoted(data.location);
  if (data.offset > file.size()) {
    fail("begins at offset " + std::to_string(data.offset) + where + ", which has " +
         words::CountText(file.size(), "byte"));
  }
  const std::uint64_t there = file.size() - data.offset;
  if (data.length && bytes && *data.length != *bytes) {
    fail("has " + words::CountText(*data.length, "byte") + where + "; its type and shape take " +
         std::to_string(*bytes));
  }
  const std::uint64_t wanted = bytes.value_or(data.length.value_or(there));
  if (wanted > there) {
    fail("has " + words::CountText(wanted, "byte") + " from offset " + std::to_string(data.offset) +
         where + ", but only " + std::to_string(there) + " follow; the file is cut short");
  }
  return {&file, data.offset, wanted};
}

}  // namespace tensorcast::protobuf
