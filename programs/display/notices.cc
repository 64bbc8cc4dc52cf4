// Says, prints and keeps notices.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/notices.h"

#include "display/run_report.h"
#include "display/tool_json.h"
#include "shell/streams.h"

namespace tensorcast::tool {

void Say(std::span<const Notice> notices) {
  for (const Notice& notice : notices) {
    notice.is_warning ? SayWarning(notice.text) : SayNote(notice.text);
  }
}

void PrintNotices(std::span<const Notice> notices, JsonPrinter& json) {
  if (notices.empty()) return;
  json.Array("notes", notices, [](const Notice& notice) { return Json(notice.text); });
}

void AddNotices(std::span<const Notice> notices, RunReport& report) {
  for (const Notice& notice : notices) {
    report.notes.push_back({notice.is_warning ? Tone::kPoor : Tone::kPlain, notice.text});
  }
}

}  // namespace tensorcast::tool
