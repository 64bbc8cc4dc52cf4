// What the tests of src/io share: a directory of their own, bytes in and out of files, and errors
// compared word for word.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_IO_TEST_FILES_H_
#define TENSORCAST_TESTS_IO_TEST_FILES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/open_tensor_file.h"
#include "files/error.h"
#include "formats/tensor_reader.h"
#include "formats/tensor_writer.h"

namespace tensorcast::io {

// A directory that is removed when the test ends.
class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tensorcast-io-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    directory_ = pattern;
  }
  ~FileTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  std::string Path(std::string_view name) const { return directory_ + '/' + std::string(name); }
  const std::string& directory() const { return directory_; }

  // The names in the directory, sorted.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string directory_;
};

inline std::vector<std::string> TensorNames(const formats::TensorReader& reader) {
  std::vector<std::string> names;
  for (const formats::TensorInfo& info : reader.contents().tensors) names.push_back(info.name);
  return names;
}

inline void WriteBytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.flush()) << path;
}

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file that is refused, and how.
struct BadFile {
  std::string what;
  std::string bytes;
  std::string error;  // "KIND message", the file's path as FILE
};

inline std::string LittleEndian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

// A safetensors file of a header and data, with the length that belongs to them.
inline std::string Safetensors(std::string_view header, std::string_view data = {}) {
  return LittleEndian(header.size(), 8) + std::string(header) + std::string(data);
}

// An npy file, version 1.0, of a dict as it stands and data.
inline std::string Npy(std::string_view dict, std::string_view data = {}) {
  std::string text(dict);
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + LittleEndian(text.size(), 2) + text +
         std::string(data);
}

inline std::string NpyDict(const std::string& descr, const std::string& shape,
                           const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

inline std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string replaced;
  for (std::size_t at; (at = text.find(from)) != std::string_view::npos;) {
    replaced.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return replaced.append(text);
}

// What an Error said, "KIND message"; "no error" where `call` throws none.
template <class Function> std::string ErrorOf(Function call) {
  try {
    call();
  } catch (const files::Error& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    return std::to_string(static_cast<int>(error.kind()) + 2) + ' ' + error.what();
  }
  return "no error";
}

inline std::shared_ptr<const formats::TensorReader> Open(const std::string& path) {
  return checkpoint::OpenTensorFile(path, {}).reader;
}

inline std::string ReadTensor(const formats::TensorReader& reader, std::size_t tensor) {
  std::string bytes(reader.contents().tensors.at(tensor).bytes, '\xEE');
  reader.Read(tensor, 0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

inline std::string ReadTensor(const formats::TensorReader& reader, const std::string& name) {
  const auto& tensors = reader.contents().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == name) return ReadTensor(reader, i);
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

inline void WriteTensor(formats::TensorWriter& writer, std::size_t tensor, std::string_view bytes) {
  writer.Write(tensor, 0, std::as_bytes(std::span(bytes)));
}

inline formats::TensorInfo Tensor(const std::string& name, DataType type,
                                  std::vector<std::uint64_t> shape) {
  formats::TensorInfo info;
  info.name = name;
  info.type = type;
  info.shape = std::move(shape);
  info.elements = 1;
  for (const std::uint64_t n : info.shape) info.elements *= n;
  info.bytes = StorageBytes(type, info.elements).value_or(0);
  return info;
}

}  // namespace tensorcast::io

#endif  // TENSORCAST_TESTS_IO_TEST_FILES_H_
