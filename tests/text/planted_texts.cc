// Planted texts; see planted_texts.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/planted_texts.h"

#include <gmpxx.h>

#include <cstdint>
#include <random>

#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/cast.h"

namespace tensorcast::testing {
namespace {

// digits / 10^places.
struct Decimal {
  mpz_class digits;
  int places;
};

Decimal Exactly(std::uint64_t digits, int exponent) {
  mpz_class number(digits);
  if (exponent >= 0) return {mpz_class(number << static_cast<unsigned>(exponent)), 0};
  mpz_class fives;
  mpz_ui_pow_ui(fives.get_mpz_t(), 5, static_cast<unsigned long>(-exponent));
  return {mpz_class(number * fives), -exponent};
}

// The decimal plus `step` units of a digit `far` places behind its last.
Decimal Beside(const Decimal& decimal, int far, int step) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(far));
  return {mpz_class(decimal.digits * power + step), decimal.places + far};
}

std::string Positional(const Decimal& decimal) {
  std::string text = decimal.digits.get_str();
  const auto places = static_cast<std::size_t>(decimal.places);
  if (places == 0) return text;
  if (text.size() <= places) text = std::string(places + 1 - text.size(), '0') + text;
  return text.substr(0, text.size() - places) + "." + text.substr(text.size() - places);
}

// One of the many ways to write a decimal.
std::string Written(const Decimal& decimal, unsigned way) {
  const std::string digits = decimal.digits.get_str();
  const auto size = static_cast<long>(digits.size());
  std::string text;
  switch (way % 8) {
    case 0:
    case 1: text = Positional(decimal); break;
    case 2: text = digits + "e" + std::to_string(-decimal.places); break;
    case 3:
      text = digits.substr(0, 1) + "." + digits.substr(1) + "E" +
             std::to_string(size - 1 - decimal.places);
      break;
    case 4: text = "." + digits + "e" + std::to_string(size - decimal.places); break;
    case 5: text = std::string(1 + way % 40, '0') + Positional(decimal); break;
    case 6:
      text = "0.000000" + digits + "e" + (size - decimal.places + 6 < 0 ? "" : "+") +
             std::to_string(size - decimal.places + 6);
      break;
    default:
      text = Positional(decimal) + (decimal.places == 0 ? "." : "") +
             std::string(1 + way % 23, '0') + "e+0000000000000000000000";
  }
  if (way % 3 == 0) {
    text.insert(0, 1, '-');
  } else if (way % 5 == 0) {
    text.insert(0, 1, '+');
  }
  if (way % 7 == 0) text = " \t" + text + "\r\n";
  return text;
}

class Planter {
 public:
  explicit Planter(std::vector<std::string>& texts) : texts_(texts) {}

  void Plant(const Decimal& decimal) { texts_.push_back(Written(decimal, way_++)); }
  // The number itself and its neighbours to either side, near and far behind its last digit.
  void PlantAbout(std::uint64_t digits, int exponent) {
    const Decimal decimal = Exactly(digits, exponent);
    Plant(decimal);
    const int far = way_ % 2 == 0 ? 1 + static_cast<int>(way_ % 40) : 25;
    Plant(Beside(decimal, far, 1));
    if (decimal.digits != 0) Plant(Beside(decimal, far, -1));
  }

 private:
  std::vector<std::string>& texts_;
  unsigned way_ = 0;
};

void PlantCode(const oracle::Row& row, std::uint64_t code, bool value_too, Planter& planter) {
  const oracle::Value value = oracle::Decode(row, code);
  if (value_too) planter.Plant(Exactly(value.digits, value.exponent));
  // To the next code, or to what it would be: digits * 2^exponent and one more digit.
  planter.PlantAbout(2 * value.digits + 1, value.exponent - 1);
}

void PlantFloating(const oracle::Row& row, Planter& planter) {
  if (row.bits <= 16) {
    const std::uint64_t step = Sampled() && row.bits == 16 ? 11 : 1;
    for (std::uint64_t code = 0; code <= row.largest; code += step) {
      PlantCode(row, code, true, planter);
    }
    PlantCode(row, row.largest, true, planter);
    return;
  }
  const std::uint64_t binade = 1ull << (row.precision - 1);
  const std::uint64_t step = (Sampled() ? 37 : 1) * binade;
  for (std::uint64_t power = 0; power < row.largest; power += step) {
    for (const std::uint64_t code : {power, power + 1, power - 1, power + binade / 2}) {
      if (code <= row.largest) PlantCode(row, code, true, planter);
    }
  }
  for (std::uint64_t i = 0; i < 40; ++i) {
    PlantCode(row, i, true, planter);
    PlantCode(row, row.largest - i, true, planter);
    if (i < static_cast<std::uint64_t>(row.precision)) PlantCode(row, 1ull << i, true, planter);
  }
  std::mt19937_64 random(static_cast<std::uint64_t>(row.id));
  for (std::size_t i = 0; i < Scaled(8000); ++i) {
    std::uint64_t code = random() % (row.largest + 1);
    if (i % 2 == 0) code = random() % (64 * binade) + (row.largest / binade / 2 - 32) * binade;
    PlantCode(row, code, i % 4 == 0, planter);
  }
}

void PlantInteger(const oracle::Row& row, Planter& planter) {
  for (std::uint64_t halves = 0; halves < 1200; ++halves) planter.PlantAbout(halves, -1);
  // Halves about every power of two up to the type's limits and about 2^63 and 2^64.
  for (int power = 1; power <= 65; ++power) {
    if (power > row.bits + 1 && power < 62) continue;
    for (std::uint64_t beside = 0; beside <= 6; ++beside) {
      if (power > 62) {
        // 2^power - 3 + beside/2 needs more than 64 bits: as a decimal.
        const mpz_class twice = (mpz_class(1) << static_cast<unsigned>(power + 1)) - 6 +
                                static_cast<unsigned long>(2 * beside);
        for (int half = 0; half < 2; ++half) {
          const Decimal decimal = {mpz_class((twice + half) * 5), 1};
          for (int repeat = 0; repeat < 3; ++repeat) {  // in three ways, so with both signs
            planter.Plant(decimal);
            planter.Plant(Beside(decimal, 30, 1));
            planter.Plant(Beside(decimal, 30, -1));
          }
        }
      } else {
        planter.PlantAbout((2ull << power) + beside, -1);
        planter.PlantAbout((2ull << power) - beside, -1);
      }
    }
  }
  std::mt19937_64 random(static_cast<std::uint64_t>(row.id));
  for (std::size_t i = 0; i < Scaled(2000); ++i) {
    planter.PlantAbout(random() >> random() % 64, -static_cast<int>(random() % 30));
  }
}

std::string RandomText(std::mt19937_64& random) {
  std::string text = random() % 3 == 0 ? "-" : "";
  const std::size_t digits = 1 + random() % (random() % 16 == 0 ? 1000 : 22);
  const std::size_t point = random() % (digits + 3);
  for (std::size_t i = 0; i < digits; ++i) {
    if (i == point) text += '.';
    text += static_cast<char>('0' + random() % 10);
  }
  if (random() % 3 != 0) {
    const int spread = random() % 2 == 0 ? 700 : 40;
    text += "e" +
            std::to_string(static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2);
  }
  return text;
}

}  // namespace

std::vector<std::string> PlantedTexts(const TypeInfo& to) {
  const oracle::Row& row = oracle::RowOf(static_cast<int>(to.type));
  std::vector<std::string> texts;
  Planter planter(texts);
  if (row.floating()) {
    PlantFloating(row, planter);
  } else if (row.integer()) {
    PlantInteger(row, planter);
  } else {
    for (std::uint64_t halves = 0; halves < 8; ++halves) planter.PlantAbout(halves, -1);
  }
  return texts;
}

std::vector<std::string> CommonTexts() {
  std::vector<std::string> texts = {"nan",
                                    "-nan",
                                    "+NaN",
                                    "NAN",
                                    "inf",
                                    "-inf",
                                    "+Inf",
                                    "infinity",
                                    "-INFINITY",
                                    "+iNfInItY",
                                    "true",
                                    "false",
                                    "True",
                                    "FALSE",
                                    " true ",
                                    "-true",
                                    "0",
                                    "-0",
                                    "+0",
                                    "0.0",
                                    "-.0",
                                    "0.e5",
                                    "0e999999999999",
                                    "-0e99999999999999999999999",
                                    "1e99999999999999999999",
                                    "-1e99999999999999999999",
                                    "1e-99999999999999999999",
                                    "-1e-99999999999999999999",
                                    "1e9223372036854775807",
                                    "1e9223372036854775808",
                                    "1e18446744073709551616",
                                    "1e-9223372036854775808",
                                    "1e-9223372036854775809",
                                    "1e4294967296",
                                    "1e-4294967296",
                                    "1e2147483648",
                                    "1e-2147483649",
                                    "464",
                                    "464.0001",
                                    "463.9999",
                                    "480",
                                    "448",
                                    "61440",
                                    "61439.99999999999999999",
                                    "61440.000000000000000001",
                                    "57344",
                                    "247.99999999",
                                    "248",
                                    "240",
                                    "65504",
                                    "65519.999999999999999999999",
                                    "65520",
                                    "3.4028235677973366e38",
                                    "3.4028235677973367e38",
                                    "3.4028234663852886e38",
                                    "1.7976931348623157e308",
                                    "1.7976931348623158e308",
                                    "1.7976931348623159e308",
                                    "1.797693134862315807e308",
                                    "1e308",
                                    "1e309",
                                    "1e400",
                                    "-1e400",
                                    "4.9406564584124654e-324",
                                    "2.4703282292062327e-324",
                                    "2.4703282292062328e-324",
                                    "2.4703282292062329e-324",
                                    "2.2250738585072011e-308",
                                    "2.2250738585072012e-308",
                                    "1.1754943508222875e-38",
                                    "1e-45",
                                    "7e-46",
                                    "7.1e-46",
                                    "9007199254740993",
                                    "9007199254740992.99999999999999999999999",
                                    "9007199254740993.0000001",
                                    "1.000000059604644775390626",
                                    "1.000000059604644775390625",
                                    "0.1",
                                    "0.2",
                                    "0.3",
                                    "123456789",
                                    "170141183460469231731687303715884105728",
                                    "5.877471754111438e-39",
                                    "8.81620763116715e-39",
                                    "1e-999",
                                    "not a number",
                                    "",
                                    " ",
                                    "1 2",
                                    "0x10",
                                    "1_0"};
  // As many zeros as their exponent takes away, and the other way round.
  for (const std::size_t zeros : {1u, 20u, 308u, 400u, 5000u}) {
    const std::string row_of_zeros(zeros, '0');
    const std::string count = std::to_string(zeros);
    texts.push_back("1" + row_of_zeros + "e-" + count);
    texts.push_back("0." + row_of_zeros + "1e" + count);
    texts.push_back(row_of_zeros + "e" + count);
    texts.push_back("." + row_of_zeros + "e-" + count);
    texts.push_back("1." + row_of_zeros + "1");
    texts.push_back("0." + row_of_zeros + "15e" + std::to_string(zeros + 2));
    texts.push_back("1e" + row_of_zeros + "2");
    texts.push_back(std::string(zeros, '9'));
    texts.push_back("0." + std::string(zeros, '9'));
    texts.push_back("-464." + row_of_zeros + "1");
  }
  for (const TypeInfo& type : FixedWidthTypes()) {
    const std::vector<std::string> planted = PlantedTexts(type);
    const std::size_t step = planted.size() / Scaled(500) + 1;
    for (std::size_t i = 0; i < planted.size(); i += step) texts.push_back(planted[i]);
  }
  std::mt19937_64 random(5);
  for (std::size_t i = 0; i < Scaled(6000); ++i) texts.push_back(RandomText(random));
  return texts;
}

}  // namespace tensorcast::testing
