// The exponents of arrays are counted here, as the library counts those of files.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/exponents.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "cast.h"
#include "errors.h"
#include "tensorcast/tensorcast.hpp"
#include "text_objects.h"
#include "threads.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

constexpr std::uint64_t kCountedAtOnce = std::uint64_t{1} << 20;  // elements

// Adds the n elements of a dense array's memory, in which a narrow one takes a byte if not packed.
void AddExponents(convert::ExponentCounts& counts, nb::handle source, int number, std::uint64_t n,
                  bool is_packed) {
  const auto type = static_cast<DataType>(number);
  const std::span<const std::byte> read = python::BytesOf(DenseArgument(source, "source"));
  CheckRoom(type, is_packed, n, read.size());
  const TypeInfo& row = *FindType(type);
  const bool packs = row.is_packed() && !is_packed;
  Status status;
  RunWork(read.size(), [&](const std::atomic<bool>& interrupted) {
    std::vector<std::byte> packed;
    for (std::uint64_t first = 0; first < n && status.ok() && !interrupted;
         first += kCountedAtOnce) {
      const std::uint64_t count = std::min(kCountedAtOnce, n - first);
      std::span<const std::byte> piece;
      if (packs) {
        packed.resize(*StorageBytes(type, count));
        status = Pack(type, read.subspan(first, count), packed, 0, count);
        piece = packed;
      } else {
        piece = read.subspan(*StorageBytes(type, first), *StorageBytes(type, count));
      }
      convert::CountExponents(row, piece, count, counts);
    }
  });
  Check(status);
}

}  // namespace

void BindExponents(nb::module_& m) {
  nb::class_<convert::ExponentCounts>(m, "ExponentCounts")
      .def(nb::init<>())
      .def("add", &AddExponents, nb::arg("source"), nb::arg("number"), nb::arg("n"),
           nb::arg("is_packed"))
      .def("figures", [](const convert::ExponentCounts& self) {
        return nb::make_tuple(self.sampled, self.zeros, self.not_finite, self.first,
                              nb::tuple(ListOf(self.counts, std::identity())));
      });
  // How many of the counts a type makes zero, makes subnormal, and finds beyond its range.
  m.def(
      "zones_of",
      [](int number, int first, const nb::tuple& given) {
        convert::ExponentCounts counts;
        counts.first = first;
        for (const nb::handle n : given) counts.counts.push_back(nb::cast<std::uint64_t>(n));
        const convert::ZoneCounts zones = convert::ZonesOf(static_cast<DataType>(number), counts);
        return nb::make_tuple(zones.to_zero, zones.to_subnormal, zones.beyond);
      },
      nb::arg("number"), nb::arg("first"), nb::arg("counts"));
  // Where a type's zones end: below the first is zero, below the second what is subnormal.
  m.def(
      "window_of",
      [](int number) {
        const auto type = static_cast<DataType>(number);
        const TypeLimits limits = LimitsOf(type);
        return nb::make_tuple(convert::ZeroBelow(type), limits.least_normal, limits.greatest);
      },
      nb::arg("number"));
  m.attr("histogram_types") = nb::tuple(ListOf(convert::kHistogramTypes, TypeOrNone));
}

}  // namespace tensorcast::python
