// The page's own text, made of the files in display/page when the tool is built.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_REPORT_PAGE_H_
#define TENSORCAST_PROGRAMS_DISPLAY_REPORT_PAGE_H_

#include <string_view>

namespace tensorcast::tool {

// The page before what it shows, and behind it.
extern const std::string_view kPageHead;
extern const std::string_view kPageTail;

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_REPORT_PAGE_H_
