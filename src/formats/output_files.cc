// All are synced first, so that what can fail at the end is only a name.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/output_files.h"

#include <cstddef>
#include <new>
#include <string>

#include "files/error.h"

namespace tensorcast::formats {

using files::Error;

namespace {

// What an error at the file with that index, which is not the first, does not undo.
std::string WrittenBefore(const OutputFiles& files, std::size_t i) {
  return "; written before it, and complete: " + words::PathText(files.front().first) +
         (i == 1 ? "" : " to " + words::PathText(files[i - 1].first)) +
         "; the others are as they were";
}

}  // namespace

void CommitAll(const OutputFiles& files, const std::atomic<bool>* interrupted,
               files::StagingDirectory* staging) {
  for (const auto& [path, writer] : files) {
    files::StopIfInterrupted(interrupted);
    writer->Sync();
  }
  if (staging != nullptr) staging->Sync();
  files::StopIfInterrupted(interrupted);
  for (std::size_t i = 0; i < files.size(); ++i) {
    try {
      files[i].second->Commit();
    } catch (const Error& error) {
      if (i == 0) throw;
      throw Error(error.kind(), error.what() + WrittenBefore(files, i), Remedy::kNone,
                  error.subject(), error.system_error());
    } catch (const std::bad_alloc&) {
      if (i == 0) throw;
      throw Error(core::ErrorKind::kSystem, "out of memory" + WrittenBefore(files, i),
                  files[i].first);
    }
  }
  if (staging != nullptr && !files.empty()) staging->SyncNames(files.front().first);
}

}  // namespace tensorcast::formats
