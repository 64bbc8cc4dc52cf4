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

// Elements that are packed at once.
inline constexpr std::uint64_t kPackedAtOnce = std::uint64_t{1} << 20;

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

// Between numpy's layout and the packed one; without the GIL, for types narrower than a byte. The
// bits above a code are zero, as in the arrays that ml_dtypes makes (-1 of int4 is 0x0F), and are
// not read: its arithmetic leaves others there.
void PackElements(DataType type, std::span<const std::byte> codes, std::span<std::byte> packed,
                  std::uint64_t n);
void UnpackElements(DataType type, std::span<const std::byte> packed, std::span<std::byte> codes,
                    std::uint64_t n);

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
