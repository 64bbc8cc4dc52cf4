// A session runs a graph or a model, forward and backward.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/session.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "tensors.h"
#include "text_objects.h"
#include "threads.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

nb::dict ProfileDict(const NodeProfile& profile) {
  nb::dict fields;
  fields["node"] = ToStr(profile.node);
  fields["op_type"] = ToStr(profile.op_type);
  fields["from_type"] = ToStr(TypeName(profile.from));
  fields["to_type"] = ToStr(TypeName(profile.to));
  fields["seconds"] = profile.seconds;
  fields["bytes_read"] = profile.bytes_read;
  fields["bytes_written"] = profile.bytes_written;
  return fields;
}

// Gives the fields of the package's ValueInfo, in their order.
nb::tuple InfoTuple(const ValueInfo& info) {
  const auto size_of = [](const std::optional<std::uint64_t>& size) {
    return size ? nb::object(nb::int_(*size)) : nb::none();
  };
  return nb::make_tuple(
      ToStr(info.name), ToStr(TypeName(info.type)),
      info.has_shape ? nb::object(nb::tuple(ListOf(info.shape, size_of))) : nb::none(),
      info.has_default);
}

// A run is given its tensors as a tuple for each, or None.
struct HeldTensors {
  explicit HeldTensors(nb::handle tuples) {
    for (const nb::handle one : tuples) {
      held.push_back(one.is_none() ? HeldTensor() : HeldTensor(one));
      bytes += held.back().bytes();
    }
  }

  std::vector<HeldTensor> held;
  std::uint64_t bytes = 0;
};

// A session reads the arrays that are bound to its inputs until others are bound, so it holds them.
class HeldSession {
 public:
  HeldSession(const Graph& graph, bool backward, bool wide, bool gives_zeros) {
    SessionOptions options;
    options.backward = backward;
    options.differentiable = wide ? Differentiable::kWide : Differentiable::kUsual;
    options.gives_zeros = gives_zeros;
    session_ = Made<Session>(&Session::Create, graph, options);
    inputs_.resize(session_.inputs().size());
  }

  // `source` is a path (str) or a ModelProto (bytes).
  HeldSession(nb::handle source, const onnx::LoadOptions& options) {
    std::string error;
    Status status;
    const auto bytes = ModelBytes(source);
    const std::string path = bytes ? "" : FromStr(source);
    {
      const WithoutGil without_gil;
      status = bytes ? Session::Parse(*bytes, options, &session_, &error)
                     : Session::Load(path, options, &session_, &error);
    }
    Check(status, error);
    inputs_.resize(session_.inputs().size());
  }

  const Session& session() const { return session_; }

  // Takes one tuple for each input, or None; gives the outputs, and what each node took. Any number
  // of threads may run all outputs (None) at once; a run by their indices binds what it is given,
  // and is for one thread at a time.
  nb::tuple Run(nb::handle inputs, nb::handle outputs, std::optional<std::size_t> asked,
                bool profiles) {
    auto [held, bytes] = HeldTensors(inputs);
    std::vector<TensorView> views;
    views.reserve(held.size());
    for (const HeldTensor& tensor : held) views.push_back(tensor.view());
    const bool is_bound = !outputs.is_none();
    if (is_bound && held.size() != inputs_.size()) {
      Raise(ErrorClass::kValue, "a run has one tensor for each input");
    }
    std::string error;
    for (std::size_t i = 0; is_bound && i < held.size(); ++i) {
      Check(session_.BindInput(i, views[i], &error), error);
      std::swap(inputs_[i], held[i]);  // the memory that is viewed stays where it is
    }
    std::vector<Port> wanted;
    if (is_bound) {
      for (const nb::handle output : outputs) wanted.emplace_back(nb::cast<std::size_t>(output));
      Check(session_.SelectOutputs(wanted, &error), error);
    }
    SessionResults made;
    std::vector<NodeProfile> profile;
    Status status;
    RunWith<GraphRun>(asked, bytes, [&](GraphRun& run) {
      if (profiles) run.profile = &profile;
      status = is_bound ? session_.Run(run, &error) : session_.Run(views, run, &made, &error);
    });
    Check(status, error);
    nb::list results = ListOf(wanted, [&](const Port& output) {
      return ArrayOf(Made<TensorView>(&Session::Output, session_, output));
    });
    for (std::size_t i = 0; i < made.size(); ++i) results.append(ArrayOf(made[i]));
    return nb::make_tuple(results, ListOf(profile, ProfileDict));
  }

  // Takes one tuple for each output, or None; gives the gradients of the inputs, or None.
  nb::list Backward(nb::handle gradients, std::optional<std::size_t> asked) {
    const auto [held, bytes] = HeldTensors(gradients);
    std::string error;
    for (std::size_t i = 0; i < held.size(); ++i) {
      Check(session_.BindGradient(i, held[i].view(), &error), error);
    }
    Status status;
    RunWith<GraphRun>(asked, bytes,
                      [&](const GraphRun& run) { status = session_.Backward(run, &error); });
    nb::list results;
    for (std::size_t i = 0; status.ok() && i < inputs_.size(); ++i) {
      bool has_gradient = false;
      TensorView view;
      status = session_.Gradient(i, &has_gradient, &view, &error);
      if (status.ok()) results.append(has_gradient ? ArrayOf(view) : nb::none());
    }
    // The memory of what is bound ends here.
    std::string unbound;
    for (std::size_t i = 0; i < held.size(); ++i) {
      Check(session_.BindGradient(i, TensorView{}, &unbound), unbound);
    }
    Check(status, error);
    return results;
  }

 private:
  std::vector<HeldTensor> inputs_;
  Session session_;
};

}  // namespace

void BindSession(nb::module_& m) {
  nb::class_<HeldSession>(m, "Session")
      .def(nb::init<const Graph&, bool, bool, bool>())
      .def_static("load",
                  [](nb::handle source, bool tests, bool allow_hard_links, bool optimize) {
                    onnx::LoadOptions options;
                    if (tests) options.contradictions = onnx::Contradictions::kTests;
                    options.allow_hard_links = allow_hard_links;
                    options.optimize = optimize;
                    return std::make_unique<HeldSession>(source, options);
                  })
      .def("inputs",
           [](const HeldSession& self) { return ListOf(self.session().inputs(), InfoTuple); })
      .def("outputs",
           [](const HeldSession& self) { return ListOf(self.session().outputs(), InfoTuple); })
      .def("opset", [](const HeldSession& self) { return self.session().opset(); })
      .def("run", &HeldSession::Run, nb::arg("inputs"), nb::arg("outputs").none(),
           nb::arg("threads").none(), nb::arg("profile"))
      .def("backward", &HeldSession::Backward, nb::arg("gradients"), nb::arg("threads").none());
}

}  // namespace tensorcast::python
