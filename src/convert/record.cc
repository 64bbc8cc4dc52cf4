// Digests are of what is read back, so that they are the same whoever wrote it, in however many
// parts.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/record.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_others.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/open_tensor_file.h"
#include "convert/json_place.h"
#include "convert/open_made.h"
#include "convert/request_json.h"
#include "core/given.h"
#include "files/digest.h"
#include "files/error.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "json/ordered_json.h"
#include "tensorcast/version.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;
using formats::TensorInfo;
using Json = json::OrderedJson;

constexpr int kRecordSchema = 1;
constexpr const char* kRecordKind = "tensorcast conversion record";
constexpr std::uint64_t kMostRecordBytes = std::uint64_t{1} << 30;
constexpr std::size_t kDeepestOfRecord = 16;
// A whole number of elements of every type.
constexpr std::size_t kPiece = std::size_t{3} << 18;

// The digest of a tensor's dense form; of strings, of each its bytes and a NUL.
std::string DigestOf(const formats::TensorReader& reader, std::size_t tensor,
                     std::vector<std::byte>& buffer, const std::atomic<bool>* interrupted) {
  constexpr std::byte kEnd{0};
  const TensorInfo& info = reader.contents().tensors[tensor];
  files::Xxh3 digest;
  if (info.type == DataType::kString) {
    for (std::uint64_t done = 0; done < info.elements;) {
      files::StopIfInterrupted(interrupted);
      const text::StringPiece piece = reader.ReadStrings(tensor, done, info.elements - done);
      const Strings texts = piece.view();
      for (std::uint64_t i = 0; i < texts.size(); ++i) {
        digest.Add(std::as_bytes(std::span(texts[i])));
        digest.Add({&kEnd, 1});
      }
      done += texts.size();
    }
    return digest.Hex();
  }
  for (std::uint64_t done = 0; done < info.bytes; done += buffer.size()) {
    files::StopIfInterrupted(interrupted);
    buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, info.bytes - done)));
    reader.Read(tensor, done, buffer);
    digest.Add(buffer);
  }
  return digest.Hex();
}

// Those of all tensors: each is read by one thread. One that cannot be read has none.
class Digests {
 public:
  Digests(const formats::TensorReader& reader, const RunSettings& settings)
      : reader_(reader), interrupted_(settings.interrupted) {
    digests_.resize(reader.contents().tensors.size());
    if (settings.executor != nullptr && digests_.size() > 1) {
      core::GivenExecutor(settings.executor)
          .ParallelFor(
              std::min(settings.executor->Concurrency(), digests_.size()),
              [](void* self, std::size_t) { static_cast<Digests*>(self)->Work(); }, this);
    } else {
      Work();
    }
    if (error_) std::rethrow_exception(error_);
    reader.CheckUnchanged();
  }

  const std::string& operator[](std::size_t tensor) const { return digests_[tensor]; }

 private:
  void Work() noexcept {
    try {
      std::vector<std::byte> buffer;
      while (!failed_.load(std::memory_order_relaxed)) {
        const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
        if (i >= digests_.size()) return;
        if (!reader_.contents().tensors[i].why_not.empty()) continue;
        digests_[i] = DigestOf(reader_, i, buffer, interrupted_);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
  }

  const formats::TensorReader& reader_;
  const std::atomic<bool>* const interrupted_;
  std::vector<std::string> digests_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

checkpoint::OpenedInput OpenInput(const PlanState& state, const RunSettings& settings) {
  const InputOptions inputs = InputOptionsOf(state.request);
  formats::OpenOptions options;
  options.assume_type = inputs.assume_type;
  options.allow_hard_links = inputs.allow_hard_links;
  options.root = inputs.root;
  options.spool = state.spool;
  options.interrupted = std::make_shared<files::CurrentInterrupt>(settings.interrupted);
  return checkpoint::OpenTensorFile(state.files.front().input, options);
}

std::set<DataType> TypesMade(const PlannedFile& file) {
  std::set<DataType> types;
  for (std::size_t i = 0; i < file.plan.jobs.size(); ++i) types.insert(file.TypeMade(i));
  return types;
}

Json TensorJson(const TensorInfo& info, const std::string& digest) {
  Json json = Json::object();
  json["name"] = BytesJson(info.name);
  json["type"] = FindType(info.type) != nullptr ? Json(TypeName(info.type)) : BytesJson(info.dtype);
  json["shape"] = info.shape;
  json["digest"] = digest.empty() ? Json() : Json(digest);
  return json;
}

// The members of `list` as lines of an array, tensor by tensor: there may be many.
void AddTensors(const formats::TensorReader& reader, const Digests& digests, std::string& text) {
  text += '[';
  const std::vector<TensorInfo>& tensors = reader.contents().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + json::Dumped(TensorJson(tensors[i], digests[i]));
  }
  text += ']';
}

// The files beside the tensors of a directory, each with its digest.
std::map<std::string, std::string> OtherFilesOf(const checkpoint::OpenedInput& opened) {
  std::map<std::string, std::string> digests;
  if (opened.checkpoint == nullptr) return digests;
  std::vector<std::byte> buffer;
  for (const std::string& name : checkpoint::FindOtherFiles(*opened.checkpoint).copied) {
    const files::InputFile file(files::Joined(opened.checkpoint->directory(), name),
                                opened.checkpoint->enclosure());
    files::Xxh3 digest;
    for (std::uint64_t done = 0; done < file.size(); done += buffer.size()) {
      buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, file.size() - done)));
      file.Read(done, buffer);
      digest.Add(buffer);
    }
    digests.emplace(name, digest.Hex());
  }
  return digests;
}

files::CreateOptions RecordOptions(const PlanState& state, bool overwrite) {
  return {overwrite, InputPaths(state)};
}

Json ReadRecord(const std::string& path) {
  const files::InputFile file(path);
  std::optional<Json> parsed =
      json::ParseJson(checkpoint::ReadText(file, kMostRecordBytes), kDeepestOfRecord);
  if (!parsed) files::FailFile(file, "is not JSON, and no record of a conversion");
  const std::string what = words::PathText(path);
  const Place json(*parsed, what.c_str(), "it");
  if (json.Member("kind").Text() != kRecordKind) {
    json.Member("kind").Refuse("is not \"" + std::string(kRecordKind) + '"');
  }
  if (json.Member("schema_version").Number() != kRecordSchema) {
    json.Member("schema_version").Refuse("is not 1, the version that is read here");
  }
  return *std::move(parsed);
}

std::string ShapeTextOf(const Json& shape) {
  return shape.is_array() ? json::Dumped(shape) : std::string();
}

// What a tensor of the output is, held against what the record says of it.
std::optional<FaultyTensor> FaultOf(const Json& recorded, const Json& found,
                                    const std::string& name) {
  const auto text = [](const Json& json, const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const auto shape = [](const Json& json) {
    const auto at = json.find("shape");
    return at != json.end() ? ShapeTextOf(*at) : std::string();
  };
  if (text(recorded, "type") != text(found, "type")) {
    return FaultyTensor{name, Fault::kType, text(recorded, "type"), text(found, "type")};
  }
  if (shape(recorded) != shape(found)) {
    return FaultyTensor{name, Fault::kShape, shape(recorded), shape(found)};
  }
  if (text(recorded, "digest") != text(found, "digest")) return FaultyTensor{name, Fault::kBytes};
  return std::nullopt;
}

}  // namespace

std::string RecordPath(const std::string& output) {
  const bool is_directory = !files::IsFile(output) && checkpoint::IsDirectoryName(output);
  return is_directory ? files::Joined(output, checkpoint::kRecordFile)
                      : output + "." + checkpoint::kRecordFile;
}

void CheckRecord(const PlanState& state, bool overwrite) {
  const std::string& output = state.files.front().output;
  RequireTold(output, TypesMade(state.files.front()));
  if (checkpoint::IsDirectoryName(output)) return;  // which is made with all that is in it
  files::CheckOutput(RecordPath(output), 0, RecordOptions(state, overwrite));
}

void WriteRecord(const PlanState& state, bool overwrite, const RunSettings& settings) {
  const PlannedFile& planned = state.files.front();
  std::string text;
  {
    const checkpoint::OpenedInput input = OpenInput(state, settings);
    const checkpoint::OpenedInput output =
        OpenMade(planned.output, TypesMade(planned), state.spool, settings.interrupted);
    Json head = Json::object();
    head["schema_version"] = kRecordSchema;
    head["kind"] = kRecordKind;
    head["tensorcast"] = TENSORCAST_VERSION;
    head["digests"] = "XXH3-128";
    head["request"] = RequestJson(state.request);
    head["plan"] = PlanDigest(state);
    head["files"] = Json::array();
    for (const auto& [name, digest] : OtherFilesOf(output)) {
      head["files"].push_back({{"name", BytesJson(name)}, {"digest", digest}});
    }
    text = json::Dumped(head, 1);
    text.resize(text.size() - std::string_view("\n}").size());
    text += ",\n \"inputs\": ";
    AddTensors(*input.reader, Digests(*input.reader, settings), text);
    text += ",\n \"outputs\": ";
    AddTensors(*output.reader, Digests(*output.reader, settings), text);
    text += "\n}\n";
  }
  files::OutputFile file(RecordPath(planned.output), text.size(), RecordOptions(state, overwrite));
  file.Write(0, std::as_bytes(std::span(text)));
  file.Commit();
}

std::optional<Request> RecordedRequest(const std::string& input, const std::string& output) {
  const std::string path = RecordPath(output);
  if (!files::IsFile(path)) return std::nullopt;
  const Json parsed = ReadRecord(path);
  const std::string what = words::PathText(path);
  Request request = RequestOf(Place(parsed, what.c_str(), "it").Member("request"));
  request.files = {{input, output}};
  return request;
}

Verification VerifyByRecord(const std::string& output, const RunSettings& settings,
                            const files::SpoolOptions& spool) {
  const std::string path = RecordPath(output);
  if (!files::IsFile(path)) {
    throw Error(ErrorKind::kArguments,
                words::PathText(output) + ": has no record, " + words::PathText(path) +
                    "; name the input too, or convert with --record",
                output);
  }
  const Json parsed = ReadRecord(path);
  const std::string what = words::PathText(path);
  const Place record(parsed, what.c_str(), "it");
  const Place recorded = record.Member("outputs");
  std::set<DataType> types;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (const auto type = ParseType(recorded[i].Member("type").Bytes())) types.insert(*type);
  }
  const checkpoint::OpenedInput opened = OpenMade(output, types, spool, settings.interrupted);
  const std::vector<TensorInfo>& tensors = opened.reader->contents().tensors;
  const Digests digests(*opened.reader, settings);

  Verification verification;
  std::map<std::string, Json> found;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    found.emplace(tensors[i].name, TensorJson(tensors[i], digests[i]));
    verification.bytes += tensors[i].bytes;
  }
  verification.tensors = recorded.size();
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const std::string name = recorded[i].Member("name").Bytes();
    const auto at = found.find(name);
    if (at == found.end()) {
      verification.faulty.push_back({name, Fault::kMissing});
      continue;
    }
    if (auto fault = FaultOf(parsed["outputs"][i], at->second, name)) {
      verification.faulty.push_back(*std::move(fault));
    }
    found.erase(at);
  }
  for (const auto& [name, json] : found) verification.faulty.push_back({name, Fault::kExtra});
  std::ranges::stable_sort(verification.faulty, {}, &FaultyTensor::fault);

  const std::map<std::string, std::string> files = OtherFilesOf(opened);
  const Place of_files = record.Member("files");
  for (std::size_t i = 0; i < of_files.size(); ++i) {
    const std::string name = of_files[i].Member("name").Bytes();
    const auto at = files.find(name);
    const bool is_missing = at == files.end();
    if (is_missing || at->second != of_files[i].Member("digest").Text()) {
      verification.files.push_back({name, is_missing});
    }
  }
  return verification;
}

}  // namespace tensorcast::convert
