// Reads TOML by toml++; each refusal names the line and the column of what it refuses.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/rules_file.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include "arguments/argument_values.h"
#include "checkpoint/checkpoint.h"
#include "files/error.h"
#include "files/system.h"
#include "naming/rename.h"
#include "naming/tensor_pattern.h"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

constexpr std::size_t kLongest = std::size_t{1} << 20;  // bytes; thousands of rules

// A table of the file, whose keys are taken one by one: what is left is refused.
class Table {
 public:
  Table(const toml::table& table, const std::string& path, std::string_view keys)
      : table_(table), path_(path), keys_(keys) {}

  // "rules.toml:4:9", escaped.
  std::string Place(const toml::source_region& source) const {
    return fmt::format("{}:{}:{}", words::Escape(path_), source.begin.line, source.begin.column);
  }
  [[noreturn]] void Refuse(const toml::node& node, const std::string& why) const {
    throw Error(ErrorKind::kArguments, Place(node.source()) + ": " + why);
  }
  // Null where the table has no such key.
  const toml::node* Take(std::string_view key) {
    taken_.push_back(key);
    return table_.get(key);
  }
  std::string Text(const toml::node& node, std::string_view key) const {
    const auto* const text = node.as_string();
    if (text == nullptr) Refuse(node, fmt::format("{} is not a string", key));
    return text->get();
  }
  // A string, or a list of strings, each given to `use` with the place where it stands.
  template <class Use> void EachText(std::string_view key, const Use& use) {
    const toml::node* const node = Take(key);
    if (node == nullptr) return;
    if (const toml::array* const list = node->as_array()) {
      for (const toml::node& one : *list) use(Text(one, key), one);
      if (list->empty()) Refuse(*node, fmt::format("{} is an empty list", key));
    } else if (node->is_string()) {
      use(Text(*node, key), *node);
    } else {
      Refuse(*node, fmt::format("{} is neither a string nor a list of strings", key));
    }
  }
  // Each table of a list of them.
  template <class Use> void EachTable(std::string_view key, const Use& use) {
    const toml::node* const node = Take(key);
    if (node == nullptr) return;
    const toml::array* const list = node->as_array();
    if (list == nullptr) {
      Refuse(*node, fmt::format("{0} is not a list of tables, each under [[{0}]]", key));
    }
    for (const toml::node& one : *list) {
      if (!one.is_table()) Refuse(one, fmt::format("a {0} is a table, under [[{0}]]", key));
      use(*one.as_table());
    }
  }
  std::vector<std::string> Patterns(std::string_view key) {
    std::vector<std::string> patterns;
    EachText(key, [&](std::string text, const toml::node& node) {
      try {
        const naming::TensorPattern checked(text);
      } catch (const Error& error) {
        Refuse(node, error.what());
      }
      patterns.push_back(std::move(text));
    });
    return patterns;
  }
  void RequireAllTaken() const {
    for (const auto& [key, node] : table_) {
      if (std::find(taken_.begin(), taken_.end(), key.str()) != taken_.end()) continue;
      throw Error(ErrorKind::kArguments,
                  fmt::format("{}: '{}' is not one of {}", Place(key.source()),
                              words::EscapeName(key.str()), keys_));
    }
  }

 private:
  const toml::table& table_;
  const std::string& path_;
  std::string_view keys_;
  std::vector<std::string_view> taken_;
};

convert::RequestedRule RuleOf(const toml::table& table, const std::string& path) {
  Table keys(table, path, "match, to");
  convert::RequestedRule rule;
  rule.where = fmt::format("{}:{}", path, table.source().begin.line);
  std::vector<std::string> patterns = keys.Patterns("match");
  const toml::node* const to = keys.Take("to");
  keys.RequireAllTaken();
  if (patterns.empty()) keys.Refuse(table, "the rule has no `match`");
  if (to == nullptr) keys.Refuse(table, "the rule has no `to`");
  rule.to = ParseDestination(keys.Place(to->source()), keys.Text(*to, "to"));
  rule.pattern = std::move(patterns.front());
  rule.also.assign(std::make_move_iterator(patterns.begin() + 1),
                   std::make_move_iterator(patterns.end()));
  return rule;
}

convert::RequestedRename RenameOf(const toml::table& table, const std::string& path) {
  Table keys(table, path, "from, to");
  convert::RequestedRename rename;
  rename.where = fmt::format("{}:{}", path, table.source().begin.line);
  const auto text = [&](std::string_view key) {
    const toml::node* const node = keys.Take(key);
    if (node == nullptr) keys.Refuse(table, fmt::format("the rename has no `{}`", key));
    return keys.Text(*node, key);
  };
  rename.from = text("from");
  rename.to = text("to");
  keys.RequireAllTaken();
  try {
    const naming::Rename checked(rename.from, rename.to);
  } catch (const Error& error) {
    keys.Refuse(table, error.what());
  }
  return rename;
}

toml::table Parsed(const std::string& path) {
  const files::InputFile file(path);
  if (file.size() > kLongest) {
    throw Error(ErrorKind::kArguments,
                fmt::format("{}: {} bytes are more than a file of rules may have ({})",
                            words::Escape(path), file.size(), kLongest));
  }
  const std::string text = checkpoint::ReadText(file, kLongest);
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position place = error.source().begin;
    throw Error(ErrorKind::kArguments,
                fmt::format("{}:{}:{}: not TOML: {}", words::Escape(path), place.line, place.column,
                            words::Escape(error.what())));
  }
}

void Append(std::vector<std::string>& list, std::vector<std::string> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

}  // namespace

void ReadRulesFile(const std::string& path, convert::Request& request) {
  const toml::table table = Parsed(path);
  Table keys(table, path, "to, layout, scale, group, rotate, keep, only, exclude, rule, rename");
  // What the command line says comes first; what the file says is looked at all the same.
  const auto take = [&](std::string_view key, auto parse, auto& into, bool is_said) {
    const toml::node* const node = keys.Take(key);
    if (node == nullptr) return;
    auto parsed = parse(keys.Place(node->source()), keys.Text(*node, key));
    if (!is_said) into = std::move(parsed);
  };
  take("to", ParseDestination, request.to, request.to.has_value());
  take("layout", ParseLayoutArgument, request.layout, !request.layout.empty());
  take("scale", ParseScaleRuleArgument, request.scale_rule, request.scale_rule.has_value());
  take("group", ParseGroupArgument, request.group, request.group.has_value());
  if (const toml::node* const rotate = keys.Take("rotate")) {
    if (!rotate->is_boolean()) keys.Refuse(*rotate, "rotate is neither true nor false");
    request.rotate = request.rotate || rotate->as_boolean()->get();
  }
  keys.EachText("keep", [&](const std::string& word, const toml::node& node) {
    request.keep.push_back(ParseKeep(keys.Place(node.source()), word));
  });
  Append(request.only, keys.Patterns("only"));
  Append(request.excluded, keys.Patterns("exclude"));
  keys.EachTable("rule",
                 [&](const toml::table& one) { request.rules.push_back(RuleOf(one, path)); });
  keys.EachTable("rename",
                 [&](const toml::table& one) { request.renames.push_back(RenameOf(one, path)); });
  keys.RequireAllTaken();
}

}  // namespace tensorcast::tool
