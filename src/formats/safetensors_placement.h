// Where the tensors of a safetensors file that is written stand, and the header that says so.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_SAFETENSORS_PLACEMENT_H_
#define TENSORCAST_SRC_FORMATS_SAFETENSORS_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/failure.h"
#include "formats/tensor_info.h"

namespace tensorcast::formats {

struct SafetensorsPlacement {
  std::vector<std::uint32_t> order;    // of the tensors in the file
  std::uint64_t header_bytes = 0;      // length, JSON and padding
  std::vector<std::uint64_t> offsets;  // of each tensor's data in the file, as given
  std::uint64_t file_bytes = 0;
  bool any_packed = false;
};

enum class SafetensorsOrder {
  kUsual,    // widest dtype first, then by name, as the reference library writes
  kAsGiven,  // wide elements may then stand at any byte
};

// Keeps references to what it is made of.
class SafetensorsPlacer {
 public:
  SafetensorsPlacer(const std::string& path, const FileContents& contents,
                    SafetensorsOrder order = SafetensorsOrder::kUsual)
      : path_(path), contents_(contents), order_(order) {}

  // Throws Error where a safetensors file cannot hold the tensors.
  SafetensorsPlacement Place();

  // Gives the header of what Place has placed, piece by piece.
  void GiveHeader(const SafetensorsPlacement& placement,
                  const std::function<void(std::string_view piece)>& take) const;

 private:
  // How one tensor is stored.
  struct Stored {
    std::size_t rank = 0;  // of its dtype in the table; past its end: a dtype that is not in it
    std::uint64_t bytes = 0;
    bool packed = false;  // as U8, its type in __metadata__
  };

  [[noreturn]] void Fail(const TensorInfo& info, core::ErrorKind kind,
                         const std::string& why) const;
  [[noreturn]] void TooLarge() const;
  Stored Store(const TensorInfo& info);
  std::vector<std::uint32_t> Order() const;
  std::string Utf8Json(const std::string& text) const;
  void GivePieces(const SafetensorsPlacement& placement,
                  const std::function<void(std::string_view piece)>& take) const;
  std::string Metadata(const SafetensorsPlacement& placement) const;
  std::string Entry(std::uint32_t i, std::uint64_t begin) const;

  const std::string& path_;
  const FileContents& contents_;
  const SafetensorsOrder order_;
  std::vector<Stored> stored_;  // as the contents' tensors
  std::uint64_t total_ = 0;
};

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_SAFETENSORS_PLACEMENT_H_
