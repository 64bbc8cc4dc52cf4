// How much memory this process may come to use.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_MACHINE_MEMORY_H_
#define TENSORCAST_PYTHON_MACHINE_MEMORY_H_

#include <cstddef>

namespace tensorcast::python {

// Gives the bytes of the machine's memory, or of what the control groups of a container leave of it
// to this process, if that is less; 0 if nothing says so.
std::size_t MachineMemory();

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_MACHINE_MEMORY_H_
