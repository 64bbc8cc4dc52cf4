// A plan as JSON and back, and the handle of outputs that were begun for one.
// docs/conversion_plan.md has the schemas. What is read may be anybody's: it is held against them
// here, and against the files when they are opened.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "convert/conversion_plan.h"
#include "core/shape.h"
#include "io/error_text.h"
#include "io/ordered_json.h"
#include "onnx/xxh64.h"
#include "tensorcast/explain.hpp"
#include "text/utf8.h"

namespace tensorcast::convert {
namespace {

using io::Error;
using io::ErrorKind;
using Json = io::OrderedJson;

constexpr int kSchemaVersion = 1;
constexpr std::size_t kDeepest = 16;  // of arrays and objects: the schema has 5

constexpr const char* kPlanKind = "tensorcast conversion plan";
constexpr const char* kHandleKind = "tensorcast conversion outputs";

[[noreturn]] void Fail(const char* what, const std::string& where, const std::string& why) {
  throw Error(ErrorKind::kContents, std::string(what) + ": " + where + " " + why);
}

// JSON's strings are UTF-8, and names and paths may be any bytes: those that are not stand as an
// array of their bytes.
Json BytesJson(std::string_view text) {
  if (text::IsUtf8(text)) return Json(text);
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

// A value and where it stands, for messages.
class Place {
 public:
  // `what` the JSON is, for as long as this.
  Place(const Json& json, const char* what, std::string where)
      : json_(json), what_(what), where_(std::move(where)) {}

  [[noreturn]] void Refuse(const std::string& why) const { Fail(what_, where_, why); }
  Place Member(const char* key) const {
    if (!json_.is_object()) Refuse("is not an object");
    const auto found = json_.find(key);
    if (found == json_.end()) Refuse("has no \"" + std::string(key) + "\"");
    return {*found, what_, where_ == "it" ? '"' + std::string(key) + '"' : where_ + "." + key};
  }
  bool Has(const char* key) const { return json_.is_object() && json_.contains(key); }
  std::size_t size() const {
    if (!json_.is_array()) Refuse("is not an array");
    return json_.size();
  }
  Place operator[](std::size_t i) const {
    if (i >= size()) Refuse("has too few elements");
    return {json_[i], what_, where_ + '[' + std::to_string(i) + ']'};
  }
  std::uint64_t Number() const {
    if (!json_.is_number_unsigned()) Refuse("is not a number from 0 to 2^64 - 1");
    return json_.get<std::uint64_t>();
  }
  std::size_t Index(std::size_t count) const {
    const std::uint64_t index = Number();
    if (index >= count) Refuse("is not an index below " + std::to_string(count));
    return static_cast<std::size_t>(index);
  }
  bool IsNull() const { return json_.is_null(); }
  bool Bool() const {
    if (!json_.is_boolean()) Refuse("is neither true nor false");
    return json_.get<bool>();
  }
  std::string Text() const {
    if (!json_.is_string()) Refuse("is not a string");
    return json_.get<std::string>();
  }
  std::string Bytes() const {
    if (!json_.is_array()) return Text();
    std::string bytes;
    for (std::size_t i = 0; i < json_.size(); ++i) {
      const std::uint64_t byte = (*this)[i].Number();
      if (byte > 255) (*this)[i].Refuse("is not a byte");
      bytes += static_cast<char>(static_cast<unsigned char>(byte));
    }
    return bytes;
  }
  // The type of a canonical name; null: not a type of the library's.
  DataType Type() const {
    if (json_.is_null()) return DataType::kUndefined;
    const std::string name = Text();
    for (const TypeInfo& row : Types()) {
      if (row.name == name) return row.type;
    }
    Refuse("names no type");
  }

 private:
  const Json& json_;
  const char* what_;
  std::string where_;
};

Json OptionsJson(const CastOptions& options) {
  Json json;
  json["saturate"] = options.saturate;
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    if (option == CastOption::kSaturate) continue;
    json[std::string(CastOptionName(option))] = CastOptionValue(option, options);
  }
  return json;
}

CastOptions CastOptionsOf(const Place& json) {
  CastOptions options;
  options.saturate = json.Member("saturate").Bool();
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    if (option == CastOption::kSaturate) continue;
    const Place place = json.Member(std::string(CastOptionName(option)).c_str());
    if (!SetCastOption(option, place.Text(), &options)) place.Refuse("is not one of its words");
  }
  return options;
}

Json TypeJson(DataType type) { return FindType(type) != nullptr ? Json(TypeName(type)) : Json(); }

Json JobJson(const PlannedFile& file, std::size_t place) {
  const TensorJob& job = file.plan.jobs[place];
  const Decision& decision = file.DecisionOf(place);
  const io::TensorInfo& tensor = file.TensorOf(place);
  Json json;
  json["name"] = BytesJson(tensor.name);
  json["tensor"] = job.tensor;
  json["shape"] = tensor.shape;
  json["from"] = TypeJson(tensor.type);
  json["to"] = job.to.empty() ? Json() : TypeJson(job.to.front());
  if (job.to.empty()) json["bytes"] = tensor.bytes;
  if (!tensor.layout.empty()) {
    json["layout"] = tensor.layout;
    json["bytes"] = tensor.stored_bytes;
    json["sources"] = Json::array();
    for (const SourceRange& one : SourcesOf(file, 0, place)) {
      json["sources"].push_back({{"tensor", one.tensor}, {"elements", one.elements}});
    }
  }
  if (job.scaled) {
    json["made"] = {{"format", job.scaled.format->name},
                    {"layout", ScaledLayoutName(job.scaled.layout->layout)},
                    {"scale", scale::RuleName(*job.scaled.format, job.scaled.rule)},
                    {"tensors", Json::array()}};
    if (job.scaled.IsOfModel()) {
      json["made"]["axis"] = job.scaled.axis ? Json(*job.scaled.axis) : Json();
    }
    for (const scale::WrittenTensor& one :
         scale::TensorsOf(job.scaled, tensor.name, tensor.shape)) {
      json["made"]["tensors"].push_back(
          {{"name", BytesJson(one.name)}, {"type", TypeName(one.type)}, {"shape", one.shape}});
    }
  }
  json["reason"] = ReasonName(decision.reason);
  if (decision.reason == Reason::kRule && decision.rule) json["rule"] = *decision.rule;
  json["because"] = decision.text;
  return json;
}

Reason ReasonOf(const Place& json) {
  const std::string name = json.Text();
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Reason::kMisread); ++i) {
    if (ReasonName(static_cast<Reason>(i)) == name) return static_cast<Reason>(i);
  }
  json.Refuse("is not a reason");
}

// Of a job whose scales are applied.
void ReadSources(const Place& json, std::size_t index, PlannedFile& file) {
  io::TensorInfo& tensor = file.claimed.back();
  tensor.layout = scale::FindLayoutName(json.Member("layout").Text());
  if (tensor.layout.empty()) json.Member("layout").Refuse("is not a layout");
  if (tensor.type != DataType::kFloat64) json.Member("from").Refuse("is not \"float64\"");
  tensor.stored_bytes = json.Member("bytes").Number();
  const Place sources = json.Member("sources");
  std::vector<SourceRange>& claimed = file.claimed_sources[file.claimed.size() - 1];
  for (std::size_t i = 0; i < sources.size(); ++i) {
    claimed.push_back(
        {index, sources[i].Member("tensor").Index(static_cast<std::size_t>(file.input_tensors)), 0,
         sources[i].Member("elements").Number()});
  }
}

// The form of a scaled weight, of a tensor that it can hold; the tensors' names follow from it.
scale::WrittenForm ReadForm(const Place& json, const io::TensorInfo& tensor, DataType to) {
  scale::WrittenForm form;
  form.format = scale::FindScaledFormat(json.Member("format").Text());
  if (form.format == nullptr) json.Member("format").Refuse("is not a scaled format");
  const std::string layout = json.Member("layout").Text();
  for (const scale::LayoutNames& one : scale::LayoutsOf(*form.format)) {
    if (ScaledLayoutName(one.layout) == layout) form.layout = &one;
  }
  if (form.layout == nullptr) json.Member("layout").Refuse("is not a layout of the format");
  const std::optional<ScaleRule> rule = form.format->FindRule(json.Member("scale").Text());
  if (!rule) json.Member("scale").Refuse("is not a rule of the format");
  form.rule = *rule;
  const TypeInfo* const from = FindType(tensor.type);
  if (from == nullptr || !from->is_float() || !from->has_zero ||
      to != form.format->scaling.element) {
    json.Refuse("is not of its types");
  }
  const bool fits =
      form.IsOfModel() ? tensor.elements != 0 : scale::WhyNot(*form.format, tensor.shape).empty();
  if (!fits) json.Refuse("does not fit the shape");
  if (form.IsOfModel() && !json.Member("axis").IsNull()) {
    form.axis = static_cast<std::uint32_t>(json.Member("axis").Index(tensor.shape.size()));
    if (form.format->cells != scale::CellsBy::kRows) {
      json.Member("axis").Refuse("is of a format that has one scale");
    }
  }
  return form;
}

void ReadJob(const Place& json, std::size_t index, PlannedFile& file) {
  TensorJob& job = file.plan.jobs.emplace_back();
  io::TensorInfo& tensor = file.claimed.emplace_back();
  Decision& decision = file.plan.decisions.emplace_back();
  job.tensor = json.Member("tensor").Index(static_cast<std::size_t>(file.input_tensors));
  if (file.plan.jobs.size() > 1) {
    const TensorJob& before = file.plan.jobs.end()[-2];
    const io::TensorInfo& its = file.claimed.end()[-2];
    job.output = before.output +
                 (before.scaled ? scale::TensorsOf(before.scaled, its.name, its.shape).size() : 1);
  }
  tensor.name = json.Member("name").Bytes();
  const Place shape = json.Member("shape");
  for (std::size_t i = 0; i < shape.size(); ++i) tensor.shape.push_back(shape[i].Number());
  const std::optional<std::uint64_t> elements = core::CheckedProduct(tensor.shape);
  if (!elements) shape.Refuse("has more than 2^64 - 1 elements");
  tensor.elements = *elements;
  tensor.type = json.Member("from").Type();
  decision.to = json.Member("to").Type();
  const bool is_copy = decision.to == DataType::kUndefined;
  if (is_copy) {
    tensor.bytes = json.Member("bytes").Number();
  } else {
    if (tensor.type == DataType::kUndefined) json.Member("to").Refuse("is a cast of no type");
    if (json.Has("layout")) {
      ReadSources(json, index, file);
    } else if (!json.Has("made") && tensor.type == decision.to) {
      json.Member("to").Refuse("is the type that it has");
    }
    job.to = {decision.to};
    if (json.Has("made")) {
      decision.scaled = ReadForm(json.Member("made"), tensor, decision.to);
      job.scaled = decision.scaled;
    }
    if (decision.to != DataType::kString && !StorageBytes(decision.to, tensor.elements)) {
      shape.Refuse("takes more bytes than 64 bits can count");
    }
  }
  if (tensor.type != DataType::kUndefined && tensor.type != DataType::kString) {
    const std::optional<std::uint64_t> bytes = StorageBytes(tensor.type, tensor.elements);
    if (!bytes || (is_copy && *bytes != tensor.bytes)) {
      json.Refuse("has bytes that do not fit its shape");
    }
    tensor.bytes = *bytes;
  }
  decision.reason = ReasonOf(json.Member("reason"));
  if (decision.reason == Reason::kRule) {
    decision.rule = static_cast<std::uint32_t>(
        json.Member("rule").Index(std::numeric_limits<std::uint32_t>::max()));
  }
  decision.text = json.Member("because").Text();
}

// The files whose weights share global scales with this one's.
void ReadFused(const Place& json, PlannedFile& file) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    FusedFile& one = file.plan.fused.files.emplace_back();
    one.path = json[i].Member("file").Bytes();
    one.bytes = json[i].Member("bytes").Number();
    const Place tensors = json[i].Member("tensors");
    for (std::size_t t = 0; t < tensors.size(); ++t) one.weights.push_back(tensors[t].Bytes());
  }
}

// `what` it is said to be, with its kind and the version that is read here.
Json ParseKind(std::string_view text, const char* what, const char* kind) {
  std::optional<Json> parsed = io::ParseJson(text, kDeepest);
  if (!parsed) Fail(what, "it", "is not JSON");
  const Place json(*parsed, what, "it");
  if (json.Member("kind").Text() != kind) {
    json.Member("kind").Refuse("is not \"" + std::string(kind) + '"');
  }
  if (json.Member("schema_version").Number() != kSchemaVersion) {
    json.Member("schema_version")
        .Refuse("is not " + std::to_string(kSchemaVersion) + ", the version that is read here");
  }
  return *std::move(parsed);
}

// Tells plans apart.
std::string DigestOf(const PlanState& state) {
  onnx::Xxh64 digest;
  WritePlanJson(state,
                [&](std::string_view piece) { digest.Add(std::as_bytes(std::span(piece))); });
  return digest.Hex();
}

}  // namespace

std::string HandleToJson(const PlanState& state, const std::vector<std::string>& temporaries) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["kind"] = kHandleKind;
  json["plan"] = DigestOf(state);
  json["temporaries"] = Json::array();
  for (const std::string& path : temporaries) json["temporaries"].push_back(BytesJson(path));
  return io::Dumped(json) + "\n";
}

std::vector<std::string> HandleFromJson(const PlanState& state, std::string_view text) {
  constexpr const char* kWhat = "the handle of outputs";
  const Json parsed = ParseKind(text, kWhat, kHandleKind);
  const Place json(parsed, kWhat, "it");
  if (json.Member("plan").Text() != DigestOf(state)) json.Member("plan").Refuse("is not this plan");
  const Place paths = json.Member("temporaries");
  if (paths.size() != state.files.size()) paths.Refuse("are not as many as the plan has outputs");
  std::vector<std::string> temporaries;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    temporaries.push_back(paths[i].Bytes());
    if (temporaries.back().empty()) paths[i].Refuse("is empty");
  }
  return temporaries;
}

void WritePlanJson(const PlanState& state, const std::function<void(std::string_view)>& take) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["kind"] = kPlanKind;
  json["options"] = OptionsJson(state.cast);
  json["assume_type"] = state.inputs.assume_type ? TypeJson(*state.inputs.assume_type) : Json();
  json["allow_hard_links"] = state.inputs.allow_hard_links;
  json["ignore_scales"] = state.inputs.ignore_scales;
  json["max_shard_bytes"] = state.max_shard_bytes;
  json["notes"] = state.notes;
  // A line for each job, made one by one: there may be many.
  std::string text = io::Dumped(json, 1);
  text.resize(text.size() - std::string_view("\n}").size());
  take(text + ",\n \"files\": [");
  for (const PlannedFile& file : state.files) {
    Json one;
    one["input"] = BytesJson(file.input);
    one["output"] = BytesJson(file.output);
    one["input_bytes"] = file.input_bytes;
    one["input_tensors"] = file.input_tensors;
    for (const FusedFile& beside : file.plan.fused.files) {
      Json& fused = one["fused_with"].emplace_back();
      fused["file"] = BytesJson(beside.path);
      fused["bytes"] = beside.bytes;
      fused["tensors"] = Json::array();
      for (const std::string& name : beside.weights) fused["tensors"].push_back(BytesJson(name));
    }
    const std::string head = io::Dumped(one);
    take((&file == state.files.data() ? "\n  " : ",\n  ") + head.substr(0, head.size() - 1) +
         ",\"jobs\":[");
    for (std::size_t i = 0; i < file.plan.jobs.size(); ++i) {
      take((i == 0 ? "\n   " : ",\n   ") + io::Dumped(JobJson(file, i)));
    }
    take("]}");
  }
  take("]\n}\n");
}

std::string PlanToJson(const PlanState& state) {
  std::string text;
  WritePlanJson(state, [&](std::string_view piece) { text += piece; });
  return text;
}

std::unique_ptr<PlanState> PlanFromJson(std::string_view text) {
  constexpr const char* kWhat = "the conversion plan";
  const Json parsed = ParseKind(text, kWhat, kPlanKind);
  const Place json(parsed, kWhat, "it");
  auto state = std::make_unique<PlanState>();
  state->cast = CastOptionsOf(json.Member("options"));
  if (const DataType type = json.Member("assume_type").Type(); type != DataType::kUndefined) {
    state->inputs.assume_type = type;
  }
  state->inputs.allow_hard_links = json.Member("allow_hard_links").Bool();
  state->inputs.ignore_scales = json.Member("ignore_scales").Bool();
  state->max_shard_bytes = json.Member("max_shard_bytes").Number();
  const Place notes = json.Member("notes");
  for (std::size_t i = 0; i < notes.size(); ++i) state->notes.push_back(notes[i].Text());
  const Place files = json.Member("files");
  for (std::size_t f = 0; f < files.size(); ++f) {
    PlannedFile& file = state->files.emplace_back();
    file.input = files[f].Member("input").Bytes();
    file.output = files[f].Member("output").Bytes();
    file.input_bytes = files[f].Member("input_bytes").Number();
    file.input_tensors = files[f].Member("input_tensors").Number();
    if (files[f].Has("fused_with")) ReadFused(files[f].Member("fused_with"), file);
    const Place jobs = files[f].Member("jobs");
    for (std::size_t i = 0; i < jobs.size(); ++i) ReadJob(jobs[i], f, file);
    file.first_job = state->jobs;
    state->jobs += file.plan.jobs.size();
  }
  return state;
}

}  // namespace tensorcast::convert
