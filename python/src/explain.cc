// `explain` works out here what one value becomes in one type, in exact texts and codes.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/explain.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>

#include "bindings.h"
#include "cast.h"
#include "errors.h"
#include "text_objects.h"
#include "words/error_text.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

template <class T, class Say> nb::object OrNone(const std::optional<T>& value, const Say& say) {
  return value ? nb::object(say(*value)) : nb::none();
}

nb::object CodeOrText(DataType to, const CastResult& result) {
  if (to == DataType::kString) return ToStr(result.text);
  return nb::int_(result.code);
}

// Gives the fields of the package's Explanation, in their order.
nb::tuple ExplanationTuple(const Explanation& e) {
  const auto number = [](auto value) { return nb::cast(value); };
  const auto exact = [](const ExactDecimal& value) { return ToStr(value.Text()); };
  const auto name = [](Loss loss) { return ToStr(LossName(loss)); };
  nb::list others;
  for (const OtherResult& other : e.others) {
    if (!other.result.status.ok()) continue;
    nb::dict said;
    said["option"] = ToStr(CastOptionName(other.option));
    said["value"] = ToStr(CastOptionValue(other.option, other.options));
    said["code"] = CodeOrText(e.to, other.result);
    said["loss"] = OrNone(other.loss, name);
    others.append(said);
  }
  return nb::make_tuple(ToStr(TypeName(e.to)), CodeOrText(e.to, e.result), ToStr(e.value.Text()),
                        OrNone(e.loss, name), e.to_subnormal, e.zero_sign_lost, e.undefined,
                        OrNone(e.below, number), OrNone(e.above, number), OrNone(e.ulp, number),
                        OrNone(e.error, exact), OrNone(e.relative_error, exact),
                        OrNone(e.error_in_ulps, exact), others);
}

}  // namespace

void BindExplain(nb::module_& m) {
  m.def("explain_text", [](const nb::str& text, int to, const nb::dict& options) {
    const std::string utf8 = FromStr(text);
    const Explanation e = Explain(utf8, static_cast<DataType>(to), OptionsOf(options));
    const Status status = e.result.status;
    if (status.code() == StatusCode::kNotANumber || status.code() == StatusCode::kNotAnInteger) {
      RaiseStatus(status,
                  words::Quoted(utf8) + " is " + std::string(words::UnparsedText(status.code())));
    }
    Check(status);
    return ExplanationTuple(e);
  });
  m.def("explain_code", [](int from, std::uint64_t code, int to, const nb::dict& options) {
    const Explanation e =
        Explain(static_cast<DataType>(from), code, static_cast<DataType>(to), OptionsOf(options));
    Check(e.result.status);
    return ExplanationTuple(e);
  });
}

}  // namespace tensorcast::python
