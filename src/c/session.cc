// The flat C interface: sessions, and what is bound to them.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/session.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c/graph_handle.h"
#include "core/shape.h"
#include "words/error_text.h"

using namespace tensorcast;

namespace tensorcast::c {

std::size_t PlaceOf(const tensorcast_session& handle, std::int32_t side, std::int64_t index,
                    const char* name) {
  const Port port = PortOf(index, name);
  std::size_t place = 0;
  std::string text;
  const Status status = Truth(side, "side") ? handle.session.FindOutput(port, &place, &text)
                                            : handle.session.FindInput(port, &place, &text);
  if (!status.ok()) Refuse(status.code(), text);
  return place;
}

namespace {

std::span<const ValueInfo> ValuesOf(const tensorcast_session& handle, std::int32_t side) {
  return Truth(side, "side") ? handle.session.outputs() : handle.session.inputs();
}

// Binds a tensor by `bind` and holds what it needs; one that is refused leaves the one before.
template <class Bind>
Status Hold(tensorcast_session::Bound& bound, const FlatTensor& given, bool copies,
            const Bind& bind) {
  bound.next.Take(given, copies);
  const Status status = bind(bound.next.view);
  if (status.ok()) std::swap(bound.now, bound.next);
  return status;
}

Status BindInput(tensorcast_session& handle, std::size_t place, const FlatTensor& given,
                 bool copies, std::string* text) {
  return Hold(handle.inputs[place], given, copies,
              [&](const TensorView& view) { return handle.session.BindInput(place, view, text); });
}

// Takes tensors that stand one after the other apart.
class Concatenated {
 public:
  explicit Concatenated(const FlatTensor& all) : rest_(all) {}

  FlatTensor Next(std::int64_t rank, std::int32_t type) {
    what_ = "tensor " + std::to_string(next_++);
    if (rank < 0 || static_cast<std::uint64_t>(rank) > core::kMostDimensions) {
      Refuse(StatusCode::kBadInput, what_ + " has the rank " + std::to_string(rank) +
                                        "; ranks are 0 to " +
                                        std::to_string(core::kMostDimensions));
    }
    FlatTensor next;
    next.type = type;
    if (type == static_cast<std::int32_t>(DataType::kUndefined)) return next;
    next.rank = static_cast<std::uint64_t>(rank);
    next.shape = Cut(rest_.shape, rest_.rank, next.rank, "shapes");
    std::vector<std::uint64_t> sizes;
    for (const std::int64_t size : Items(next.shape, next.rank)) {
      if (size < 0) {
        Refuse(StatusCode::kBadInput, what_ + " has a dimension of " + std::to_string(size));
      }
      sizes.push_back(static_cast<std::uint64_t>(size));
    }
    const std::optional<std::uint64_t> elements = core::CheckedProduct(sizes);
    if (!elements) Refuse(StatusCode::kBadInput, what_ + " has more than 2^64 - 1 elements");
    std::uint64_t bytes = 0;
    if (TypeOf(type, "types") == DataType::kString) {
      next.lengths_count = *elements;
      next.lengths = Cut(rest_.lengths, rest_.lengths_count, *elements, "lengths");
      for (const std::int64_t length : Items(next.lengths, next.lengths_count)) {
        if (length < 0 || static_cast<std::uint64_t>(length) > rest_.bytes_size - bytes) {
          Refuse(StatusCode::kBadInput,
                 what_ + " has a string of length " + std::to_string(length) + "; " +
                     words::CountText(rest_.bytes_size - bytes, "byte") + " are left for it");
        }
        bytes += static_cast<std::uint64_t>(length);
      }
    } else {
      bytes = StorageBytes(static_cast<DataType>(type), *elements).value_or(UINT64_MAX);
    }
    next.bytes_size = bytes;
    next.bytes = Cut(static_cast<const std::byte*>(rest_.bytes), rest_.bytes_size, bytes, "bytes");
    rest_.bytes = static_cast<const std::byte*>(rest_.bytes) + bytes;
    return next;
  }

  void CheckEnd() const {
    const auto check = [](std::uint64_t left, const char* what) {
      if (left == 0) return;
      Refuse(StatusCode::kBadInput, "parameter " + std::string(what) + " has " +
                                        std::to_string(left) +
                                        " more than the tensors take; check ranks and types");
    };
    check(rest_.bytes_size, "bytes");
    check(rest_.rank, "shapes");
    check(rest_.lengths_count, "lengths");
  }

 private:
  // Cuts the first `count` off.
  template <class Item>
  const Item* Cut(const Item*& items, std::uint64_t& left, std::uint64_t count,
                  const char* what) const {
    if (count > left) {
      Refuse(StatusCode::kBadInput, what_ + " takes " + std::to_string(count) + " of parameter " +
                                        what + "; " + std::to_string(left) + " are left for it");
    }
    const Item* const first = items;
    if (count != 0) items += count;
    left -= count;
    return first;
  }
  const std::byte* Cut(const std::byte* items, std::uint64_t& left, std::uint64_t count,
                       const char* what) const {
    return Cut<std::byte>(items, left, count, what);
  }

  FlatTensor rest_;
  std::uint64_t next_ = 0;
  std::string what_;  // the tensor at hand
};

// The places that indices or names say.
std::vector<std::size_t> PlacesOf(const tensorcast_session& handle, std::int32_t side,
                                  const std::int64_t* first_index, std::uint64_t indices_count,
                                  const char* names) {
  CheckCount(indices_count, ValuesOf(handle, side).size(), "indices", "items");
  const auto indices = Table(first_index, indices_count, "indices");
  const std::vector<std::string_view> lines = LinesOf(names);
  if (!lines.empty() && !indices.empty()) {
    Refuse(StatusCode::kBadInput, "both indices and names are given; give one of them");
  }
  std::vector<std::size_t> places;
  for (const std::int64_t index : indices) places.push_back(PlaceOf(handle, side, index, nullptr));
  for (const std::string_view name : lines) {
    places.push_back(PlaceOf(handle, side, TENSORCAST_BY_NAME, std::string(name).c_str()));
  }
  return places;
}

void CheckNoneTwice(std::vector<std::size_t> places) {
  std::sort(places.begin(), places.end());
  const auto twice = std::adjacent_find(places.begin(), places.end());
  if (twice == places.end()) return;
  Refuse(StatusCode::kBadInput, "input " + std::to_string(*twice) + " is given twice");
}

// Makes a session by `make`, and hands it over where that went well. No handle keeps the text: of
// one graph others may make sessions at once.
template <class Make> std::int32_t Create(tensorcast_session** session, const Make& make) {
  Clear(session);
  return FlatCall(nullptr, [&](std::string* text) {
    CheckGiven(session, "session");
    auto made = std::make_unique<tensorcast_session>();
    const Status status = make(*made, text);
    if (!status.ok()) return status;
    made->inputs.resize(made->session.inputs().size());
    made->gradients.resize(made->session.outputs().size());
    made->is_selected.assign(made->session.outputs().size(), true);
    *session = made.release();
    return status;
  });
}

onnx::LoadOptions LoadOptionsOf(std::int32_t contradictions, std::int32_t optimize,
                                std::int32_t target) {
  onnx::LoadOptions options;
  options.contradictions = ContradictionsOf(contradictions);
  options.optimize = Truth(optimize, "optimize");
  options.target = static_cast<Target>(target);
  return options;
}

}  // namespace
}  // namespace tensorcast::c

std::int32_t tensorcast_session_create(const tensorcast_graph* graph, std::int32_t backward,
                                       std::int32_t wide, std::int32_t gives_zeros,
                                       std::int32_t target, tensorcast_session** session) {
  return c::Create(session, [&](tensorcast_session& made, std::string* text) {
    c::CheckGiven(graph, "graph");
    SessionOptions options;
    options.target = static_cast<Target>(target);
    options.backward = c::Truth(backward, "backward");
    options.differentiable =
        c::Truth(wide, "wide") ? Differentiable::kWide : Differentiable::kUsual;
    options.gives_zeros = c::Truth(gives_zeros, "gives_zeros");
    made.graph = c::SerialOf(graph->graph);
    return Session::Create(graph->graph, options, &made.session, text);
  });
}

std::int32_t tensorcast_session_load(const char* path, std::int32_t contradictions,
                                     std::int32_t allow_hard_links, std::int32_t optimize,
                                     std::int32_t target, tensorcast_session** session) {
  return c::Create(session, [&](tensorcast_session& made, std::string* text) {
    c::CheckGiven(path, "path");
    auto options = c::LoadOptionsOf(contradictions, optimize, target);
    options.allow_hard_links = c::Truth(allow_hard_links, "allow_hard_links");
    return Session::Load(path, options, &made.session, text);
  });
}

std::int32_t tensorcast_session_parse(const void* bytes, std::uint64_t bytes_size,
                                      std::int32_t contradictions, std::int32_t optimize,
                                      std::int32_t target, tensorcast_session** session) {
  return c::Create(session, [&](tensorcast_session& made, std::string* text) {
    c::CheckBytes(bytes, bytes_size, "bytes");
    const auto options = c::LoadOptionsOf(contradictions, optimize, target);
    return Session::Parse(c::Bytes(bytes, bytes_size), options, &made.session, text);
  });
}

void tensorcast_session_destroy(tensorcast_session* session) { delete session; }

std::int32_t tensorcast_session_error(const tensorcast_session* session, char* buffer,
                                      std::uint64_t buffer_bytes, std::uint64_t* needed) {
  c::Clear(needed);
  if (session == nullptr) return TENSORCAST_NULL_POINTER;
  return c::WriteText(session->error, buffer, buffer_bytes, needed);
}

// -------------------------------------------------------------------- inputs and outputs

std::int32_t tensorcast_session_opset(const tensorcast_session* session, std::int64_t* opset) {
  c::Clear(opset);
  if (session == nullptr || opset == nullptr) return TENSORCAST_NULL_POINTER;
  *opset = session->session.opset();
  return TENSORCAST_OK;
}

std::int32_t tensorcast_session_value_count(const tensorcast_session* session, std::int32_t side,
                                            std::uint64_t* count) {
  c::Clear(count);
  return c::WithHandle(session, "session", [&](const tensorcast_session& handle, std::string*) {
    c::CheckGiven(count, "count");
    *count = c::ValuesOf(handle, side).size();
    return Status();
  });
}

std::int32_t tensorcast_session_value(const tensorcast_session* session, std::int32_t side,
                                      std::int64_t index, const char* name, std::int64_t* own_index,
                                      std::int32_t* type, std::int64_t* rank,
                                      std::int32_t* has_default) {
  c::Clear(own_index, type, rank, has_default);
  return c::WithHandle(session, "session", [&](const tensorcast_session& handle, std::string*) {
    const std::size_t place = c::PlaceOf(handle, side, index, name);
    const ValueInfo& info = c::ValuesOf(handle, side)[place];
    c::Give(static_cast<std::int64_t>(place), own_index);
    c::Give(static_cast<std::int32_t>(info.type), type);
    c::Give(info.has_shape ? static_cast<std::int64_t>(info.shape.size()) : std::int64_t{-1}, rank);
    c::Give(info.has_default ? 1 : 0, has_default);
    return Status();
  });
}

std::int32_t tensorcast_session_value_name(const tensorcast_session* session, std::int32_t side,
                                           std::int64_t index, char* buffer,
                                           std::uint64_t buffer_bytes, std::uint64_t* needed) {
  c::Clear(needed);
  return c::WithHandle(session, "session", [&](const tensorcast_session& handle, std::string*) {
    const std::size_t place = c::PlaceOf(handle, side, index, nullptr);
    return c::GiveText(c::ValuesOf(handle, side)[place].name, buffer, buffer_bytes, needed);
  });
}

std::int32_t tensorcast_session_value_shape(const tensorcast_session* session, std::int32_t side,
                                            std::int64_t index, const char* name,
                                            std::int64_t* sizes, std::uint64_t capacity,
                                            std::uint64_t* rank) {
  c::Clear(rank);
  return c::WithHandle(session, "session", [&](const tensorcast_session& handle, std::string*) {
    const ValueInfo& info = c::ValuesOf(handle, side)[c::PlaceOf(handle, side, index, name)];
    return c::GiveItems(std::span(info.shape), sizes, capacity, rank, "sizes",
                        [](const auto& size) { return c::SizeOrUnknown(size); });
  });
}

// -------------------------------------------------------------------------------- binding

std::int32_t tensorcast_session_bind_input(tensorcast_session* session, std::int64_t index,
                                           const char* name, const void* bytes,
                                           std::uint64_t bytes_size, const std::int64_t* shape,
                                           std::uint64_t rank, std::int32_t type,
                                           const std::int64_t* lengths, std::uint64_t lengths_count,
                                           std::int32_t copy) {
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    const std::size_t place = c::PlaceOf(handle, TENSORCAST_GRAPH_INPUTS, index, name);
    return c::BindInput(handle, place,
                        {bytes, bytes_size, shape, rank, type, lengths, lengths_count},
                        c::Truth(copy, "copy"), text);
  });
}

std::int32_t tensorcast_session_bind_inputs(
    tensorcast_session* session, std::uint64_t tensors, const std::int64_t* indices,
    std::uint64_t indices_count, const char* names, const void* bytes, std::uint64_t bytes_size,
    const std::int64_t* shapes, std::uint64_t shapes_count, const std::int64_t* lengths,
    std::uint64_t lengths_count, const std::int64_t* ranks, std::uint64_t ranks_count,
    const std::int32_t* types, std::uint64_t types_count, std::int32_t copy) {
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    c::CheckBytes(bytes, bytes_size, "bytes");
    c::CheckTable(shapes, shapes_count, "shapes");
    c::CheckTable(lengths, lengths_count, "lengths");
    c::CheckTable(ranks, ranks_count, "ranks");
    c::CheckBytes(types, types_count, "types");
    const bool copies = c::Truth(copy, "copy");
    const std::vector<std::size_t> places =
        c::PlacesOf(handle, TENSORCAST_GRAPH_INPUTS, indices, indices_count, names);
    if (places.size() != tensors || ranks_count != tensors || types_count != tensors) {
      c::Refuse(StatusCode::kBadInput,
                std::to_string(tensors) + " tensors come with " + std::to_string(places.size()) +
                    " indices or names, " + std::to_string(ranks_count) + " ranks and " +
                    std::to_string(types_count) + " types; give one of each for each");
    }
    c::CheckNoneTwice(places);
    c::Concatenated all({bytes, bytes_size, shapes, shapes_count, 0, lengths, lengths_count});
    std::vector<c::FlatTensor> apart;
    for (std::size_t i = 0; i < places.size(); ++i) apart.push_back(all.Next(ranks[i], types[i]));
    all.CheckEnd();
    for (std::size_t i = 0; i < places.size(); ++i) {
      c::Check(c::BindInput(handle, places[i], apart[i], copies, text), text);
    }
    return Status();
  });
}

std::int32_t tensorcast_session_bind_output(tensorcast_session* session, std::int64_t index,
                                            const char* name, void* bytes,
                                            std::uint64_t bytes_size) {
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    c::CheckBytes(bytes, bytes_size, "bytes");
    return handle.session.BindOutput(c::PortOf(index, name), c::Bytes(bytes, bytes_size), text);
  });
}

std::int32_t tensorcast_session_select_outputs(tensorcast_session* session,
                                               const std::int64_t* indices,
                                               std::uint64_t indices_count, const char* names) {
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    const std::vector<std::size_t> places =
        c::PlacesOf(handle, TENSORCAST_GRAPH_OUTPUTS, indices, indices_count, names);
    std::vector<bool> selected(handle.is_selected.size(), places.empty());
    for (const std::size_t place : places) selected[place] = true;
    const std::vector<Port> ports(places.begin(), places.end());
    const Status status = handle.session.SelectOutputs(ports, text);
    if (status.ok()) handle.is_selected = std::move(selected);
    return status;
  });
}

std::int32_t tensorcast_session_bind_gradient(tensorcast_session* session, std::int64_t index,
                                              const char* name, const void* bytes,
                                              std::uint64_t bytes_size, const std::int64_t* shape,
                                              std::uint64_t rank, std::int32_t type,
                                              std::int32_t copy) {
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    const std::size_t place = c::PlaceOf(handle, TENSORCAST_GRAPH_OUTPUTS, index, name);
    return c::Hold(handle.gradients[place], {bytes, bytes_size, shape, rank, type, nullptr, 0},
                   c::Truth(copy, "copy"), [&](const TensorView& view) {
                     return handle.session.BindGradient(place, view, text);
                   });
  });
}
