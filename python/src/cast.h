// Casts between the memories of arrays: numpy's layout, in which a narrow element takes a byte, or
// packed as the library packs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_CAST_H_
#define TENSORCAST_PYTHON_CAST_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensorcast/explain.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

struct CastRequest {
  DataType from = DataType::kUndefined;  // of fixed width, as `to`
  DataType to = DataType::kUndefined;
  CastOptions options;
  bool source_is_packed = false;
  bool result_is_packed = false;
  std::optional<std::size_t> threads;  // none: one, or all where they pay
  LossMeter* loss = nullptr;
};

// Casts n elements; with the GIL, which is given back while many are cast. The memories hold them,
// and are the same or do not overlap. Raises the library's errors, and what a handler of a signal
// raises.
void CastElements(const CastRequest& request, std::span<const std::byte> source,
                  std::span<std::byte> result, std::uint64_t n);

// The same by a plan that is bound, without the GIL. Narrow elements that are not packed go through
// a packed piece at a time.
Status RunPieces(const CastPlan& plan, const CastRequest& request,
                 std::span<const std::byte> source, std::span<std::byte> result, std::uint64_t n,
                 const RunOptions& options);

// Raises where an array of so many bytes does not hold n elements, or the type has no fixed width.
void CheckRoom(DataType type, bool is_packed, std::uint64_t n, std::size_t bytes);

// Sets an option that words name; raises where the word is none of its.
void SetWord(CastOption option, std::string_view word, CastOptions* options);
// Sets one option by its name; false where the name is none. Raises where the value is none of the
// option's.
bool SetOption(PyObject* name, PyObject* value, CastOptions* options);
CastOptions OptionsOf(const nanobind::dict& options);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_CAST_H_
