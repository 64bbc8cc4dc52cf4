// The form is told by the ending, as that of all files.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/report_file.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "files/error.h"
#include "files/system.h"
#include "files/text_output.h"
#include "shell/process.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

// Whether a file stands at `path`, in the directory or below it.
bool StandsIn(const std::filesystem::path& path, const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) return false;
  const std::filesystem::path whole = std::filesystem::canonical(path, error);
  if (error) return false;
  const std::filesystem::path inside =
      whole.lexically_relative(std::filesystem::canonical(directory, error));
  return !error && !inside.empty() && *inside.begin() != "..";
}

}  // namespace

ReportFile::ReportFile(const std::string& path, bool overwrite, std::vector<std::string> inputs,
                       const std::string& output)
    : path_(path), create_{.overwrite = overwrite, .inputs = std::move(inputs)} {
  if (path_.empty()) return;
  const std::string ending = std::filesystem::path(path_).extension().string();
  if (ending == ".html") {
    form_ = Form::kPage;
  } else if (ending == ".json") {
    form_ = Form::kJson;
  } else if (ending == ".csv") {
    form_ = Form::kCsv;
  } else {
    throw Error(
        ErrorKind::kArguments,
        fmt::format("--report: '{}' has to end in .html, .json or .csv", words::EscapeName(path_)));
  }
  if (std::filesystem::path(path_).lexically_normal() ==
      std::filesystem::path(output).lexically_normal()) {
    throw Error(ErrorKind::kArguments, "--report names the output; give the report its own file");
  }
  for (const std::string& input : create_.inputs) {
    if (!StandsIn(path_, input)) continue;
    throw Error(ErrorKind::kArguments,
                fmt::format("--report: {} is a file of the input; give the report another name",
                            words::PathText(path_)));
  }
  files::CheckOutput(path_, 0, create_);
}

void ReportFile::Write(const RunReport& report, bool is_quiet) const {
  if (path_.empty()) return;
  CatchInterrupts();  // it is written to its end: a temporary file must not be left
  files::TextOutput file(path_, 0, create_);
  const TakeText take = [&](std::string_view piece) { file.Add(piece); };
  switch (form_) {
    case Form::kPage: PrintReportPage(report, take); break;
    case Form::kJson: report.print_json(take); break;
    case Form::kCsv: PrintReportCsv(report, take); break;
  }
  file.Commit();
  if (is_quiet) return;
  FlushPrinted();
  Say(fmt::format(" wrote {}, the report\n", words::PathText(path_)));
}

}  // namespace tensorcast::tool
