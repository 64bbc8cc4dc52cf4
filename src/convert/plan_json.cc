// A plan as JSON, which another process makes its own of, and the handle of outputs that were begun
// for one. docs/conversion_plan.md has the schemas.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "convert/conversion_plan.h"
#include "convert/json_place.h"
#include "convert/request_json.h"
#include "files/digest.h"
#include "files/error.h"
#include "files/text_output.h"
#include "json/ordered_json.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;
using Json = json::OrderedJson;

constexpr const char* kPlanKind = "tensorcast conversion plan";
constexpr const char* kHandleKind = "tensorcast conversion outputs";

Json MadeJson(const std::vector<scale::WrittenTensor>& tensors) {
  Json made = Json::array();
  for (const scale::WrittenTensor& one : tensors) {
    made.push_back({{"name", BytesJson(one.name)},
                    {"type", one.dtype.empty() ? TypeName(one.type) : one.dtype},
                    {"shape", one.shape}});
  }
  return made;
}

Json JobJson(const PlannedFile& file, std::size_t place) {
  const TensorJob& job = file.plan.jobs[place];
  const Decision& decision = file.DecisionOf(place);
  const formats::TensorInfo& tensor = file.TensorOf(place);
  Json json = Json::object();
  json["name"] = BytesJson(tensor.name);
  if (const std::string& name = file.plan.NameOf(job.tensor); name != tensor.name) {
    json["written_as"] = BytesJson(name);
  }
  json["tensor"] = job.tensor;
  json["shape"] = tensor.shape;
  json["from"] = TypeJson(tensor.type);
  json["to"] = job.to.empty() ? Json() : TypeJson(job.to.front());
  if (job.to.empty()) json["bytes"] = tensor.bytes;
  if (!tensor.stored_as.empty()) {
    json["layout"] = tensor.stored_as;
    json["bytes"] = tensor.stored_bytes;
    json["sources"] = Json::array();
    for (const SourceRange& one : SourcesOf(file, 0, place)) {
      json["sources"].push_back({{"tensor", one.tensor}, {"elements", one.elements}});
    }
  }
  if (job.scaled) {
    json["made"] = {{"format", job.scaled.format->name},
                    {"layout", job.scaled.dialect->layout},
                    {"scale", scale::RuleName(*job.scaled.format, job.scaled.rule)},
                    {"tensors", MadeJson(scale::TensorsOf(job.scaled, file.plan.NameOf(job.tensor),
                                                          tensor.shape, tensor.type))}};
    if (job.scaled.rotation != 0) json["made"]["rotated_columns"] = job.scaled.rotation;
    if (job.scaled.IsOfModel()) {
      json["made"]["axis"] = job.scaled.axis ? Json(*job.scaled.axis) : Json();
    }
  }
  if (job.repacked != nullptr) {
    json["sources"] = Json::array();
    for (const SourceRange& one : SourcesOf(file, 0, place)) {
      json["sources"].push_back({{"tensor", one.tensor}, {"elements", one.elements}});
    }
    json["made"] = {{"format", job.repacked->FormatText()},
                    {"layout", job.repacked->form().dialect->layout},
                    {"change", job.repacked->change()},
                    {"tensors", MadeJson(job.repacked->tensors())}};
  }
  json["reason"] = ReasonName(decision.reason);
  if (decision.reason == Reason::kRule && decision.rule) json["rule"] = *decision.rule;
  json["because"] = decision.text;
  return json;
}

// All of a file but its jobs.
Json FileJson(const PlannedFile& file) {
  Json json = Json::object();
  json["input"] = BytesJson(file.input);
  json["output"] = BytesJson(file.output);
  json["input_bytes"] = file.input_bytes;
  json["input_tensors"] = file.input_tensors;
  Json fused = Json::array();
  for (const FusedFile& beside : file.plan.fused) {
    Json names = Json::array();
    for (const std::string& name : beside.weights) names.push_back(BytesJson(name));
    fused.push_back(
        {{"file", BytesJson(beside.path)}, {"bytes", beside.bytes}, {"tensors", std::move(names)}});
  }
  if (!fused.empty()) json["fused_with"] = std::move(fused);
  return json;
}

// All of a plan but its digest, in pieces.
void WriteDecided(const PlanState& state, const std::function<void(std::string_view)>& take) {
  Json json = Json::object();
  json["schema_version"] = kDocumentVersion;
  json["kind"] = kPlanKind;
  json["request"] = RequestJson(state.request);
  json["notes"] = state.notes;
  // A line for each job, made one by one: there may be many.
  std::string text = json::Dumped(json, 1);
  text.resize(text.size() - std::string_view("\n}").size());
  take(text + ",\n \"files\": [");
  for (const PlannedFile& file : state.files) {
    const std::string head = json::Dumped(FileJson(file));
    take((&file == state.files.data() ? "\n  " : ",\n  ") + head.substr(0, head.size() - 1) +
         ",\"jobs\":[");
    for (std::size_t i = 0; i < file.plan.jobs.size(); ++i) {
      take((i == 0 ? "\n   " : ",\n   ") + json::Dumped(JobJson(file, i)));
    }
    take("]}");
  }
  take("]");
}

// What is decided now and not said by the files of a plan that was read; empty if all of it is.
std::string FirstDifference(const PlanState& state, const Json& files) {
  if (!files.is_array() || files.size() != state.files.size()) return "its files have changed";
  for (std::size_t f = 0; f < state.files.size(); ++f) {
    const PlannedFile& file = state.files[f];
    const Json& planned = files[f];
    const auto fail = [&](const std::string& what) { return words::PathText(file.input) + what; };
    const auto has = [&](const char* key) { return planned.is_object() && planned.contains(key); };
    const Json decided = FileJson(file);
    for (const auto& [key, value] : decided.items()) {
      if (has(key.c_str()) && planned[key] == value) continue;
      return fail(": " + words::Quoted(key) + " is " + words::EscapeName(json::Dumped(value)) +
                  " now");
    }
    const std::size_t jobs = has("jobs") && planned["jobs"].is_array() ? planned["jobs"].size() : 0;
    for (std::size_t j = 0; j < file.plan.jobs.size(); ++j) {
      if (j < jobs && planned["jobs"][j] == JobJson(file, j)) continue;
      return fail(": the decision has changed for " + words::Quoted(file.TensorOf(j).name));
    }
    if (jobs != file.plan.jobs.size()) return fail(" has fewer tensors now");
  }
  return {};
}

// In pieces, for a plan of many jobs.
void WritePlanJson(const PlanState& state, const std::function<void(std::string_view)>& take) {
  files::Xxh64 digest;
  WriteDecided(state, [&](std::string_view piece) {
    digest.Add(std::as_bytes(std::span(piece)));
    take(piece);
  });
  take(",\n \"digest\": \"" + digest.Hex() + "\"\n}\n");
}

}  // namespace

std::string PlanDigest(const PlanState& state) {
  if (state.digest.empty()) {
    files::Xxh64 digest;
    WriteDecided(state,
                 [&](std::string_view piece) { digest.Add(std::as_bytes(std::span(piece))); });
    state.digest = digest.Hex();
  }
  return state.digest;
}

std::string HandleToJson(const PlanState& state, const std::vector<std::string>& temporaries) {
  Json json = Json::object();
  json["schema_version"] = kDocumentVersion;
  json["kind"] = kHandleKind;
  json["plan"] = PlanDigest(state);
  json["temporaries"] = Json::array();
  for (const std::string& path : temporaries) json["temporaries"].push_back(BytesJson(path));
  return json::Dumped(json) + "\n";
}

void SavePlan(const PlanState& state, const std::string& path, bool overwrite) {
  std::uint64_t bytes = 0;
  WritePlanJson(state, [&](std::string_view piece) { bytes += piece.size(); });
  files::TextOutput file(path, bytes, {overwrite, InputPaths(state)});
  WritePlanJson(state, [&](std::string_view piece) { file.Add(piece); });
  file.Commit();
}

std::vector<std::string> HandleFromJson(const PlanState& state, std::string_view text) {
  constexpr const char* kWhat = "the handle of outputs";
  const Json parsed = ParseDocument(text, kWhat, kHandleKind);
  const Place json(parsed, kWhat, "it");
  if (json.Member("plan").Text() != PlanDigest(state))
    json.Member("plan").Refuse("is not this plan");
  const Place paths = json.Member("temporaries");
  if (paths.size() != state.files.size()) paths.Refuse("are not as many as the plan has outputs");
  std::vector<std::string> temporaries;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    temporaries.push_back(paths[i].Bytes());
    if (temporaries.back().empty()) paths[i].Refuse("is empty");
  }
  return temporaries;
}

std::string PlanToJson(const PlanState& state) {
  std::string text;
  WritePlanJson(state, [&](std::string_view piece) { text += piece; });
  return text;
}

std::unique_ptr<PlanState> PlanFromJson(std::string_view text, const std::string& what,
                                        const RunSettings& settings,
                                        const files::SpoolOptions& spool) {
  const Json parsed = ParseDocument(text, what.c_str(), kPlanKind);
  const Place json(parsed, what.c_str(), "it");
  const std::string digest = json.Member("digest").Text();
  std::unique_ptr<PlanState> state = MakePlan(RequestOf(json.Member("request")), settings, spool);
  std::string difference;
  if (parsed.contains("files")) difference = FirstDifference(*state, parsed["files"]);
  if (difference.empty() && PlanDigest(*state) != digest) difference = "its decisions have changed";
  if (difference.empty()) return state;
  throw Error(ErrorKind::kContents, what + ": " + difference + "; plan again");
}

}  // namespace tensorcast::convert
