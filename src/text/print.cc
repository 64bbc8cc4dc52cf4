// The two layouts: numpy's up to 2.2, and C's "%.8g", which ONNX Runtime prints. Types of at most
// eight bits have tables of their texts, made when one is first wanted.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/print.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tensorcast/detail/scalar_codec.hpp"
#include "text/digit_bytes.h"
#include "text/digit_lanes.h"
#include "text/powers_of_ten.h"
#include "text/shortest.h"

namespace tensorcast::text {
namespace {

using detail::Unpacked;

// `text` is a literal, and short.
template <std::size_t kSize> char* Put(char* out, const char (&text)[kSize]) {
  std::memcpy(out, text, kSize - 1);
  return out + kSize - 1;
}

// A number's eight digits, without the zeros before it.
char* PutDigits(char* out, std::uint64_t digits) {
  // The last digit stands, even where it is 0.
  const auto zeros = static_cast<unsigned>(std::countr_zero(digits | std::uint64_t{1} << 56)) / 8;
  StoreEight(out, (digits | kZeros) >> 8 * zeros);
  return out + 8 - zeros;
}

char* PutInteger(char* out, std::uint64_t number) {
  constexpr std::uint64_t kEightDigits = 100'000'000;
  if (number >= kEightDigits) {
    out = PutInteger(out, number / kEightDigits);
    StoreEight(out, ToDigitBytes(number % kEightDigits) | kZeros);
    return out + 8;
  }
  return PutDigits(out, ToDigitBytes(number));
}

// d.ddd x 10^exponent, in characters: 17 digits, of which `count` are more than final zeros.
struct Digits {
  explicit Digits(const ShortDecimal& decimal) {
    const int written = DigitCount(decimal.digits);
    exponent = decimal.exponent + written - 1;
    constexpr std::uint64_t kEightDigits = 100'000'000;
    const bool is_short = written <= 9;
    std::uint64_t nine =
        decimal.digits * kTenTo[static_cast<std::size_t>((is_short ? 9 : 17) - written)];
    if (!is_short) {
      const std::uint64_t last = ToDigitBytes(nine % kEightDigits);
      nine /= kEightDigits;
      last_eight = last | kZeros;
      count = last == 0 ? 0 : 17 - std::countl_zero(last) / 8;
    }
    first = static_cast<char>('0' + nine / kEightDigits);
    const std::uint64_t next = ToDigitBytes(nine % kEightDigits);
    next_eight = next | kZeros;
    if (count == 0) count = next == 0 ? 1 : 9 - std::countl_zero(next) / 8;
  }

  // Writes all 17.
  void Store(char* out) const {
    *out = first;
    StoreAfterFirst(out + 1);
  }
  void StoreAfterFirst(char* out) const {
    StoreEight(out, next_eight);
    StoreEight(out + 8, last_eight);
  }

  char first;
  std::uint64_t next_eight;
  std::uint64_t last_eight = kZeros;
  int count = 0;
  int exponent;
};

// ddd.ddd, of a number from 10^-4 to 10^16; whole ones end in `whole_end`.
template <std::size_t kSize>
char* PutPositional(char* out, const Digits& digits, const char (&whole_end)[kSize]) {
  if (digits.exponent < 0) {
    StoreEight(out, LoadEight("0.000000"));
    out += 1 - digits.exponent;
    digits.Store(out);
    return out + digits.count;
  }
  digits.Store(out);
  const int units = digits.exponent + 1;
  if (units >= digits.count) return Put(out + units, whole_end);
  char fraction[16];
  std::memcpy(fraction, out + units, sizeof(fraction));
  out[units] = '.';
  std::memcpy(out + units + 1, fraction, sizeof(fraction));
  return out + digits.count + 1;
}

// d.ddde+xx, without a point where there is one digit.
char* PutScientific(char* out, const Digits& digits) {
  out[0] = digits.first;
  out[1] = '.';
  digits.StoreAfterFirst(out + 2);
  out += digits.count > 1 ? digits.count + 1 : 1;
  *out++ = 'e';
  *out++ = digits.exponent < 0 ? '-' : '+';
  const int exponent = std::abs(digits.exponent);
  if (exponent < 10) *out++ = '0';
  return PutInteger(out, static_cast<std::uint64_t>(exponent));
}

// A value as a double, which has it exactly.
double Magnitude(const Unpacked& value) {
  return static_cast<double>(value.significand) * detail::PowerOfTwo(value.exponent);
}

char* PutNumpy(char* out, const Unpacked& value, bool begins_binade) {
  const Digits digits(ShortestDecimal(value.significand, value.exponent, begins_binade));
  // Near the limits the value itself decides, not its digits: float32's 1e-4 lies below 10^-4, and
  // bfloat16's 1e16 below 10^16. The double 1e-4 is the least double that is not below 10^-4.
  const bool is_within = digits.exponent > -4 && digits.exponent < 15;
  if (is_within || (Magnitude(value) >= 1e-4 && Magnitude(value) < 1e16)) {
    return PutPositional(out, digits, ".0");
  }
  return PutScientific(out, digits);
}

// "%.8g"
char* PutOrt(char* out, const Unpacked& value) {
  constexpr int kDigits = 8;
  // The power of ten at the value or below it, or the one before that.
  int exponent = FloorLog10OfPowerOfTwo(value.exponent + 63 - std::countl_zero(value.significand));
  ShortDecimal decimal;
  for (;; ++exponent) {
    decimal.exponent = exponent - (kDigits - 1);
    const Product scaled = TimesPowerOfTen(value.significand, -decimal.exponent);
    if (!scaled.is_known) {
      return std::to_chars(out, out + kPrinterRoom, Magnitude(value), std::chars_format::general,
                           kDigits)
          .ptr;
    }
    decimal.digits =
        detail::ShiftRightTiesToEven(scaled.significand, -(scaled.exponent + value.exponent));
    if (decimal.digits < kTenTo[kDigits]) break;
  }
  const Digits digits(decimal);
  return exponent >= -4 && exponent < kDigits ? PutPositional(out, digits, "")
                                              : PutScientific(out, digits);
}

template <StringStyle kStyle> char* PrintCode(const TypeInfo& row, std::uint64_t code, char* out);

// Made for a row that is known where it is called.
template <StringStyle kStyle>
[[gnu::always_inline]] inline char* Print(const TypeInfo& row, std::uint64_t code, char* out) {
  constexpr bool is_ort = kStyle == StringStyle::kOrt;
  if (row.type_class == TypeClass::kUnsigned) return PutInteger(out, code);
  if (row.type_class == TypeClass::kSigned) {
    *out = '-';
    return PutInteger(out + (code >> (row.bits - 1)), MagnitudeOf(code, row.bits));
  }
  const Unpacked value = detail::Decode(code, row);
  if (row.type_class == TypeClass::kBool) {
    if (is_ort) return value.significand != 0 ? Put(out, "1") : Put(out, "0");
    return value.significand != 0 ? Put(out, "True") : Put(out, "False");
  }
  if (value.kind == Unpacked::Kind::kNan) return is_ort ? Put(out, "NaN") : Put(out, "nan");
  *out = '-';
  out += value.negative ? 1 : 0;
  if (value.kind == Unpacked::Kind::kInfinity) return is_ort ? Put(out, "INF") : Put(out, "inf");
  if (value.significand == 0) return is_ort ? Put(out, "0") : Put(out, "0.0");
  if constexpr (is_ort) return PutOrt(out, value);
  // float8e8m0 has the digits of float32.
  if (!row.has_zero) {
    const TypeInfo& single = detail::Row(DataType::kFloat32);
    return PrintCode<kStyle>(single, detail::CastCode(row, single, code, {}), out);
  }
  const bool begins_binade = value.significand == std::uint64_t{1} << row.mantissa_bits &&
                             value.exponent > 1 - row.bias - row.mantissa_bits;
  return PutNumpy(out, value, begins_binade);
}

// For any row, where time does not matter.
template <StringStyle kStyle>
[[gnu::noinline]] char* PrintCode(const TypeInfo& row, std::uint64_t code, char* out) {
  return Print<kStyle>(row, code, out);
}

template <std::size_t kLongest> struct Text {
  char text[kLongest];
  std::uint8_t size;
};

// The texts of all codes of a type.
template <DataType kType, StringStyle kStyle> struct Texts {
  static constexpr const TypeInfo& kRow = detail::Row(kType);
  static constexpr std::size_t kLongest = kRow.is_float() ? 23 : 7;  // "9007199254740992.0"

  [[gnu::cold]] Texts() {
    for (std::uint64_t code = 0; code < texts.size(); ++code) {
      char text[kPrinterRoom];
      const char* const end = PrintCode<kStyle>(kRow, code, text);
      texts[code].size = static_cast<std::uint8_t>(end - text);
      std::memcpy(texts[code].text, text, sizeof(texts[code].text));
    }
  }

  std::array<Text<kLongest>, std::size_t{1} << kRow.bits> texts;
};

template <int kBits> std::uint64_t Load(const std::byte* source, std::uint64_t i) {
  const auto load = [&]<class Word>(Word word) -> std::uint64_t {
    std::memcpy(&word, source + i * sizeof(Word), sizeof(Word));
    return word;
  };
  if constexpr (kBits == 64) return load(std::uint64_t{});
  if constexpr (kBits == 32) return load(std::uint32_t{});
  if constexpr (kBits == 16) return load(std::uint16_t{});
  if constexpr (kBits == 8) return load(std::uint8_t{});
  return detail::LoadCode(source, i, kBits);
}

template <int kBits, class Put>
std::size_t PrintEach(const std::byte* source, std::uint64_t first, std::size_t count,
                      std::span<char> room, std::uint64_t before, std::uint64_t* ends,
                      const Put& put) {
  char* out = room.data();
  const char* const last = out + room.size() - kPrinterRoom;
  std::size_t i = 0;
  for (; i < count && out <= last; ++i) {
    out = put(Load<kBits>(source, first + i), out);
    ends[i] = before + static_cast<std::uint64_t>(out - room.data());
  }
  return i;
}

// One function for all types of so many bits, and their styles.
template <int kBits, std::size_t kLongest>
[[gnu::noinline]] std::size_t PrintTexts(const Text<kLongest>* texts, const std::byte* source,
                                         std::uint64_t first, std::size_t count,
                                         std::span<char> room, std::uint64_t before,
                                         std::uint64_t* ends) {
  return PrintEach<kBits>(source, first, count, room, before, ends,
                          [texts](std::uint64_t code, char* out) {
                            const Text<kLongest>& text = texts[code];
                            std::memcpy(out, &text, sizeof(text));
                            return out + text.size;
                          });
}

// Integers of 16 bits and more, in all styles: eight at once where none has more than eight digits.
template <DataType kType>
[[gnu::noinline]] std::size_t PrintIntegers(const std::byte* source, std::uint64_t first,
                                            std::size_t count, std::span<char> room,
                                            std::uint64_t before, std::uint64_t* ends) {
  constexpr int kBits = detail::Row(kType).bits;
  constexpr bool kIsSigned = detail::Row(kType).type_class == TypeClass::kSigned;
  EightNumbers digits{};
  constexpr std::size_t kRoom = digits.size() * sizeof("-12345678") + kPrinterRoom;
  constexpr std::size_t kLargeAtOnce = 32;  // where one is large others are
  std::size_t i = 0;
  std::uint64_t end = before;
  while (i < count) {
    const std::span<char> left = room.subspan(end - before);
    if (count - i >= digits.size() && left.size() >= kRoom &&
        ToDigitBytes<kBits, kIsSigned>(source + (first + i) * (kBits / 8), digits)) {
      char* out = left.data();
      for (std::size_t k = 0; k < digits.size(); ++k) {
        const std::uint64_t sign = Load<kBits>(source, first + i + k) >> (kBits - 1);
        *out = '-';
        out = PutDigits(out + (kIsSigned ? sign : 0), digits[k]);
        ends[i + k] = end + static_cast<std::uint64_t>(out - left.data());
      }
      i += digits.size();
    } else {
      const std::size_t some = std::min(count - i, kLargeAtOnce);
      const std::size_t printed = PrintEach<kBits>(
          source, first + i, some, left, end, ends + i, [](std::uint64_t code, char* out) {
            return Print<StringStyle::kNumpy>(detail::Row(kType), code, out);
          });
      i += printed;
      if (printed < some) break;
    }
    end = ends[i - 1];
  }
  return i;
}

template <DataType kType, StringStyle kStyle>
std::size_t PrintAll(const std::byte* source, std::uint64_t first, std::size_t count,
                     std::span<char> room, std::uint64_t before, std::uint64_t* ends) {
  constexpr int kBits = detail::Row(kType).bits;
  if constexpr (kBits <= 8) {
    static const Texts<kType, kStyle> table;
    return PrintTexts<kBits>(table.texts.data(), source, first, count, room, before, ends);
  } else if constexpr (!detail::Row(kType).is_float()) {
    return PrintIntegers<kType>(source, first, count, room, before, ends);
  } else {
    return PrintEach<kBits>(
        source, first, count, room, before, ends,
        [](std::uint64_t code, char* out) { return Print<kStyle>(detail::Row(kType), code, out); });
  }
}

template <std::size_t kRow, StringStyle kStyle> constexpr Printer PrinterOfRow() {
  constexpr const TypeInfo& row = detail::kTypeTable[kRow];
  if constexpr (row.type_class == TypeClass::kString) {
    return nullptr;
  } else {
    return PrintAll<row.type, kStyle>;
  }
}

template <StringStyle kStyle>
constexpr auto kPrinters = []<std::size_t... kRows>(std::index_sequence<kRows...>) {
  return std::array{PrinterOfRow<kRows, kStyle>()...};
}
(std::make_index_sequence<detail::kTypeTable.size()>());

}  // namespace

Printer PrinterOf(const TypeInfo& from, StringStyle style) {
  const auto row = static_cast<std::size_t>(detail::RowIndex(from.type));
  return style == StringStyle::kOrt ? kPrinters<StringStyle::kOrt>[row]
                                    : kPrinters<StringStyle::kNumpy>[row];
}

}  // namespace tensorcast::text
