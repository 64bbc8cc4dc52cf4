// Which names a pattern matches, and which one a name that matches nothing was probably meant to
// be.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings.h"
#include "convert/matching.h"
#include "naming/tensor_pattern.h"
#include "text_objects.h"
#include "words/nearest_names.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// Says which tensors, each (name, type, dimensions, elements), match a pattern of names.
nb::list Matches(nb::handle pattern, const nb::list& tensors) {
  const naming::TensorPattern asked(FromStr(pattern));
  nb::list matches;
  for (const nb::handle one : tensors) {
    const std::string name = FromStr(one[0]);
    naming::PatternSubject subject;
    subject.name = name;
    subject.type = static_cast<DataType>(nb::cast<int>(one[1]));
    subject.rank = nb::cast<std::uint64_t>(one[2]);
    subject.values = nb::cast<std::uint64_t>(one[3]);
    matches.append(asked.Matches(subject));
  }
  return matches;
}

// Gives the bytes of what may be no name at all: '?' stands for halves of surrogate pairs.
std::string Asked(nb::handle name) {
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(name.ptr(), "utf-8", "replace"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {nb::borrow<nb::bytes>(bytes).c_str(), nb::borrow<nb::bytes>(bytes).size()};
}

std::vector<std::string> NamesOf(nb::handle names) {
  std::vector<std::string> all;
  for (const nb::handle name : names) all.push_back(FromStr(name));
  return all;
}

}  // namespace

void BindNames(nb::module_& m) {
  m.def("matches", &Matches, nb::arg("pattern"), nb::arg("tensors"));
  // Both give "; did you mean NAME?", or an empty text if none is near.
  m.def(
      "meant_name",
      [](nb::handle name, nb::handle names) {
        return ToStr(words::DidYouMean(NamesOf(names), Asked(name)));
      },
      nb::arg("name"), nb::arg("names"));
  m.def(
      "meant_pattern",
      [](nb::handle pattern, nb::handle names) {
        return ToStr(convert::MeantText(FromStr(pattern), NamesOf(names)));
      },
      nb::arg("pattern"), nb::arg("names"));
}

}  // namespace tensorcast::python
