// docs/conversion_plan.md has the members. What is read may be anybody's.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/request_json.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convert/selection.h"
#include "tensorcast/explain.hpp"

namespace tensorcast::convert {
namespace {

using Json = json::OrderedJson;

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

Json PatternsJson(const std::vector<std::string>& patterns) {
  Json json = Json::array();
  for (const std::string& pattern : patterns) json.push_back(BytesJson(pattern));
  return json;
}

std::vector<std::string> PatternsOf(const Place& json) {
  std::vector<std::string> patterns;
  for (std::size_t i = 0; i < json.size(); ++i) patterns.push_back(json[i].Bytes());
  return patterns;
}

Destination DestinationOf(const Place& json) {
  if (const auto format = ParseScaledFormat(json.Text())) return *format;
  return json.Type();
}

}  // namespace

Json ParseDocument(std::string_view text, const char* what, const char* kind) {
  constexpr std::size_t kDeepest = 16;  // of arrays and objects: the schemas have 6
  std::optional<Json> parsed = json::ParseJson(text, kDeepest);
  const Json nothing;
  const Place json(parsed ? *parsed : nothing, what, "it");
  if (!parsed) json.Refuse("is not JSON");
  if (json.Member("kind").Text() != kind) {
    json.Member("kind").Refuse("is not \"" + std::string(kind) + '"');
  }
  if (json.Member("schema_version").Number() != kDocumentVersion) {
    json.Member("schema_version")
        .Refuse("is not " + std::to_string(kDocumentVersion) + ", the version that is read here");
  }
  return *std::move(parsed);
}

Json OptionsJson(const CastOptions& options) {
  Json json = Json::object();
  json["saturate"] = options.saturate;
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    if (option == CastOption::kSaturate) continue;
    json[std::string(CastOptionName(option))] = CastOptionValue(option, options);
  }
  return json;
}

Json RequestJson(const Request& request) {
  Json json = Json::object();
  json["files"] = Json::array();
  for (const RequestedFile& file : request.files) {
    json["files"].push_back({{"input", BytesJson(file.input)}, {"output", BytesJson(file.output)}});
  }
  json["to"] = request.to ? Json(DestinationName(*request.to)) : Json();
  json["rules"] = Json::array();
  for (const RequestedRule& rule : request.rules) {
    json["rules"].push_back({{"pattern", BytesJson(rule.pattern)},
                             {"also", PatternsJson(rule.also)},
                             {"to", DestinationName(rule.to)},
                             {"where", BytesJson(rule.where)}});
  }
  json["only"] = PatternsJson(request.only);
  json["excluded"] = PatternsJson(request.excluded);
  json["select"] = PatternsJson(request.select);
  json["renames"] = Json::array();
  for (const RequestedRename& one : request.renames) {
    json["renames"].push_back({{"from", BytesJson(one.from)},
                               {"to", BytesJson(one.to)},
                               {"where", BytesJson(one.where)}});
  }
  json["keep"] = Json::array();
  for (const Keep keep : request.keep) json["keep"].push_back(KeepName(keep));
  json["all_types"] = request.all_types;
  json["ignore_scales"] = request.ignore_scales;
  json["layout"] = !request.layout.empty() ? Json(BytesJson(request.layout)) : Json();
  json["repack"] = !request.repack.empty() ? Json(BytesJson(request.repack)) : Json();
  json["scale_rule"] = request.scale_rule ? Json(ScaleRuleName(*request.scale_rule)) : Json();
  json["group"] = request.group ? Json(*request.group) : Json();
  json["asymmetric"] = request.asymmetric;
  json["rotate"] = request.rotate;
  json["options"] = OptionsJson(request.cast);
  json["assume_type"] = request.assume_type ? TypeJson(*request.assume_type) : Json();
  json["allow_hard_links"] = request.allow_hard_links;
  json["root"] = BytesJson(request.root);
  json["max_shard_bytes"] = request.max_shard_bytes;
  json["like"] = !request.like.empty() ? Json(BytesJson(request.like)) : Json();
  return json;
}

Request RequestOf(const Place& json) {
  Request request;
  const Place files = json.Member("files");
  for (std::size_t i = 0; i < files.size(); ++i) {
    request.files.push_back({files[i].Member("input").Bytes(), files[i].Member("output").Bytes()});
  }
  if (const Place to = json.Member("to"); !to.IsNull()) request.to = DestinationOf(to);
  const Place rules = json.Member("rules");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    request.rules.push_back(
        {rules[i].Member("pattern").Bytes(), DestinationOf(rules[i].Member("to")),
         PatternsOf(rules[i].Member("also")), rules[i].Member("where").Bytes()});
  }
  request.only = PatternsOf(json.Member("only"));
  request.excluded = PatternsOf(json.Member("excluded"));
  request.select = PatternsOf(json.Member("select"));
  const Place renames = json.Member("renames");
  for (std::size_t i = 0; i < renames.size(); ++i) {
    request.renames.push_back({renames[i].Member("from").Bytes(), renames[i].Member("to").Bytes(),
                               renames[i].Member("where").Bytes()});
  }
  const Place keep = json.Member("keep");
  for (std::size_t i = 0; i < keep.size(); ++i) {
    request.keep.push_back(keep[i].Parsed(ParseKeep, "is not a kind of tensors"));
  }
  request.all_types = json.Member("all_types").Bool();
  request.ignore_scales = json.Member("ignore_scales").Bool();
  if (const Place layout = json.Member("layout"); !layout.IsNull()) {
    request.layout = layout.Bytes();
  }
  if (const Place layout = json.Member("repack"); !layout.IsNull()) {
    request.repack = layout.Bytes();
  }
  if (const Place rule = json.Member("scale_rule"); !rule.IsNull()) {
    request.scale_rule = rule.Parsed(ParseScaleRule, "is not a rule of scales");
  }
  if (const Place group = json.Member("group"); !group.IsNull()) request.group = group.Number();
  request.asymmetric = json.Member("asymmetric").Bool();
  request.rotate = json.Member("rotate").Bool();
  request.cast = CastOptionsOf(json.Member("options"));
  if (const DataType type = json.Member("assume_type").Type(); type != DataType::kUndefined) {
    request.assume_type = type;
  }
  request.allow_hard_links = json.Member("allow_hard_links").Bool();
  request.root = json.Member("root").Bytes();
  request.max_shard_bytes = json.Member("max_shard_bytes").Number();
  if (const Place like = json.Member("like"); !like.IsNull()) request.like = like.Bytes();
  return request;
}

}  // namespace tensorcast::convert
