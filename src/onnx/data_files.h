// The data files that stand beside a model: how they are named, and which of them may go when the
// model is replaced.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_DATA_FILES_H_
#define TENSORCAST_SRC_ONNX_DATA_FILES_H_

#include <string>
#include <string_view>
#include <vector>

namespace tensorcast::onnx {

// "m.onnx" has its data in "m.onnx.data" or, where that name is taken, in "m.<digest>.onnx.data":
// the XXH64 of that data, so that no data file is ever replaced.
inline constexpr std::size_t kDigestDigits = 16;
std::string DataName(std::string_view model);
std::string DataName(std::string_view model, std::string_view digest);
// Whether `name` is one of the two, with any digest.
bool IsDataName(std::string_view name, std::string_view model);

// The data files, named as above, of the model that stands under a path.
class ReplacedData {
 public:
  // Looks at that model. Nothing is found where there is none, where it cannot be read, and where
  // it has other names: then it lives on.
  explicit ReplacedData(const std::string& path);

  // Called when the model is replaced. Removes each that no model of its directory names any more,
  // and that is none of `kept`. Returns what to say of those that stay.
  std::vector<std::string> Remove(const std::vector<std::string>& kept) const;

 private:
  std::string directory_;
  std::vector<std::string> names_;
  std::string note_;  // why it could not be looked at
};

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_DATA_FILES_H_
