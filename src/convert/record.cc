// Digests are of what is read back, so that they are the same whoever wrote it, in however many
// parts.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/record.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
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
#include "convert/chunks.h"
#include "convert/json_place.h"
#include "convert/open_made.h"
#include "convert/request_json.h"
#include "convert/survey.h"
#include "core/given.h"
#include "files/digest.h"
#include "files/error.h"
#include "files/file_status.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "files/text_output.h"
#include "formats/gguf_keys.h"
#include "json/ordered_json.h"
#include "tensorcast/version.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;
using formats::TensorInfo;
using Json = json::OrderedJson;

constexpr const char* kRecordKind = "tensorcast conversion record";
constexpr std::uint64_t kMostRecordBytes = std::uint64_t{1} << 30;
// A whole number of elements of every type.
constexpr std::size_t kPiece = std::size_t{3} << 18;

// What was read of a reader's tensors, by any thread.
class ReadingProgress {
 public:
  ReadingProgress(const std::vector<TensorInfo>& tensors, const RunSettings& settings)
      : tensors_(tensors), progress_(core::Given(settings.progress)) {
    for (const TensorInfo& info : tensors) all_ += info.bytes;
  }
  void Add(std::size_t tensor, std::uint64_t bytes) {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    progress_({done_, all_, tensor, tensors_[tensor].name});
  }

 private:
  const std::vector<TensorInfo>& tensors_;
  std::function<void(const Progress&)> progress_;
  std::mutex mutex_;
  std::uint64_t done_ = 0, all_ = 0;
};

// The digest of a tensor's dense form; of strings, of each its bytes and a NUL.
std::string DigestOf(const formats::TensorReader& reader, std::size_t tensor,
                     std::vector<std::byte>& buffer, ReadingProgress& progress,
                     const std::atomic<bool>* interrupted) {
  constexpr std::byte kEnd{0};
  const TensorInfo& info = reader.contents().tensors[tensor];
  files::Xxh3 digest;
  if (info.type == DataType::kString) {
    for (std::uint64_t done = 0; done < info.elements;) {
      files::StopIfInterrupted(interrupted);
      const text::StringPiece piece = reader.ReadStrings(tensor, done, info.elements - done);
      const Strings texts = piece.view();
      std::uint64_t bytes = 0;
      for (std::uint64_t i = 0; i < texts.size(); ++i) {
        digest.Add(std::as_bytes(std::span(texts[i])));
        digest.Add({&kEnd, 1});
        bytes += texts[i].size();
      }
      progress.Add(tensor, bytes);
      done += texts.size();
    }
    return digest.Hex();
  }
  for (std::uint64_t done = 0; done < info.bytes; done += buffer.size()) {
    files::StopIfInterrupted(interrupted);
    buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, info.bytes - done)));
    reader.Read(tensor, done, buffer);
    digest.Add(buffer);
    progress.Add(tensor, buffer.size());
  }
  return digest.Hex();
}

// Those of all tensors: each is read by one thread. One that cannot be read has none.
std::vector<std::string> DigestsOf(const formats::TensorReader& reader,
                                   const RunSettings& settings) {
  JobOptions options;
  options.executor = settings.executor;
  options.interrupted = settings.interrupted;
  const std::vector<TensorInfo>& tensors = reader.contents().tensors;
  std::vector<std::string> digests(tensors.size());
  ReadingProgress progress(tensors, settings);
  std::mutex mutex;
  ForChunks(tensors.size(), 1, options, mutex,
            [&](std::uint64_t first, std::uint64_t, Buffers& buffers) {
              const auto i = static_cast<std::size_t>(first);
              if (!tensors[i].why_not.empty()) return;
              digests[i] = DigestOf(reader, i, buffers.in, progress, settings.interrupted);
            });
  reader.CheckUnchanged();
  return digests;
}

std::set<DataType> TypesMade(const PlannedFile& file) {
  std::set<DataType> types;
  for (std::size_t i = 0; i < file.plan.jobs.size(); ++i) types.insert(file.TypeMade(i));
  return types;
}

// As records name it: any bytes where it is not a type of the library's.
std::string RecordedType(const TensorInfo& info) {
  return FindType(info.type) != nullptr ? std::string(TypeName(info.type)) : info.dtype;
}

// A line for each tensor: there may be many.
void AddTensors(const formats::TensorReader& reader, const std::vector<std::string>& digests,
                std::string& text) {
  text += '[';
  const std::vector<TensorInfo>& tensors = reader.contents().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Json tensor = {{"name", BytesJson(tensors[i].name)},
                         {"type", BytesJson(RecordedType(tensors[i]))},
                         {"shape", tensors[i].shape},
                         {"digest", digests[i].empty() ? Json() : Json(digests[i])}};
    text += (i == 0 ? "\n  " : ",\n  ") + json::Dumped(tensor);
  }
  text += ']';
}

std::string DigestOfFile(const files::ByteSource& file, const RunSettings& settings) {
  files::Xxh3 digest;
  files::AddBytesOf(file, 0, file.size(), settings.interrupted, digest);
  return digest.Hex();
}

// What stands beside the tensors in their files, by their names in a directory, or by none: the
// digests of safetensors' __metadata__.
std::map<std::string, std::string> MetadataOf(const checkpoint::OpenedInput& opened) {
  const auto digest_of = [](const std::map<std::string, std::string>& metadata) {
    constexpr std::byte kEnd{0};
    files::Xxh3 digest;
    for (const auto& [key, value] : metadata) {
      for (const std::string* const text : {&key, &value}) {
        digest.Add(std::as_bytes(std::span(*text)));
        digest.Add({&kEnd, 1});
      }
    }
    return digest.Hex();
  };
  std::map<std::string, std::string> digests;
  if (opened.checkpoint == nullptr) {
    const formats::FileContents& contents = opened.reader->contents();
    const bool is_in_model = opened.model != nullptr || contents.gguf_keys != nullptr;
    if (!is_in_model) digests.emplace("", digest_of(contents.metadata));
    return digests;
  }
  for (const checkpoint::CheckpointShard& shard : opened.checkpoint->shards()) {
    digests.emplace(shard.name, digest_of(shard.metadata));
  }
  return digests;
}

// The files beside the tensors of a directory, its indexes too, each with its digest.
std::map<std::string, std::string> OtherFilesOf(const checkpoint::OpenedInput& opened,
                                                const RunSettings& settings) {
  std::map<std::string, std::string> digests;
  if (opened.checkpoint == nullptr) return digests;
  std::vector<std::string> names = checkpoint::FindOtherFiles(*opened.checkpoint).copied;
  for (const checkpoint::CheckpointPart& part : opened.checkpoint->parts()) {
    if (std::string index = part.IndexPath(); !index.empty()) names.push_back(std::move(index));
  }
  for (const std::string& name : names) {
    const files::InputFile file(files::Joined(opened.checkpoint->directory(), name),
                                opened.checkpoint->enclosure());
    digests.emplace(name, DigestOfFile(file, settings));
  }
  return digests;
}

// Of an ONNX model's file, whose graph is in no tensor, and of a GGUF file's keys.
Json ModelDigest(const checkpoint::OpenedInput& opened, const RunSettings& settings) {
  if (opened.model != nullptr) return DigestOfFile(opened.model->source(), settings);
  const auto& keys = opened.reader->contents().gguf_keys;
  if (keys == nullptr) return {};
  files::Xxh3 digest;
  for (const formats::GgufKey& key : *keys) {
    files::AddBytesOf(*key.file, key.begin, key.begin + key.bytes, settings.interrupted, digest);
  }
  return digest.Hex();
}

files::CreateOptions RecordOptions(const PlanState& state, bool overwrite) {
  return {overwrite, InputPaths(state)};
}

Json ReadRecord(const std::string& path) {
  return ParseDocument(checkpoint::ReadText(files::InputFile(path), kMostRecordBytes),
                       words::PathText(path).c_str(), kRecordKind);
}

// What a tensor that stands is, held against what the record says of it.
std::optional<FaultyTensor> FaultOf(const Place& recorded, const TensorInfo& found,
                                    const std::string& digest) {
  const std::string type = recorded.Member("type").Bytes();
  if (type != RecordedType(found)) {
    return FaultyTensor{found.name, Fault::kType, words::Escape(type),
                        words::Escape(RecordedType(found))};
  }
  const Place extents = recorded.Member("shape");
  std::vector<std::uint64_t> shape;
  for (std::size_t i = 0; i < extents.size(); ++i) shape.push_back(extents[i].Number());
  if (shape != found.shape) {
    return FaultyTensor{found.name, Fault::kShape, words::ShapeText(shape),
                        words::ShapeText(found.shape)};
  }
  const Place digest_then = recorded.Member("digest");
  if ((digest_then.IsNull() ? "" : digest_then.Text()) == digest) return std::nullopt;
  return FaultyTensor{found.name, Fault::kBytes};
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

void WriteRecord(const PlanState& state, bool overwrite, const RunSettings& settings,
                 const RecordedLosses& losses) {
  const PlannedFile& planned = state.files.front();
  std::string text;
  files::CreateOptions options = RecordOptions(state, overwrite);
  {
    const checkpoint::OpenedInput input =
        checkpoint::OpenTensorFile(planned.input, OpenOptionsOf(OpeningOf(state)));
    const checkpoint::OpenedInput output =
        OpenMade(planned.output, TypesMade(planned), state.spool, settings.interrupted);
    if (output.checkpoint != nullptr && !output.checkpoint->shards().empty()) {
      // A directory that was replaced had files of another mode than the input's.
      const std::string& weights = output.checkpoint->shards().front().name;
      if (const auto status = files::StatusOf(files::Joined(planned.output, weights))) {
        options.permissions = status->permissions;
      }
    }
    Json head = Json::object();
    head["schema_version"] = kDocumentVersion;
    head["kind"] = kRecordKind;
    head["tensorcast"] = TENSORCAST_VERSION;
    head["digests"] = "XXH3-128";
    head["request"] = RequestJson(state.request);
    head["plan"] = PlanDigest(state);
    head["model"] = ModelDigest(output, settings);
    head["metadata"] = Json::array();
    for (const auto& [name, digest] : MetadataOf(output)) {
      head["metadata"].push_back({{"name", BytesJson(name)}, {"digest", digest}});
    }
    head["files"] = Json::array();
    for (const auto& [name, digest] : OtherFilesOf(output, settings)) {
      head["files"].push_back({{"name", BytesJson(name)}, {"digest", digest}});
    }
    text = json::Dumped(head, 1);
    text.resize(text.size() - std::string_view("\n}").size());
    text += ",\n \"inputs\": ";
    AddTensors(*input.reader, DigestsOf(*input.reader, settings), text);
    text += ",\n \"outputs\": ";
    AddTensors(*output.reader, DigestsOf(*output.reader, settings), text);
    text += ",\n \"losses\": [";
    std::string_view before = "\n  ";
    for (const auto& [name, figures] : losses) {
      text += before;
      text += R"({"name":)" + json::Dumped(BytesJson(name)) + R"(,"figures":)" + figures + "}";
      before = ",\n  ";
    }
    text += "]\n}\n";
  }
  planned.plan.reader->CheckUnchanged();  // what was digested is what was converted
  files::WriteText(RecordPath(planned.output), text, options);
}

std::optional<Recorded> RecordedConversion(const std::string& input, const std::string& output) {
  const std::string path = RecordPath(output);
  if (!files::IsFile(path)) return std::nullopt;
  const Json parsed = ReadRecord(path);
  const std::string what = words::PathText(path);
  const Place record(parsed, what.c_str(), "it");
  Recorded recorded{RequestOf(record.Member("request")), {}};
  recorded.request.files = {{input, output}};
  if (!parsed.contains("losses")) return recorded;
  const Place losses = record.Member("losses");
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i].Member("figures");  // is there
    recorded.losses[losses[i].Member("name").Bytes()] =
        json::Dumped(parsed["losses"][i]["figures"]);
  }
  return recorded;
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
  std::vector<std::string> names;
  std::set<DataType> types;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    names.push_back(recorded[i].Member("name").Bytes());
    if (const auto type = ParseType(recorded[i].Member("type").Bytes())) types.insert(*type);
  }
  const checkpoint::OpenedInput opened = OpenMade(output, types, spool, settings.interrupted);
  const std::vector<TensorInfo>& tensors = opened.reader->contents().tensors;
  const std::vector<std::string> digests = DigestsOf(*opened.reader, settings);

  Verification verification;
  verification.tensors = names.size();
  for (const TensorInfo& info : tensors) verification.bytes += info.bytes;
  const std::vector<std::size_t> places = FindByName(names, tensors, verification);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] == kNotFound) continue;
    if (auto fault = FaultOf(recorded[i], tensors[places[i]], digests[places[i]])) {
      verification.faulty.push_back(*std::move(fault));
    }
  }
  std::ranges::stable_sort(verification.faulty, {}, &FaultyTensor::fault);

  const std::string own_name = std::filesystem::path(output).filename().string();
  if (parsed.contains("model") && parsed["model"] != ModelDigest(opened, settings)) {
    verification.files.push_back(
        {own_name, opened.model != nullptr ? FileFault::kContents : FileFault::kKeys});
  }
  const std::map<std::string, std::string> metadata = MetadataOf(opened);
  const Place of_metadata = record.Member("metadata");
  for (std::size_t i = 0; i < of_metadata.size(); ++i) {
    // Tensors may stand in other files now: that is told where they are missing.
    const auto at = metadata.find(of_metadata[i].Member("name").Bytes());
    if (at != metadata.end() && at->second != of_metadata[i].Member("digest").Text()) {
      verification.files.push_back(
          {at->first.empty() ? own_name : at->first, FileFault::kMetadata});
    }
  }
  const std::map<std::string, std::string> files = OtherFilesOf(opened, settings);
  const Place of_files = record.Member("files");
  for (std::size_t i = 0; i < of_files.size(); ++i) {
    const std::string name = of_files[i].Member("name").Bytes();
    const auto at = files.find(name);
    const bool is_missing = at == files.end();
    if (is_missing || at->second != of_files[i].Member("digest").Text()) {
      verification.files.push_back({name, is_missing ? FileFault::kMissing : FileFault::kContents});
    }
  }
  return verification;
}

}  // namespace tensorcast::convert
