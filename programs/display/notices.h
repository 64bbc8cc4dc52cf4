// What the user should know besides the figures: it goes to stderr, and stays in the report.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_NOTICES_H_
#define TENSORCAST_PROGRAMS_DISPLAY_NOTICES_H_

#include <span>
#include <string>

namespace tensorcast::tool {

class JsonPrinter;
struct RunReport;

struct Notice {
  std::string text;
  bool is_warning = false;
};

void Say(std::span<const Notice> notices);
// The member "notes", where there are any.
void PrintNotices(std::span<const Notice> notices, JsonPrinter& json);
void AddNotices(std::span<const Notice> notices, RunReport& report);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_NOTICES_H_
