// The file that --report names: what it can be is looked at before the work begins, and it gets its
// name when it is complete.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_REPORT_FILE_H_
#define TENSORCAST_PROGRAMS_DISPLAY_REPORT_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "display/run_report.h"
#include "files/output_options.h"

namespace tensorcast::tool {

class ReportFile {
 public:
  // `path`: empty: no report is asked for. `inputs`: files and directories that are read, and that
  // it must not be or lie in where it replaces a file; `output`: what else is written, or empty.
  // Throws files::Error.
  ReportFile(const std::string& path, bool overwrite, std::vector<std::string> inputs,
             const std::string& output);

  bool IsAsked() const { return !path_.empty(); }
  // Whether how magnitudes lie is shown in it.
  bool HasExponents() const { return IsAsked() && form_ != Form::kCsv; }

  // Does nothing where none is asked for; else says on stderr what was written, unless it is to be
  // quiet. Throws files::Error.
  void Write(const RunReport& report, bool is_quiet) const;

 private:
  enum class Form : std::uint8_t { kPage, kJson, kCsv };

  std::string path_;
  Form form_ = Form::kPage;
  files::CreateOptions create_;
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_REPORT_FILE_H_
