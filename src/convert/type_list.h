// The types that a tensor is cast to: one, mostly, which takes no memory of its own.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_TYPE_LIST_H_
#define TENSORCAST_SRC_CONVERT_TYPE_LIST_H_

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::convert {

class TypeList {
 public:
  TypeList() = default;
  TypeList(std::initializer_list<DataType> types) : TypeList(std::vector<DataType>(types)) {}
  TypeList(std::vector<DataType> types) {
    if (types.size() > 1) {
      many_ = std::make_shared<const std::vector<DataType>>(std::move(types));
    } else if (types.size() == 1) {
      one_ = types.front();
      has_one_ = true;
    }
  }

  bool empty() const { return size() == 0; }
  std::size_t size() const { return many_ != nullptr ? many_->size() : has_one_ ? 1 : 0; }
  const DataType* begin() const { return many_ != nullptr ? many_->data() : &one_; }
  const DataType* end() const { return begin() + size(); }
  DataType front() const { return *begin(); }
  DataType operator[](std::size_t i) const { return begin()[i]; }

 private:
  DataType one_ = DataType::kUndefined;
  bool has_one_ = false;
  std::shared_ptr<const std::vector<DataType>> many_;  // more than one; copies share them
};

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_TYPE_LIST_H_
