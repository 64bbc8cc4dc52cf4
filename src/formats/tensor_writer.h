// What every format's writer gives.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_TENSOR_WRITER_H_
#define TENSORCAST_SRC_FORMATS_TENSOR_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor_info.h"

namespace tensorcast::formats {

// Writes one file beside its final name. Nothing stands under that name before Commit.
class TensorWriter {
 public:
  virtual ~TensorWriter() = default;  // without Commit: removes what was written
  // Writes bytes of a tensor's dense form at `offset`, as TensorReader::Read gives them. Each byte
  // is written once. Safe to call from several threads. Throws Error.
  virtual void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) = 0;
  // Writes the next strings of a tensor of type kString, in order from 0 on, not from two threads
  // at once, and tensor by tensor. The default is for formats that have no strings.
  virtual void WriteStrings(std::size_t tensor, std::uint64_t first, const Strings& texts);
  // Brings everything to its disk: what is left for Commit is the name. Of outputs that belong
  // together none gets its name before all are synced. Call after everything is written.
  void Sync();
  // Of what several processes write: brings what this one has written so far to the disk.
  virtual void SyncPart() {}
  // Syncs, where that is still to do, and gives the file its final name. Call once.
  void Commit();
  virtual std::uint64_t file_bytes() const = 0;
  // Whether a tensor's values are to be written. Those that are not stand in the file already, as
  // they were.
  virtual bool Wants(std::size_t /*tensor*/) const { return true; }
  // The file, or the directory, that is written until Commit gives it its name, where another
  // process can write parts of it; empty where it cannot.
  virtual std::string temporary() const { return {}; }
  // How another program reads what this format cannot say by itself, npy's
  // "numpy.load('x.npy')..."; lines after the first are Python code for it. Empty where nothing
  // needs saying.
  virtual std::string reading_hint() const { return {}; }
  // Something the user should know of how the file is written ("removed .x.npy... , left by a run
  // that was killed"; "__metadata__ is not kept").
  virtual std::vector<std::string> notes() const { return {}; }

 private:
  virtual void DoSync() = 0;
  virtual void DoCommit() = 0;

  bool synced_ = false;
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_TENSOR_WRITER_H_
