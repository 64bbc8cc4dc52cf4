// External data: values of a model's tensors in other files. What a model names is checked on the
// file that was opened, not on the text: only regular files under the model's directory are read.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_PROTOBUF_EXTERNAL_DATA_H_
#define TENSORCAST_SRC_PROTOBUF_EXTERNAL_DATA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "files/byte_source.h"
#include "protobuf/tensor_proto_message.h"

namespace tensorcast::protobuf {

// The entries of TensorProto.external_data, parsed. `checksum` (SHA-1) is passed over.
struct ExternalData {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

// Parses the entries of a message whose is_external is true. Throws Error where location is
// missing, offset or length is no number, or a key stands twice. Unknown keys are passed over.
ExternalData ParseExternalData(const files::ByteSource& source, const TensorProtoMessage& message);

// The data files of one model, for any number of threads at once.
class ExternalFiles {
 public:
  // `model_path` is the model's, as the user gave it.
  ExternalFiles(std::string model_path, bool allow_hard_links);

  // The file at `location`. Throws Error: kContents where the location is empty, absolute, has a
  // ".." or leads out of the model's directory and of the directory of the model's own resolved
  // path, to a device or FIFO, which is not opened, or to a file with hard links where these are
  // not allowed; kSystem where it is missing or cannot be
  // read.
  const files::ByteSource& Open(const std::string& tensor, const std::string& location);

  // The files opened so far, by location, when no other thread opens any.
  const std::map<std::string, std::unique_ptr<files::ByteSource>>& files() const { return files_; }
  // The size of them all.
  std::uint64_t bytes() const;

 private:
  std::string model_path_;
  bool allow_hard_links_;
  std::mutex mutex_;  // for files_, whose elements stay where they are
  std::map<std::string, std::unique_ptr<files::ByteSource>> files_;  // by location
};

// Where the values of a tensor lie in a data file.
struct ExternalRange {
  const files::ByteSource* file = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

// Finds the values of a tensor whose is_external is true. `bytes`: of its dense form, or nothing of
// a type that is not ours; then the file says. Throws Error as Open,
// and kContents for strings, for values in the model too, for a length that is not `bytes` and for
// a range beyond the file's end.
ExternalRange FindExternalValues(ExternalFiles& files, const files::ByteSource& source,
                                 const TensorProtoMessage& message,
                                 std::optional<std::uint64_t> bytes);

}  // namespace tensorcast::protobuf

#endif  // TENSORCAST_SRC_PROTOBUF_EXTERNAL_DATA_H_
