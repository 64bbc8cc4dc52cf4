// The data files that stand beside a model: how they are named, and which of them may go when the
// model is replaced.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_STORE_DATA_FILES_H_
#define TENSORCAST_SRC_ONNX_STORE_DATA_FILES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/store/data_journal.h"

namespace tensorcast::onnx {

// "m.onnx" has its data in "m.onnx.data" or, where that name is taken, in "m.<digest>.onnx.data":
// the XXH64 of that data, so that no data file is ever replaced.
inline constexpr std::size_t kDigestDigits = 16;
std::string DataName(std::string_view model);
std::string DataName(std::string_view model, std::string_view digest);
// Whether `name` is one of the two, with any digest.
bool IsDataName(std::string_view name, std::string_view model);

// What was done with files that no model needs, as lines to say.
struct DataRemoval {
  std::vector<std::string> notes;
  std::vector<JournaledFile> failed;  // what the system did not let be removed
};

// The data files, named as above, that no model needs once the one under a path is replaced: its
// own, and those with a digest that runs which were killed have left.
class ReplacedData {
 public:
  // Looks at that model, and beside it. Of the model nothing is found where there is none, where it
  // cannot be read, and where it has other names: then it lives on.
  explicit ReplacedData(const std::string& path);

  // The model's own, by their names in its directory.
  const std::vector<std::string>& names() const { return names_; }

  // Called when the model is replaced. Removes each that no model of its directory names any more,
  // and that is none of `kept`; one that is left must have the digest of its name. Says which stay.
  // `is_interrupted`: nothing more is read.
  DataRemoval Remove(const std::vector<std::string>& kept,
                     const std::function<bool()>& is_interrupted) const;

 private:
  std::string directory_;
  std::string model_;  // its name there
  std::vector<std::string> names_;
  std::vector<std::string> left_;  // with a digest, and not the model's
  bool has_plain_ = false;         // a file of the name without one, not the model's either
  std::string note_;               // why it could not be accessed
};

// Removes what the journals of killed runs of a model name (onnx/data_journal.h), but for what is
// one of `kept`, what a model of the directory may need, and what is not named as above.
DataRemoval RemoveJournaledData(const std::string& path, const std::vector<std::string>& kept);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_STORE_DATA_FILES_H_
