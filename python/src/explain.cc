// One value in one type, as a dict of exact texts and codes.
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
#include "text/error_text.h"
#include "text_objects.h"

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

nb::dict ExplanationDict(const Explanation& e) {
  const auto number = [](std::uint64_t code) { return nb::int_(code); };
  const auto exact = [](const ExactDecimal& value) { return ToStr(value.Text()); };
  const auto name = [](Loss loss) { return ToStr(LossName(loss)); };
  nb::dict fields;
  fields["to_type"] = ToStr(TypeName(e.to));
  fields["code"] = CodeOrText(e.to, e.result);
  fields["value"] = ToStr(e.value.Text());
  fields["loss"] = OrNone(e.loss, name);
  fields["to_subnormal"] = e.to_subnormal;
  fields["zero_sign_lost"] = e.zero_sign_lost;
  fields["undefined"] = e.undefined;
  fields["below"] = OrNone(e.below, number);
  fields["above"] = OrNone(e.above, number);
  fields["ulp"] = OrNone(e.ulp, [](double ulp) { return nb::float_(ulp); });
  fields["error"] = OrNone(e.error, exact);
  fields["relative_error"] = OrNone(e.relative_error, exact);
  fields["error_in_ulps"] = OrNone(e.error_in_ulps, exact);
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
  fields["others"] = others;
  return fields;
}

}  // namespace

void BindExplain(nb::module_& m) {
  m.def("explain_text", [](const nb::str& text, int to, const nb::dict& options) {
    const std::string utf8 = FromStr(text);
    const Explanation e = Explain(utf8, static_cast<DataType>(to), OptionsOf(options));
    const Status status = e.result.status;
    if (status.code() == StatusCode::kNotANumber || status.code() == StatusCode::kNotAnInteger) {
      RaiseStatus(status,
                  text::Quoted(utf8) + " is " + std::string(text::UnparsedText(status.code())));
    }
    Check(status);
    return ExplanationDict(e);
  });
  m.def("explain_code", [](int from, std::uint64_t code, int to, const nb::dict& options) {
    const Explanation e =
        Explain(static_cast<DataType>(from), code, static_cast<DataType>(to), OptionsOf(options));
    Check(e.result.status);
    return ExplanationDict(e);
  });
}

}  // namespace tensorcast::python
