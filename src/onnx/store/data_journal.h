// What a run is about to do to the data files beside a model, written down before it does it: where
// the run is killed, the next one of that model knows which files were its own.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_STORE_DATA_JOURNAL_H_
#define TENSORCAST_SRC_ONNX_STORE_DATA_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "files/file_status.h"
#include "files/system.h"

namespace tensorcast::onnx {

// A file, by what stays of it when it is renamed and when the machine starts anew.
struct JournaledFile {
  std::string name;  // in the model's directory
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;

  JournaledFile() = default;
  JournaledFile(std::string file, const files::FileStatus& status)
      : name(std::move(file)), number(status.number), bytes(status.bytes) {}
  bool Is(const files::FileStatus& status) const {
    return status.kind == files::FileKind::kFile && status.number == number &&
           status.bytes == bytes;
  }
};

// A hidden file beside the model, gone when the run ends by itself.
class DataJournal {
 public:
  // On its disk when the directory is synced next. Throws files::Error.
  DataJournal(const std::string& model, const std::vector<JournaledFile>& files);

  // Leaves it to the next run: something could not be removed.
  void Leave() noexcept { file_.Leave(); }

 private:
  DataJournal(const std::string& model, const std::string& text);

  files::OutputFile file_;
};

// Calls `use` with each file in the journals that killed runs of the model left, and removes a
// journal if that was true for all of its files.
void TakeJournals(const std::string& model, const std::function<bool(const JournaledFile&)>& use);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_STORE_DATA_JOURNAL_H_
