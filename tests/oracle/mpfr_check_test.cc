// Cross-check of the oracle by MPFR: every finite result recomputed by mpfr's own rounding
// (precision, exponent range, subnormalize), from the columns "layout s/e/m, bias" of
// docs/semantics.md section 1 rather than from the oracle's table.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpfr.h>

#include <random>
#include <string>
#include <vector>

#include "oracle/cast.h"

namespace {

// Section 1, by its own columns. Integers have mantissa -1, and exponent 1 where signed.
struct Layout {
  int id, bits, sign, exponent, mantissa, bias;
  double max;
};
constexpr Layout kLayouts[] = {
    {1, 32, 1, 8, 23, 127, 0x1.FFFFFEp127},
    {10, 16, 1, 5, 10, 15, 65504},
    {11, 64, 1, 11, 52, 1023, 0x1.FFFFFFFFFFFFFp1023},
    {16, 16, 1, 8, 7, 127, 0x1.FEp127},
    {17, 8, 1, 4, 3, 7, 448},
    {18, 8, 1, 4, 3, 8, 240},
    {19, 8, 1, 5, 2, 15, 57344},
    {20, 8, 1, 5, 2, 16, 57344},
    {23, 4, 1, 2, 1, 1, 6},
    {24, 8, 0, 8, 0, 127, 0x1p127},
    {27, 6, 1, 2, 3, 1, 7.5},
    {28, 6, 1, 3, 2, 3, 28},
    {2, 8, 0, 0, -1, 0, 0},
    {3, 8, 1, 0, -1, 0, 0},
    {4, 16, 0, 0, -1, 0, 0},
    {5, 16, 1, 0, -1, 0, 0},
    {6, 32, 1, 0, -1, 0, 0},
    {7, 64, 1, 0, -1, 0, 0},
    {12, 32, 0, 0, -1, 0, 0},
    {13, 64, 0, 0, -1, 0, 0},
    {21, 4, 0, 0, -1, 0, 0},
    {22, 4, 1, 0, -1, 0, 0},
    {25, 2, 0, 0, -1, 0, 0},
    {26, 2, 1, 0, -1, 0, 0},
};

class Real {
 public:
  explicit Real(mpfr_prec_t precision = 256) { mpfr_init2(value_, precision); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

// (-1)^sign * 2^(exponent - bias) * (1 + mantissa / 2^width), from the columns.
void ValueOf(const Layout& layout, std::uint64_t code, mpfr_ptr value) {
  if (layout.mantissa < 0) {
    if (layout.sign != 0) {
      const int unused = 64 - layout.bits;
      mpfr_set_si(value, static_cast<std::int64_t>(code << unused) >> unused, MPFR_RNDN);
    } else {
      mpfr_set_ui(value, code, MPFR_RNDN);
    }
    return;
  }
  const std::uint64_t fraction = code & ((1ull << layout.mantissa) - 1);
  const auto exponent = static_cast<int>(code >> layout.mantissa & ((1ull << layout.exponent) - 1));
  const bool subnormal = exponent == 0 && layout.sign != 0;  // e8m0 has neither sign nor zero
  mpfr_set_ui(value, fraction + (subnormal ? 0 : 1ull << layout.mantissa), MPFR_RNDN);
  mpfr_mul_2si(value, value, (subnormal ? 1 : exponent) - layout.bias - layout.mantissa, MPFR_RNDN);
  if (layout.sign != 0 && (code >> (layout.bits - 1)) != 0) mpfr_neg(value, value, MPFR_RNDN);
}

bool FiniteCode(const Layout& layout, std::uint64_t code) {
  if (layout.mantissa < 0) return true;
  if (layout.id == 18 || layout.id == 20) return code != 0x80;
  if (layout.id == 24) return code != 0xFF;
  const std::uint64_t magnitude = code & ((1ull << (layout.bits - layout.sign)) - 1);
  if (layout.id == 17) return magnitude != 0x7F;
  if (layout.id == 23 || layout.id == 27 || layout.id == 28) return true;
  return magnitude >> layout.mantissa != (1ull << layout.exponent) - 1;
}

class Checker {
 public:
  Checker(const Layout& from, const Layout& to)
      : from_(from), to_(to), x_(256), y_(to.mantissa < 0 ? 256 : to.mantissa + 1), back_(256) {
    mpfr_set_d(max_.get(), to.max, MPFR_RNDN);
    mpz_init(integer_);
    mpz_init(expected_);
  }
  ~Checker() {
    mpz_clear(integer_);
    mpz_clear(expected_);
  }

  void Check(std::uint64_t code) {
    if (!FiniteCode(from_, code)) return;
    ValueOf(from_, code, x_.get());
    ASSERT_EQ(oracle::Cast(oracle::RowOf(from_.id), oracle::RowOf(9), {}, code),
              mpfr_zero_p(x_.get()) ? 0u : 1u)
        << Where(code);
    if (to_.mantissa < 0) {
      CheckInteger(code);
    } else if (to_.id == 24) {
      CheckPowerOfTwo(code);
    } else {
      CheckFloat(code);
    }
    ++checked;
  }
  long checked = 0;

 private:
  std::uint64_t Ours(std::uint64_t code, const oracle::Options& options) {
    return oracle::Cast(oracle::RowOf(from_.id), oracle::RowOf(to_.id), options, code);
  }

  std::string Where(std::uint64_t code) {
    char text[128];
    std::snprintf(text, sizeof text, "type %d code %llx -> type %d", from_.id,
                  static_cast<unsigned long long>(code), to_.id);
    return text;
  }

  void CheckFloat(std::uint64_t code) {
    const mpfr_exp_t old_min = mpfr_get_emin();
    const int least = 1 - to_.bias - to_.mantissa;  // log2 of the least subnormal
    // mpfr rounds once to the precision and its second step, subnormalize, knows (by the ternary
    // value) what the first one did.
    int ternary = mpfr_set(y_.get(), x_.get(), MPFR_RNDN);
    mpfr_set_emin(least + 1);
    ternary = mpfr_check_range(y_.get(), ternary, MPFR_RNDN);
    mpfr_subnormalize(y_.get(), ternary, MPFR_RNDN);
    mpfr_set_emin(old_min);

    const std::uint64_t result = Ours(code, {});
    const bool beyond = mpfr_cmpabs(y_.get(), max_.get()) > 0;
    if (beyond) {
      const bool infinite = FiniteCode(to_, result);
      const bool ieee = to_.id == 1 || to_.id == 10 || to_.id == 11 || to_.id == 16;
      ASSERT_EQ(infinite, !ieee) << Where(code);
      if (infinite) {
        ValueOf(to_, result, back_.get());
        ASSERT_EQ(mpfr_cmpabs(back_.get(), max_.get()), 0) << Where(code);
        ASSERT_EQ(mpfr_signbit(back_.get()), mpfr_signbit(x_.get())) << Where(code);
      }
      return;
    }
    ASSERT_TRUE(FiniteCode(to_, result)) << Where(code);
    ValueOf(to_, result, back_.get());
    ASSERT_TRUE(mpfr_equal_p(back_.get(), y_.get())) << Where(code) << " result " << result;
    if (mpfr_zero_p(y_.get()) && to_.id != 18 && to_.id != 20) {
      ASSERT_EQ(result >> (to_.bits - 1), mpfr_signbit(x_.get()) != 0 ? 1u : 0u) << Where(code);
    }
  }

  void CheckPowerOfTwo(std::uint64_t code) {
    for (const auto mode :
         {oracle::RoundingMode::kUp, oracle::RoundingMode::kDown, oracle::RoundingMode::kNearest}) {
      std::uint64_t saturated = 0;
      bool inside = false;
      if (mpfr_sgn(x_.get()) > 0) {
        Real limit;
        mpfr_set_ui_2exp(limit.get(), 1, 127, MPFR_RNDN);
        const bool above = mpfr_greater_p(x_.get(), limit.get()) != 0;
        mpfr_set_ui_2exp(limit.get(), 1, -127, MPFR_RNDN);
        const bool below = mpfr_less_p(x_.get(), limit.get()) != 0;
        inside = !above && !below;
        saturated = above ? 0xFE : 0;
        if (inside) {
          // floor(log2 x) is mpfr's exponent less one.
          const mpfr_exp_t floor = mpfr_get_exp(x_.get()) - 1;
          mpfr_set_ui_2exp(limit.get(), 1, floor, MPFR_RNDN);
          mpfr_exp_t power = floor;
          if (mode == oracle::RoundingMode::kUp && !mpfr_equal_p(x_.get(), limit.get())) ++power;
          mpfr_set_ui_2exp(limit.get(), 3, floor - 1, MPFR_RNDN);
          if (mode == oracle::RoundingMode::kNearest &&
              mpfr_greaterequal_p(x_.get(), limit.get())) {
            ++power;
          }
          saturated = static_cast<std::uint64_t>(power + 127);
        }
      }
      ASSERT_EQ(Ours(code, {.round_mode = mode}), saturated) << Where(code);
      ASSERT_EQ(Ours(code, {.saturate = false, .round_mode = mode}), inside ? saturated : 0xFF)
          << Where(code);
    }
  }

  void CheckInteger(std::uint64_t code) {
    if (from_.mantissa >= 0 && to_.bits < 8) {
      mpfr_roundeven(y_.get(), x_.get());
    } else {
      mpfr_trunc(y_.get(), x_.get());
    }
    Real wide(2300);
    mpfr_set(wide.get(), y_.get(), MPFR_RNDN);
    mpfr_get_z(integer_, wide.get(), MPFR_RNDN);
    mpz_fdiv_r_2exp(expected_, integer_, static_cast<mp_bitcnt_t>(to_.bits));
    ASSERT_EQ(Ours(code, {}), mpz_get_ui(expected_)) << Where(code);
    if (from_.mantissa < 0) return;
    mpz_ui_pow_ui(expected_, 2, static_cast<unsigned long>(to_.bits - to_.sign));
    mpz_sub_ui(expected_, expected_, 1);
    if (mpz_cmp(integer_, expected_) > 0) mpz_set(integer_, expected_);
    if (to_.sign != 0) {
      mpz_neg(expected_, expected_);
      mpz_sub_ui(expected_, expected_, 1);
    } else {
      mpz_set_ui(expected_, 0);
    }
    if (mpz_cmp(integer_, expected_) < 0) mpz_set(integer_, expected_);
    mpz_fdiv_r_2exp(expected_, integer_, static_cast<mp_bitcnt_t>(to_.bits));
    ASSERT_EQ(Ours(code, {.integer_saturate = true}), mpz_get_ui(expected_)) << Where(code);
  }

  const Layout& from_;
  const Layout& to_;
  Real x_, y_, back_, max_;
  mpz_t integer_, expected_;
};

// Codes worth asking: all of them up to 16 bits (a stride of them for 16), else random bits, bits
// near each power of two, and sums of two powers (where midpoints lie).
std::vector<std::uint64_t> Samples(const Layout& from) {
  std::vector<std::uint64_t> codes;
  if (from.bits <= 16) {
    const std::uint64_t step = from.bits == 16 ? 7 : 1;
    for (std::uint64_t code = 0; code < 1ull << from.bits; code += step) codes.push_back(code);
    return codes;
  }
  const std::uint64_t mask = from.bits == 64 ? ~0ull : (1ull << from.bits) - 1;
  std::mt19937_64 random(static_cast<std::uint64_t>(from.id));
  for (int i = 0; i < 4000; ++i) codes.push_back(random() & mask);
  for (int high = 0; high < from.bits; ++high) {
    for (int low = -1; low < high; ++low) {
      const std::uint64_t base = (1ull << high) + (low < 0 ? 0 : 1ull << low);
      for (const std::uint64_t code : {base, base - 1, base + 1, 0 - base}) {
        codes.push_back(code & mask);
      }
    }
  }
  if (from.mantissa < 0) return codes;
  // Every binade, with few bits set near the top of the mantissa and at its very end.
  for (std::uint64_t exponent = 0; exponent < 1ull << from.exponent; ++exponent) {
    for (int i = 0; i < 12; ++i) {
      std::uint64_t fraction = (random() & 31)
                               << (from.mantissa - static_cast<int>(random() % 11) - 5);
      fraction += random() % 3 - 1;
      fraction &= (1ull << from.mantissa) - 1;
      const std::uint64_t code = (exponent << from.mantissa) + fraction;
      codes.push_back(code);
      codes.push_back(code | 1ull << (from.bits - 1));
    }
  }
  return codes;
}

TEST(Mpfr, EveryPairOnSamples) {
  long checked = 0;
  for (const Layout& from : kLayouts) {
    const std::vector<std::uint64_t> codes = Samples(from);
    for (const Layout& to : kLayouts) {
      if (from.id == to.id) continue;
      Checker checker(from, to);
      for (const std::uint64_t code : codes) {
        checker.Check(code);
        if (::testing::Test::HasFatalFailure()) return;
      }
      checked += checker.checked;
    }
  }
  RecordProperty("checked", std::to_string(checked));
  EXPECT_GT(checked, 3'000'000);
}

// The search that RoundFinite falls back on gives what it gives.
TEST(Search, AgreesWithTheGuess) {
  for (const oracle::Row& row : oracle::kRows) {
    if (row.kind != oracle::Kind::kFloating) continue;
    std::mt19937_64 random(7);
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t below = random() % row.largest;
      const oracle::Value a = oracle::Decode(row, below);
      const oracle::Value above_half = {oracle::Value::Is::kFinite, false, 4 * a.digits + 2,
                                        a.exponent - 2, 0};
      EXPECT_EQ(oracle::SearchFloor(row, above_half), below) << row.name;
      const oracle::Rounded rounded =
          oracle::RoundFinite(row, true, above_half, oracle::RoundingMode::kUp);
      EXPECT_EQ(rounded.code, below + below % 2) << row.name;
    }
  }
}

}  // namespace
