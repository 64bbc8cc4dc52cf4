// torch: what a checkpoint's pickle names, held against the file that has its storages, as a
// reader.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_TORCH_TENSORS_H_
#define TENSORCAST_SRC_FORMATS_TORCH_TENSORS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "files/byte_source.h"
#include "formats/pickle_machine.h"
#include "formats/tensor_file.h"
#include "formats/torch_objects.h"
#include "formats/zip_directory.h"

namespace tensorcast::formats {

// Where the bytes of a storage lie in the file.
struct StoragePlace {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t whole = 0;  // where that begins of which it is a part; else `begin`
};

// A file whose pickle has been run.
struct TorchFile {
  const PickleMachine& machine;
  const TorchObjects& objects;
  PickleValue top;
  // Throws Error where the file does not hold the storage.
  std::function<StoragePlace(const TorchStorage& storage)> find;
  bool is_big_endian = false;
};

OpenedTensors ReadTorchFile(std::unique_ptr<files::ByteSource> source, const TorchFile& file,
                            const OpenOptions& options);

// Whether members are those of a zip that torch.save wrote.
bool IsTorchZip(const std::vector<ZipMember>& members);
OpenedTensors OpenTorchZip(std::unique_ptr<files::ByteSource> source,
                           const std::vector<ZipMember>& members, const OpenOptions& options);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_TORCH_TENSORS_H_
