// Casts go between the memories of arrays, in numpy's layout, where a narrow element takes a byte,
// or packed as the library packs.
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
  DataType from = DataType::kUndefined;  // this and `to` are of fixed width
  DataType to = DataType::kUndefined;
  CastOptions options;
  bool source_is_packed = false;
  bool result_is_packed = false;
  std::optional<std::size_t> threads;  // by default one, or all where they pay
  LossMeter* loss = nullptr;
};

// Casts n elements. The caller holds the GIL, which is given back while many are cast. The memories
// are large enough, and are the same or do not overlap. Raises the library's errors, and what a
// handler of a signal raises.
void CastElements(const CastRequest& request, std::span<const std::byte> source,
                  std::span<std::byte> result, std::uint64_t n);

// Casts by a plan that is bound; it needs no GIL. Narrow elements that are not packed go through
// a packed piece at a time; where the plan's source is an integer of eight bits in the place of a
// narrow one, through a piece of those.
Status RunPieces(const CastPlan& plan, const CastRequest& request,
                 std::span<const std::byte> source, std::span<std::byte> result, std::uint64_t n,
                 const RunOptions& options);

// Raises where an array of so many bytes does not hold n elements, or the type has no fixed width.
void CheckRoom(DataType type, bool is_packed, std::uint64_t n, std::size_t bytes);

// Sets an option whose values are words; raises where the word is none of them.
void SetWord(CastOption option, std::string_view word, CastOptions* options);
// Gives the option of a name, where one has it.
std::optional<CastOption> OptionNamed(PyObject* name);
// Raises where the option has no such value.
void SetOption(CastOption option, PyObject* value, CastOptions* options);
CastOptions OptionsOf(const nanobind::dict& options);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_CAST_H_
