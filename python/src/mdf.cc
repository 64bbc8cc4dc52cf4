// Models of MDF in files: told, read as graphs, written.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/mdf.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>
#include <utility>

#include "bindings.h"
#include "errors.h"
#include "tensorcast/graph.hpp"
#include "text_objects.h"

namespace nb = nanobind;

namespace tensorcast::python {

void BindMdf(nb::module_& m) {
  m.def(
      "is_mdf_file", [](nb::handle path) { return mdf::IsModelFile(FromStr(path)); },
      nb::arg("path"));
  m.def(
      "load_mdf",
      [](nb::handle path, const nb::dict& input_types, std::optional<int> other_inputs) {
        mdf::LoadOptions options;
        for (const auto [name, number] : input_types) {
          options.input_types[FromStr(name)] = static_cast<DataType>(nb::cast<int>(number));
        }
        if (other_inputs) options.other_inputs = static_cast<DataType>(*other_inputs);
        Graph graph;
        std::string error;
        Check(mdf::Load(FromStr(path), options, &graph, &error), error);
        return graph;
      },
      nb::arg("path"), nb::arg("input_types"), nb::arg("other_inputs").none());
  m.def(
      "save_mdf",
      [](const Graph& graph, nb::handle path, bool overwrite) {
        std::string error;
        Check(mdf::Save(graph, FromStr(path), {.overwrite = overwrite}, &error), error);
      },
      nb::arg("graph"), nb::arg("path"), nb::arg("overwrite"));
}

}  // namespace tensorcast::python
