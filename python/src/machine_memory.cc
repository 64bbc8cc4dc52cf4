// Linux's files are read: a line of /proc/self/cgroup names the group of a hierarchy, whose folder,
// and each above it, may have a limit.
//
// SPDX-License-Identifier: Apache-2.0
#include "machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

#include "system_text.h"

namespace tensorcast::python {
namespace {

// Gives the least limit of a group and of those that it is in. "max", which is none, is no number;
// nor is there a file where a container does not see the group, but only its own root.
std::uint64_t LeastLimit(const std::string& root, std::string group, const char* name) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (;;) {
    const std::string text = SystemText((root + group + "/" + name).c_str());
    std::uint64_t limit = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), limit).ec == std::errc()) {
      least = std::min(least, limit);
    }
    if (group.empty()) return least;
    group.resize(std::min(group.rfind('/'), group.size() - 1));
  }
}

// "0::/a/b" is the group of version 2, "4:cpu,memory:/a/b" that of version 1's memory.
std::uint64_t LimitOfGroups() {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  const std::string groups = SystemText("/proc/self/cgroup");
  for (std::size_t begin = 0, end; begin < groups.size(); begin = end + 1) {
    end = std::min(groups.find('\n', begin), groups.size());
    const std::string line = groups.substr(begin, end - begin);
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first, second - first + 1);
    controllers.front() = controllers.back() = ',';
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, LeastLimit("/sys/fs/cgroup", group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, LeastLimit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace

std::size_t MachineMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const std::uint64_t machine =
      pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                            : 0;
  return static_cast<std::size_t>(std::min(machine, LimitOfGroups()));
}

}  // namespace tensorcast::python
