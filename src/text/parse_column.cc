// Columns of texts. What nearly every text of a type looks like is tried first, in the loop over
// the elements of its width: the texts that narrow types print, integers of digits alone, floats.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tensorcast/detail/packing.hpp"
#include "text/digit_bytes.h"
#include "text/parse.h"
#include "text/plain_decimal.h"
#include "text/text_codes.h"

namespace tensorcast::text {
namespace {

struct QuickInteger {
  [[gnu::always_inline]] bool operator()(const char* begin, const char* end,
                                         std::uint64_t* code) const {
    std::uint64_t whole = 0;
    return ScanDigits(begin + IsSign(*begin), end, &whole) &&
           range.Encode(*begin == '-', whole, code);
  }
  IntegerRange range;
};
struct QuickText {
  [[gnu::always_inline]] bool operator()(const char* begin, const char* end,
                                         std::uint64_t* code) const {
    return codes.Find(begin, end, round_mode, code);
  }
  const TextCodes& codes;
  RoundingMode round_mode;
};
struct QuickFloat {
  bool operator()(const char* begin, const char* end, std::uint64_t* code) const {
    return parser.ParsePlain(begin, end, code);
  }
  const Parser& parser;
};

// Texts to codes, one after the other.
template <class Quick> class Reader {
 public:
  Reader(const Strings& texts, const Parser& parser, const Quick& quick)
      : bytes_(texts.bytes.data()),
        ends_(texts.offsets.data() + 1),
        begin_(bytes_ + texts.offsets[0]),
        readable_end_(bytes_ + std::max(texts.bytes.size(), kReadBehind - 1) - (kReadBehind - 1)),
        parser_(parser),
        quick_(quick) {}

  // Text i, after all before it; false where it is no number of the type.
  [[gnu::always_inline]] bool Read(std::uint64_t i, std::uint64_t* code) {
    const char* const begin = begin_;
    begin_ = bytes_ + ends_[i];
    const bool is_readable = begin_ < readable_end_;
    if (is_readable && quick_(begin, begin_, code)) [[likely]] {
      return true;
    }
    std::uint64_t other = 0;
    const bool is_read = parser_.ParseOther(begin, begin_, is_readable, &other);
    *code = other;
    return is_read;
  }

 private:
  const char* bytes_;
  const std::uint64_t* ends_;
  const char* begin_;
  const char* readable_end_;  // texts that end before it have kReadBehind behind them
  const Parser& parser_;
  Quick quick_;
};

// n codes into whole words from `data` on; returns how many are read before one is not.
template <class Word, class Quick>
std::uint64_t ReadWords(std::uint64_t n, std::byte* data, Reader<Quick> reader) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t code = 0;
    if (!reader.Read(i, &code)) return i;
    const auto word = static_cast<Word>(code);
    std::memcpy(data + i * sizeof(Word), &word, sizeof(Word));
  }
  return n;
}

// The same into elements of fewer than eight bits, from `first` on. Eight fill whole bytes.
template <int kBits>
std::uint64_t ReadPacked(std::uint64_t n, std::byte* data, std::uint64_t first,
                         Reader<QuickText> reader) {
  std::uint64_t code = 0;
  for (std::uint64_t i = 0; i < n;) {
    if ((first + i) % 8 != 0 || n - i < 8) {
      if (!reader.Read(i, &code)) return i;
      detail::StoreCode(data, first + i, kBits, code);
      ++i;
      continue;
    }
    std::uint64_t codes = 0;
    for (const std::uint64_t end = i + 8; i < end; ++i) {
      if (!reader.Read(i, &code)) return i;
      codes = codes >> kBits | code << 7 * kBits;
    }
    char word[8];
    StoreEight(word, codes);
    std::memcpy(data + (first + i - 8) / 8 * kBits, word, kBits);
  }
  return n;
}

// The elements of types of at most eight bits.
std::uint64_t ReadNarrow(std::uint64_t n, std::byte* data, std::uint64_t first, int bits,
                         const Reader<QuickText>& reader) {
  switch (bits) {
    case 8: return ReadWords<std::uint8_t>(n, data + first, reader);
    case 6: return ReadPacked<6>(n, data, first, reader);
    case 4: return ReadPacked<4>(n, data, first, reader);
    default: return ReadPacked<2>(n, data, first, reader);
  }
}
// And of others.
template <class Quick>
std::uint64_t ReadWide(std::uint64_t n, std::byte* data, std::uint64_t first, int bits,
                       const Reader<Quick>& reader) {
  const auto words = [&]<class Word>(Word) {
    return ReadWords<Word>(n, data + first * sizeof(Word), reader);
  };
  switch (bits) {
    case 64: return words(std::uint64_t{});
    case 32: return words(std::uint32_t{});
    default: return words(std::uint16_t{});
  }
}

// Of the types of at most eight bits.
template <std::size_t kRow> const TextCodes& TextCodesOfRow() {
  static const TextCodes codes(detail::kTypeTable[kRow]);
  return codes;
}

const TextCodes& TextCodesOf(const TypeInfo& to) {
  static constexpr auto kOfRows = []<std::size_t... kRows>(std::index_sequence<kRows...>) {
    const auto of_row = []<std::size_t kRow>(std::index_sequence<kRow>) {
      const TextCodes& (*codes)() = nullptr;
      if constexpr (detail::kTypeTable[kRow].bits <= 8) codes = TextCodesOfRow<kRow>;
      return codes;
    };
    return std::array{of_row(std::index_sequence<kRows>())...};
  }
  (std::make_index_sequence<detail::kTypeTable.size()>());
  return kOfRows[static_cast<std::size_t>(detail::RowIndex(to.type))]();
}

}  // namespace

std::uint64_t Parser::ParseAll(const Strings& texts, std::byte* destination,
                               std::uint64_t first) const {
  const std::uint64_t n = texts.size();
  if (to_.bits <= 8) {
    const QuickText quick = {TextCodesOf(to_), options_.round_mode};
    return ReadNarrow(n, destination, first, to_.bits, Reader(texts, *this, quick));
  }
  const auto read = [&](const auto& quick) {
    return ReadWide(n, destination, first, to_.bits, Reader(texts, *this, quick));
  };
  return is_integer_ ? read(QuickInteger{IntegerRange(to_)}) : read(QuickFloat{*this});
}

}  // namespace tensorcast::text
