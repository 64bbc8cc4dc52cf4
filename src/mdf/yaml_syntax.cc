// YAML 1.1, by libyaml's events: what PyYAML's SafeLoader reads and its dump writes.
//
// SPDX-License-Identifier: Apache-2.0
#include <yaml.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/error.h"
#include "mdf/number_text.h"
#include "mdf/syntax.h"
#include "mdf/yaml_scalar.h"
#include "words/error_text.h"
#include "words/utf8.h"

namespace tensorcast::mdf {
namespace {

// libyaml gives and takes unsigned characters.
std::string_view TextOf(const yaml_char_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};
}
std::string NameOf(const yaml_char_t* text) {
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
}

std::string PlaceText(const yaml_mark_t& mark) {
  return "line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1);
}

[[noreturn]] void RefuseEvent(const yaml_event_t& event, const std::string& what) {
  Refuse(PlaceText(event.start_mark) + ": " + what);
}

struct Parser {
  explicit Parser(std::string_view text) {
    if (yaml_parser_initialize(&parser) == 0) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() { yaml_parser_delete(&parser); }

  yaml_parser_t parser{};
};

class Event {
 public:
  explicit Event(yaml_parser_t& parser) {
    if (yaml_parser_parse(&parser, &event_) != 0) return;
    if (parser.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    Wrong("is not YAML at " + PlaceText(parser.problem_mark) + ": " +
          words::Escape(parser.problem == nullptr ? "" : parser.problem));
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }

  const yaml_event_t& operator*() const { return event_; }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_{};
};

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) : parser_(text) {}

  Value Read() {
    Next();  // the start of the stream
    if (Next() == YAML_STREAM_END_EVENT) Wrong("is empty");
    while (Take(*event_)) Next();
    if (Next() != YAML_STREAM_END_EVENT) {
      Wrong(PlaceText((*event_)->start_mark) + ": a second document begins; a file has one");
    }
    return builder_.Take();
  }

 private:
  yaml_event_type_t Next() {
    event_.emplace(parser_.parser);
    return (*event_)->type;
  }

  // Whether the document goes on.
  bool Take(const Event& event) {
    switch (event->type) {
      case YAML_DOCUMENT_END_EVENT: return false;
      case YAML_SCALAR_EVENT: TakeScalar(*event); break;
      case YAML_ALIAS_EVENT: TakeAlias(*event); break;
      case YAML_SEQUENCE_START_EVENT: {
        const auto& start = event->data.sequence_start;
        Begin(*event, start.anchor, start.tag, "tag:yaml.org,2002:seq");
        builder_.BeginList();
        break;
      }
      case YAML_MAPPING_START_EVENT: {
        const auto& start = event->data.mapping_start;
        Begin(*event, start.anchor, start.tag, "tag:yaml.org,2002:map");
        builder_.BeginObject();
        break;
      }
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: End(); break;
      default: break;  // where the document starts
    }
    return true;
  }

  struct Open {
    bool is_object = false;
    bool has_key = false;  // the next is the value of it
    std::string anchor;
  };

  void Begin(const yaml_event_t& event, const yaml_char_t* anchor, const yaml_char_t* tag,
             std::string_view expected) {
    if (IsKey()) RefuseEvent(event, "a name is a list or an object; names are texts");
    if (tag != nullptr && NameOf(tag) != expected) RefuseTag(event, NameOf(tag));
    open_.push_back({event.type == YAML_MAPPING_START_EVENT, false, NameOf(anchor)});
  }

  void End() {
    builder_.End();
    const std::string anchor = std::move(open_.back().anchor);
    open_.pop_back();
    Done(anchor);
  }

  // A value stands where it belongs.
  void Done(const std::string& anchor) {
    if (!open_.empty()) open_.back().has_key = false;
    if (!anchor.empty()) Keep(anchor);
  }

  // A copy of what an anchor names, which counts as much as what it is a copy of.
  void Keep(const std::string& anchor) {
    kept_ += Size(builder_.last());
    if (kept_ > kMostValues) {
      Wrong("anchors name more than " + std::to_string(kMostValues) +
            " values, the most that are read");
    }
    anchors_[anchor] = builder_.last();
  }

  static std::size_t Size(const Value& value) {
    std::size_t size = 1;
    if (const auto* const list = value.As<List>()) {
      for (const Value& each : *list) size += Size(each);
    } else if (const auto* const object = value.As<Object>()) {
      for (const Member& each : *object) size += Size(each.value);
    }
    return size;
  }

  bool IsKey() const { return !open_.empty() && open_.back().is_object && !open_.back().has_key; }

  void TakeScalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    const std::string_view text = TextOf(scalar.value, scalar.length);
    const std::string tag = NameOf(scalar.tag);
    if (IsKey()) return TakeKey(event, text);
    builder_.Add(ScalarValue(event, text, tag));
    Done(NameOf(scalar.anchor));
  }

  void TakeKey(const yaml_event_t& event, std::string_view text) {
    const auto& scalar = event.data.scalar;
    if (scalar.style == YAML_PLAIN_SCALAR_STYLE && text == "<<") {
      RefuseEvent(event, "a merge key (<<) is not read; write its members out");
    }
    if (scalar.anchor != nullptr) RefuseEvent(event, "an anchor on a name is not read");
    builder_.Key(std::string(text));
    open_.back().has_key = true;
  }

  static Value ScalarValue(const yaml_event_t& event, std::string_view text,
                           const std::string& tag) {
    const bool is_plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return std::string(text);
    if (!tag.empty()) RefuseTag(event, tag);
    if (!is_plain) return std::string(text);
    try {
      return PlainScalar(text);
    } catch (const graph::Error& error) {
      throw graph::Error(error.kind(), PlaceText(event.start_mark) + ": " + error.what());
    }
  }

  [[noreturn]] static void RefuseTag(const yaml_event_t& event, const std::string& tag) {
    RefuseEvent(event, "the tag " + words::Quoted(tag) + " is not read; leave it out");
  }

  void TakeAlias(const yaml_event_t& event) {
    const std::string name = NameOf(event.data.alias.anchor);
    if (IsKey()) RefuseEvent(event, "an alias as a name is not read");
    const auto anchor = anchors_.find(name);
    if (anchor == anchors_.end()) {
      Wrong(PlaceText(event.start_mark) + ": the alias " + words::Quoted(name) +
            " names nothing that stands before it");
    }
    builder_.Add(anchor->second);
    Done({});
  }

  Parser parser_;
  std::optional<Event> event_;
  std::vector<Open> open_;
  ValueBuilder builder_;
  std::map<std::string, Value> anchors_;
  std::size_t kept_ = 0;
};

class YamlWriter {
 public:
  YamlWriter() {
    if (yaml_emitter_initialize(&emitter_) == 0) throw std::bad_alloc();
    yaml_emitter_set_output(&emitter_, Append, &text_);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_indent(&emitter_, 4);
    yaml_emitter_set_width(&emitter_, 100);
  }
  YamlWriter(const YamlWriter&) = delete;
  YamlWriter& operator=(const YamlWriter&) = delete;
  ~YamlWriter() { yaml_emitter_delete(&emitter_); }

  std::string Write(const Value& value) {
    yaml_event_t event;
    Emit(yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), event);
    Emit(yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1), event);
    Put(value);
    Emit(yaml_document_end_event_initialize(&event, 1), event);
    Emit(yaml_stream_end_event_initialize(&event), event);
    return std::move(text_);
  }

 private:
  static int Append(void* text, unsigned char* bytes, std::size_t size) {
    try {
      static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), size);
    } catch (const std::bad_alloc&) {
      return 0;
    }
    return 1;
  }

  void Emit(int made, yaml_event_t& event) {
    if (made == 0 || yaml_emitter_emit(&emitter_, &event) == 0) throw std::bad_alloc();
  }

  void Put(const Value& value) {
    yaml_event_t event;
    if (const auto* const object = value.As<Object>()) {
      Emit(yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1,
                                               YAML_BLOCK_MAPPING_STYLE),
           event);
      for (const Member& member : *object) {
        PutText(member.name);
        Put(member.value);
      }
      Emit(yaml_mapping_end_event_initialize(&event), event);
    } else if (const auto* const list = value.As<List>()) {
      Emit(yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1,
                                                YAML_FLOW_SEQUENCE_STYLE),
           event);
      for (const Value& each : *list) Put(each);
      Emit(yaml_sequence_end_event_initialize(&event), event);
    } else if (const auto* const text = value.As<std::string>()) {
      PutText(*text);
    } else {
      PutScalar(WordOf(value), YAML_PLAIN_SCALAR_STYLE);
    }
  }

  static std::string WordOf(const Value& value) {
    if (const auto* const flag = value.As<bool>()) return *flag ? "true" : "false";
    if (const auto* const whole = value.As<Integer>()) return IntegerText(*whole);
    const auto* const number = value.As<double>();
    if (number == nullptr) return "null";
    if (std::isnan(*number)) return ".nan";
    if (std::isinf(*number)) return *number < 0 ? "-.inf" : ".inf";
    return DoubleText(*number);
  }

  // In quotes where without them it would be read as something else.
  void PutText(const std::string& text) {
    if (!words::IsUtf8(text)) {
      Refuse("the text " + words::Quoted(text) + " is not UTF-8, which YAML's texts are");
    }
    PutScalar(text, IsSafe(text) ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  }

  // Names and types; whatever else begins or holds what YAML may take for its own is quoted.
  static bool IsSafe(const std::string& text) {
    const auto is_letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (text.empty() || !is_letter(text.front())) return false;
    for (const char c : text) {
      if (!is_letter(c) && (c < '0' || c > '9') && c != '.' && c != '/' && c != ' ') return false;
    }
    return text.back() != ' ' && PlainScalar(text).As<std::string>() != nullptr;
  }

  void PutScalar(const std::string& text, yaml_scalar_style_t style) {
    yaml_event_t event;
    // libyaml takes characters that it does not change.
    auto* const bytes = const_cast<yaml_char_t*>(reinterpret_cast<const yaml_char_t*>(text.data()));
    Emit(yaml_scalar_event_initialize(&event, nullptr, nullptr, bytes,
                                      static_cast<int>(text.size()), 1, 1, style),
         event);
  }

  yaml_emitter_t emitter_{};
  std::string text_;
};

}  // namespace

Value ReadYaml(const std::string& /*path*/, const std::string& text) {
  return YamlReader(text).Read();
}

std::string WriteYaml(const Value& value) { return YamlWriter().Write(value); }

}  // namespace tensorcast::mdf
