// Sorts the changes, and works out the lengths from the innermost message to the outermost.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/model_edit.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <protozero/buffer_string.hpp>
#include <protozero/varint.hpp>

namespace tensorcast::onnx {

std::string WireVarint(std::uint64_t value) {
  std::string bytes;
  protozero::add_varint_to_buffer(&bytes, value);
  return bytes;
}

std::string VarintFieldBytes(std::uint32_t number, std::uint64_t value) {
  return WireVarint(std::uint64_t{number} << 3) + WireVarint(value);
}

std::string BytesFieldHead(std::uint32_t number, std::uint64_t size) {
  constexpr auto kBytes = static_cast<std::uint64_t>(protobuf::WireType::kBytes);
  return WireVarint(std::uint64_t{number} << 3 | kBytes) + WireVarint(size);
}

std::string BytesFieldBytes(std::uint32_t number, std::string_view payload) {
  return BytesFieldHead(number, payload.size()).append(payload);
}

std::string FieldWithValues(std::uint32_t number, std::string_view payload, std::uint64_t values) {
  return BytesFieldHead(number, payload.size() + values).append(payload);
}

void ModelEdit::Replace(std::span<const protobuf::WireField> path, std::uint64_t begin,
                        std::uint64_t end, std::string bytes) {
  changes_.push_back({begin, end, path.size(), std::move(bytes), std::nullopt, 0});
  Grow(path, changes_.back());
}

void ModelEdit::ReplaceByValues(std::span<const protobuf::WireField> path, std::uint64_t begin,
                                std::uint64_t end, std::string bytes, std::size_t tensor,
                                std::uint64_t values) {
  changes_.push_back({begin, end, path.size(), std::move(bytes), tensor, values});
  Grow(path, changes_.back());
}

void ModelEdit::Grow(std::span<const protobuf::WireField> path, const Change& change) {
  for (std::size_t i = path.size(); i-- > 0;) {
    const auto [place, is_new] = enclosing_.try_emplace(path[i].offset);
    Enclosing& enclosing = place->second;
    if (is_new) {
      enclosing.field = path[i];
      enclosing.depth = i;
      if (i > 0) enclosing.parent = path[i - 1].offset;
    }
    if (i + 1 == path.size()) {
      enclosing.growth += static_cast<std::int64_t>(change.bytes.size() + change.values) -
                          static_cast<std::int64_t>(change.end - change.begin);
    }
    if (!is_new) break;  // and so are those around it
  }
}

void ModelEdit::RewriteLengths() {
  std::vector<Enclosing*> inside_out;
  inside_out.reserve(enclosing_.size());
  for (auto& [offset, enclosing] : enclosing_) inside_out.push_back(&enclosing);
  std::sort(inside_out.begin(), inside_out.end(), [](const Enclosing* a, const Enclosing* b) {
    return std::tie(b->depth, a->field.offset) < std::tie(a->depth, b->field.offset);
  });
  for (const Enclosing* const message : inside_out) {
    if (message->growth == 0) continue;  // its length stays as it is written
    const protobuf::WireField& field = message->field;
    const std::uint64_t size = field.size() + static_cast<std::uint64_t>(message->growth);
    Change head{field.offset,   field.begin,
                message->depth, BytesFieldHead(field.number, size),
                std::nullopt,   0};
    if (message->parent) {
      enclosing_.at(*message->parent).growth +=
          message->growth + static_cast<std::int64_t>(head.bytes.size()) -
          static_cast<std::int64_t>(field.begin - field.offset);
    }
    changes_.push_back(std::move(head));
  }
}

std::vector<ModelPiece> ModelEdit::Finish(std::uint64_t source_size) {
  RewriteLengths();
  // At one place insertions stand before what begins there, those of inner messages, which end
  // there, before those of outer ones.
  const auto key = [](const Change& change) {
    const bool inserts = change.begin == change.end;
    return std::make_tuple(change.begin, !inserts,
                           inserts ? -static_cast<std::int64_t>(change.depth) : 0);
  };
  std::stable_sort(changes_.begin(), changes_.end(),
                   [&](const Change& a, const Change& b) { return key(a) < key(b); });
  std::vector<ModelPiece> pieces;
  std::uint64_t at = 0;
  const auto add = [&](ModelPiece piece) {
    if (piece.size == 0) return;
    piece.at = at;
    at += piece.size;
    pieces.push_back(std::move(piece));
  };
  std::uint64_t copied = 0;  // of the source
  for (Change& change : changes_) {
    if (change.begin < copied || change.end < change.begin || change.end > source_size) {
      throw std::logic_error("changes of a message overlap");
    }
    add({0, change.begin - copied, copied, std::nullopt, {}});
    add({0, change.bytes.size(), std::nullopt, std::nullopt, std::move(change.bytes)});
    if (change.tensor) add({0, change.values, std::nullopt, change.tensor, {}});
    copied = change.end;
  }
  add({0, source_size - copied, copied, std::nullopt, {}});
  changes_.clear();
  enclosing_.clear();
  return pieces;
}

}  // namespace tensorcast::onnx
