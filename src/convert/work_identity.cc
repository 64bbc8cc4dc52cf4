// Every input is looked at before the plan is: one that has changed is told by its name.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/work_identity.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>

#include "convert/json_place.h"
#include "convert/request_json.h"
#include "files/digest.h"
#include "files/error.h"
#include "files/file_status.h"
#include "files/named_file.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "json/ordered_json.h"
#include "tensorcast/version.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;
using Json = json::OrderedJson;

constexpr const char* kWorkKind = "tensorcast conversion at work";
constexpr std::uint64_t kFirstBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kLastBytes = std::uint64_t{64} << 10;

// What is compared of an input, and its name in messages.
struct InputTrait {
  const char* key;
  const char* text;
};
constexpr InputTrait kTraits[] = {
    {"bytes", "its size"},
    {"number", "it is another file of this name"},
    {"written_at", "the time of its last write"},
    {"changed_at", "the time of its last change"},
    {"version", "its version"},
    {"ends", "its first or last bytes"},
    {"contents", "its contents"},
};

Json InputJson(const std::string& path, bool is_strict, const std::atomic<bool>* interrupted) {
  const std::optional<files::FileStatus> status = files::StatusOf(path);  // before it is read
  const std::unique_ptr<files::ByteSource> opened = files::OpenFile(path);
  const files::ByteSource& file = *opened;
  const std::uint64_t size = file.size();
  const std::uint64_t head = std::min(size, kFirstBytes);
  files::Xxh3 ends, contents;
  files::AddBytesOf(file, 0, head, interrupted, ends);
  files::AddBytesOf(file, std::max(head, size - std::min(size, kLastBytes)), size, interrupted,
                    ends);
  if (is_strict) files::AddBytesOf(file, 0, size, interrupted, contents);
  Json json = Json::object();
  json["path"] = BytesJson(path);
  json["bytes"] = size;
  const files::FileStatus seen = status.value_or(files::FileStatus());
  json["number"] = seen.number;
  json["written_at"] = seen.written_at;
  json["changed_at"] = seen.changed_at;
  json["version"] = seen.version.empty() ? Json() : BytesJson(seen.version);  // of a URL's file
  json["ends"] = ends.Hex();
  json["contents"] = is_strict ? Json(contents.Hex()) : Json();
  return json;
}

// All that the output is made of.
Json InputsJson(const PlanState& state, bool is_strict, const std::atomic<bool>* interrupted) {
  std::set<std::string> paths;
  for (const std::string& path : InputPaths(state)) paths.insert(path);
  for (const PlannedFile& file : state.files) {
    for (const std::string& path : file.sink->OtherInputs()) paths.insert(path);
  }
  Json inputs = Json::array();
  for (const std::string& path : paths) {
    if (!files::IsDirectory(path)) inputs.push_back(InputJson(path, is_strict, interrupted));
  }
  return inputs;
}

[[noreturn]] void FailOther(const std::string& directory, const std::string& why) {
  throw Error(ErrorKind::kArguments,
              words::PathText(directory) + ": " + why +
                  "; remove it to begin again, or name another output",
              directory);
}

[[noreturn]] void FailChanged(const std::string& directory, const std::string& path,
                              const std::string& what) {
  throw Error(ErrorKind::kSystem,
              words::PathText(path) + ": has changed since the run in " +
                  words::PathText(directory) + " began (" + what + "); remove " +
                  words::PathText(directory) + " to begin again",
              path);
}

}  // namespace

std::string WorkHead(const PlanState& state, const WorkOptions& options,
                     const std::atomic<bool>* interrupted) {
  Json head = Json::object();
  head["schema_version"] = kDocumentVersion;
  head["kind"] = kWorkKind;
  head["tensorcast"] = TENSORCAST_VERSION;
  head["losses"] = options.has_losses;
  head["strict"] = options.is_strict;
  head["unit_bytes"] = options.unit_bytes;
  head["output"] = {{"number", options.output},
                    {"bytes", options.output_bytes},
                    {"reading_hint", BytesJson(options.reading_hint)}};
  head["request"] = RequestJson(state.request);
  head["plan"] = PlanDigest(state);
  head["inputs"] = InputsJson(state, options.is_strict, interrupted);
  return json::Dumped(head, 1) + "\n";
}

WorkOptions RequireSameWork(const PlanState& state, const WorkOptions& options,
                            std::string_view head, const std::string& directory,
                            const std::atomic<bool>* interrupted) {
  const std::string what = words::PathText(files::Joined(directory, "work.json"));
  const Json parsed = ParseDocument(head, what.c_str(), kWorkKind);
  const Place begun(parsed, what.c_str(), "it");
  WorkOptions found;
  found.is_strict = begun.Member("strict").Bool();
  found.has_losses = begun.Member("losses").Bool();
  found.unit_bytes = begun.Member("unit_bytes").Number();
  const Place output = begun.Member("output");
  found.output = output.Member("number").Number();
  found.output_bytes = output.Member("bytes").Number();
  found.reading_hint = output.Member("reading_hint").Bytes();
  if (const std::string version = begun.Member("tensorcast").Text();
      version != TENSORCAST_VERSION) {
    FailOther(directory, "was begun by tensorcast " + words::Escape(version) +
                             ", and this is " TENSORCAST_VERSION);
  }
  if (parsed["request"] != RequestJson(state.request)) {
    FailOther(directory, "was begun for another request (other files, types or options)");
  }
  if (found.has_losses != options.has_losses) {
    FailOther(directory, found.has_losses ? "was begun with a report, not with --no-report"
                                          : "was begun with --no-report");
  }
  if (found.unit_bytes != options.unit_bytes) FailOther(directory, "is cut into other units");
  if (options.is_strict && !found.is_strict) {
    FailOther(directory, "was begun without the digests of what its inputs hold");
  }
  const Json now = InputsJson(state, options.is_strict, interrupted);
  const Place inputs = begun.Member("inputs");
  for (std::size_t i = 0; i < std::max<std::size_t>(inputs.size(), now.size()); ++i) {
    const auto is_same = [&](const char* key) {
      inputs[i].Member(key);  // is there
      return parsed["inputs"][i][key] == now[i][key];
    };
    if (i >= inputs.size() || i >= now.size() || !is_same("path")) {
      FailChanged(directory, state.files.front().input, "it has other files");
    }
    for (const InputTrait& trait : kTraits) {
      // Contents are looked at where that is asked for again.
      if (is_same(trait.key) || now[i][trait.key].is_null()) continue;
      FailChanged(directory, inputs[i].Member("path").Bytes(), trait.text);
    }
  }
  if (begun.Member("plan").Text() != PlanDigest(state)) {
    FailOther(directory, "was begun when this request led to other decisions");
  }
  return found;
}

}  // namespace tensorcast::convert
