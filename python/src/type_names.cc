// Names of C++ types stay as the compiler writes them. nanobind and the C++ library make them
// readable for errors about types that were never bound, of which there are none here; what does it
// is a hundredth of the wheel.
//
// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>

#include <cstddef>

// In the place of the C++ library's, for this extension alone, which exports no name of it.
extern "C" char* __cxa_demangle(const char* /*name*/, char* /*buffer*/, std::size_t* /*size*/,
                                int* status) {
  constexpr int kNoName = -2;
  if (status != nullptr) *status = kNoName;
  return nullptr;
}
