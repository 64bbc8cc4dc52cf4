// Codes to texts and back over pipes, for the comparisons in tests/peers.
//
//   cast_text print TYPE STYLE < codes > texts    codes as little-endian 64-bit words, a text a
//   line cast_text parse TYPE < texts > codes          each line "code, in hex" or the failure's
//   name
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "tensorcast/tensorcast.hpp"

namespace {

using tensorcast::DataType;

int Print(DataType from, const tensorcast::CastOptions& options) {
  std::uint64_t code = 0;
  while (std::fread(&code, sizeof code, 1, stdin) == 1) {
    char buffer[tensorcast::kLongestPrinted];
    std::string_view text;
    if (!tensorcast::PrintValue(from, code, buffer, &text, options).ok()) return 1;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fputc('\n', stdout);
  }
  return 0;
}

int Parse(DataType to) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::uint64_t code = 0;
    switch (tensorcast::ParseValue(line, to, &code).code()) {
      case tensorcast::StatusCode::kOk:
        std::printf("%llx\n", static_cast<unsigned long long>(code));
        break;
      case tensorcast::StatusCode::kNotANumber: std::puts("not-a-number"); break;
      case tensorcast::StatusCode::kNotAnInteger: std::puts("not-an-integer"); break;
      default: return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool print = argc == 4 && std::strcmp(argv[1], "print") == 0;
  const bool parse = argc == 3 && std::strcmp(argv[1], "parse") == 0;
  const auto type = argc >= 3 ? tensorcast::ParseType(argv[2]) : std::nullopt;
  if (!type || (!print && !parse)) {
    std::fputs("usage: cast_text print TYPE numpy|ort | cast_text parse TYPE\n", stderr);
    return 2;
  }
  if (parse) return Parse(*type);
  tensorcast::CastOptions options;
  if (std::strcmp(argv[3], "ort") == 0) options.string_style = tensorcast::StringStyle::kOrt;
  return Print(*type, options);
}
