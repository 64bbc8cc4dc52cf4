// The flat C interface: runs of a session, their outputs, gradients and profile.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "c/graph_handle.h"
#include "tensorcast/session.h"

using namespace tensorcast;

namespace tensorcast::c {
namespace {

// The product of a shape of data, which is known to fit.
std::uint64_t ElementsOf(std::span<const std::uint64_t> shape) {
  std::uint64_t elements = 1;
  for (const std::uint64_t size : shape) elements *= size;
  return elements;
}

bool IsText(const TensorView& view) { return view.type == DataType::kString; }

std::uint64_t BytesOf(const TensorView& view) {
  if (!IsText(view)) return view.data.size();
  const auto& offsets = view.strings.offsets;
  return offsets.empty() ? 0 : offsets.back() - offsets.front();
}

// What all wanted outputs take.
struct Totals {
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  std::uint64_t shapes = 0;
  std::uint64_t lengths = 0;
};

Totals TotalsOf(const tensorcast_session& handle, std::string* text) {
  Totals all;
  for (std::size_t i = 0; i < handle.is_selected.size(); ++i) {
    if (!handle.is_selected[i]) continue;
    TensorView view;
    Check(handle.session.Output(i, &view, text), text);
    ++all.tensors;
    all.bytes += BytesOf(view);
    all.shapes += view.shape.size();
    all.lengths += IsText(view) ? ElementsOf(view.shape) : 0;
  }
  return all;
}

// Rooms for tensors that are written one after the other.
struct Rooms {
  std::span<std::byte> bytes;
  std::span<std::int64_t> shapes;
  std::span<std::int64_t> lengths;
};

// Copies an output to the beginning of the rooms, which may be too small, and cuts that off.
TensorView CopyOutput(const tensorcast_session& handle, const Port& port, Rooms& rooms,
                      std::string* text) {
  TensorView view;
  Check(handle.session.Output(port, &view, text), text);
  CheckRoom(rooms.shapes.size(), view.shape.size(), "shape");
  const auto bytes = static_cast<std::size_t>(BytesOf(view));
  const std::size_t lengths = IsText(view) ? static_cast<std::size_t>(ElementsOf(view.shape)) : 0;
  // A length is the same number in either type.
  auto* const first = reinterpret_cast<std::uint64_t*>(rooms.lengths.data());
  Check(handle.session.CopyOutput(port, rooms.bytes, {first, rooms.lengths.size()}, text), text);
  CopyShape(view.shape, rooms.shapes.data());
  rooms.bytes = rooms.bytes.subspan(bytes);
  rooms.shapes = rooms.shapes.subspan(view.shape.size());
  rooms.lengths = rooms.lengths.subspan(lengths);
  return view;
}

}  // namespace
}  // namespace tensorcast::c

std::int32_t tensorcast_session_run(tensorcast_session* session, tensorcast_executor* executor,
                                    const tensorcast_interrupt* interrupt, std::int32_t profile) {
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    auto run = c::RunOf<GraphRun>(executor, interrupt);
    if (!c::Truth(profile, "profile")) return handle.session.Run(run, text);
    handle.profile.clear();
    run.profile = &handle.profile;
    const Status status = handle.session.Run(run, text);
    if (!status.ok()) handle.profile.clear();
    return status;
  });
}

std::int32_t tensorcast_session_output_size(tensorcast_session* session, std::int64_t index,
                                            const char* name, std::int32_t* type,
                                            std::uint64_t* rank, std::uint64_t* elements,
                                            std::uint64_t* bytes) {
  c::Clear(type, rank, elements, bytes);
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    const std::size_t place = c::PlaceOf(handle, TENSORCAST_GRAPH_OUTPUTS, index, name);
    c::Check(handle.session.OutputSize(place, &handle.size, text), text);
    c::Give(static_cast<std::int32_t>(handle.session.outputs()[place].type), type);
    c::Give<std::uint64_t>(handle.size.shape.size(), rank);
    c::Give(handle.size.elements, elements);
    c::Give(handle.size.bytes, bytes);
    return Status();
  });
}

std::int32_t tensorcast_session_copy_output(const tensorcast_session* session, std::int64_t index,
                                            const char* name, void* bytes, std::uint64_t bytes_size,
                                            std::int64_t* shape, std::uint64_t shape_count,
                                            std::int64_t* lengths, std::uint64_t lengths_count) {
  return c::WithHandle(
      session, "session", [&](const tensorcast_session& handle, std::string* text) {
        c::CheckBytes(bytes, bytes_size, "bytes");
        c::Rooms rooms = {c::Bytes(bytes, bytes_size), c::Table(shape, shape_count, "shape"),
                          c::Table(lengths, lengths_count, "lengths")};
        (void)c::CopyOutput(handle, c::PortOf(index, name), rooms, text);
        return Status();
      });
}

std::int32_t tensorcast_session_outputs_size(tensorcast_session* session, std::uint64_t* tensors,
                                             std::uint64_t* bytes, std::uint64_t* shapes,
                                             std::uint64_t* lengths) {
  c::Clear(tensors, bytes, shapes, lengths);
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    const c::Totals all = c::TotalsOf(handle, text);
    c::Give(all.tensors, tensors);
    c::Give(all.bytes, bytes);
    c::Give(all.shapes, shapes);
    c::Give(all.lengths, lengths);
    return Status();
  });
}

std::int32_t tensorcast_session_copy_outputs(tensorcast_session* session, void* bytes,
                                             std::uint64_t bytes_size, std::int64_t* shapes,
                                             std::uint64_t shapes_count, std::int64_t* lengths,
                                             std::uint64_t lengths_count, std::int64_t* ranks,
                                             std::uint64_t ranks_count, std::int32_t* types,
                                             std::uint64_t types_count) {
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    c::CheckBytes(bytes, bytes_size, "bytes");
    c::CheckTable(ranks, ranks_count, "ranks");
    c::CheckBytes(types, types_count, "types");
    const c::Totals all = c::TotalsOf(handle, text);
    c::CheckRoom(bytes_size, all.bytes, "bytes");
    c::CheckRoom(shapes_count, all.shapes, "shapes");
    c::CheckRoom(lengths_count, all.lengths, "lengths");
    c::CheckRoom(ranks_count, all.tensors, "ranks");
    c::CheckRoom(types_count, all.tensors, "types");
    c::Rooms rooms = {c::Bytes(bytes, bytes_size), c::Table(shapes, shapes_count, "shapes"),
                      c::Table(lengths, lengths_count, "lengths")};
    std::size_t tensor = 0;
    for (std::size_t i = 0; i < handle.is_selected.size(); ++i) {
      if (!handle.is_selected[i]) continue;
      const TensorView view = c::CopyOutput(handle, i, rooms, text);
      ranks[tensor] = static_cast<std::int64_t>(view.shape.size());
      types[tensor] = static_cast<std::int32_t>(view.type);
      ++tensor;
    }
    return Status();
  });
}

// ------------------------------------------------------------------------------- backward

std::int32_t tensorcast_session_backward(tensorcast_session* session, tensorcast_executor* executor,
                                         const tensorcast_interrupt* interrupt) {
  return c::WithHandle(session, "session", [&](tensorcast_session& handle, std::string* text) {
    return handle.session.Backward(c::RunOf<GraphRun>(executor, interrupt), text);
  });
}

std::int32_t tensorcast_session_gradient_size(const tensorcast_session* session, std::int64_t index,
                                              const char* name, std::int32_t* has_gradient,
                                              std::int32_t* type, std::uint64_t* rank,
                                              std::uint64_t* elements, std::uint64_t* bytes) {
  c::Clear(has_gradient, type, rank, elements, bytes);
  return c::WithHandle(
      session, "session", [&](const tensorcast_session& handle, std::string* text) {
        c::CheckGiven(has_gradient, "has_gradient");
        bool has = false;
        TensorView view;
        c::Check(handle.session.Gradient(c::PortOf(index, name), &has, &view, text), text);
        if (!has) return Status();
        *has_gradient = 1;
        c::Give(static_cast<std::int32_t>(view.type), type);
        c::Give<std::uint64_t>(view.shape.size(), rank);
        c::Give(c::ElementsOf(view.shape), elements);
        c::Give<std::uint64_t>(view.data.size(), bytes);
        return Status();
      });
}

std::int32_t tensorcast_session_copy_gradient(const tensorcast_session* session, std::int64_t index,
                                              const char* name, void* bytes,
                                              std::uint64_t bytes_size, std::int64_t* shape,
                                              std::uint64_t shape_count) {
  return c::WithHandle(
      session, "session", [&](const tensorcast_session& handle, std::string* text) {
        c::CheckBytes(bytes, bytes_size, "bytes");
        c::CheckTable(shape, shape_count, "shape");
        bool has = false;
        TensorView view;
        c::Check(handle.session.Gradient(c::PortOf(index, name), &has, &view, text), text);
        if (!has) {
          c::Refuse(StatusCode::kBadInput,
                    "no gradient reaches this input; ask tensorcast_session_gradient_size before");
        }
        c::CheckRoom(bytes_size, view.data.size(), "bytes");
        c::CheckRoom(shape_count, view.shape.size(), "shape");
        if (!view.data.empty()) std::memmove(bytes, view.data.data(), view.data.size());
        c::CopyShape(view.shape, shape);
        return Status();
      });
}

// ----------------------------------------------------------------------- profile, summary

std::int32_t tensorcast_session_profile(const tensorcast_session* session, double* numbers,
                                        std::uint64_t capacity, std::uint64_t* nodes) {
  c::Clear(nodes);
  return c::WithHandle(session, "session", [&](const tensorcast_session& handle, std::string*) {
    c::CheckGiven(nodes, "nodes");
    c::CheckTable(numbers, capacity, "numbers");
    *nodes = handle.profile.size();
    if (capacity == 0) return Status();
    c::CheckRoom(capacity, 3 * handle.profile.size(), "numbers");
    std::size_t at = 0;
    for (const NodeProfile& node : handle.profile) {
      numbers[at++] = node.seconds;
      numbers[at++] = static_cast<double>(node.bytes_read);
      numbers[at++] = static_cast<double>(node.bytes_written);
    }
    return Status();
  });
}

std::int32_t tensorcast_session_profile_node(const tensorcast_session* session, std::uint64_t index,
                                             char* buffer, std::uint64_t buffer_bytes,
                                             std::uint64_t* needed) {
  c::Clear(needed);
  return c::WithHandle(session, "session", [&](const tensorcast_session& handle, std::string*) {
    if (index >= handle.profile.size()) {
      c::Refuse(StatusCode::kNoSuchIndex, "the profile has no node " + std::to_string(index) +
                                              "; it has " + std::to_string(handle.profile.size()));
    }
    return c::GiveText(handle.profile[c::Size(index)].node, buffer, buffer_bytes, needed);
  });
}

std::int32_t tensorcast_graph_summary(const tensorcast_graph* graph,
                                      const tensorcast_session* session, std::int32_t format,
                                      char* buffer, std::uint64_t buffer_bytes,
                                      std::uint64_t* needed) {
  c::Clear(needed);
  return c::WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string*) {
    const auto kind = c::Truth(format, "format") ? SummaryFormat::kCsv : SummaryFormat::kText;
    std::span<const NodeProfile> last_run;
    if (session != nullptr) {
      if (session->graph != c::SerialOf(handle.graph)) {
        c::Refuse(StatusCode::kBadInput,
                  "the session is of another graph than the summary; give one that was made of "
                  "this graph, or null");
      }
      last_run = session->profile;
    }
    return c::GiveText(handle.graph.Summary(kind, last_run), buffer, buffer_bytes, needed);
  });
}
