// Codes of two bits to 16 bits and more on AVX2: integers are extended, results whose last two
// bytes are all that is not zero are looked up. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_TWO_BITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_TWO_BITS_INL_H_
#undef TENSORCAST_SRC_CORE_TWO_BITS_INL_H_
#else
#define TENSORCAST_SRC_CORE_TWO_BITS_INL_H_
#endif

#include "core/code_table.h"
#include "core/halves-inl.h"
#include "core/interleave-inl.h"
#include "core/lane_codes-inl.h"

#if HWY_TARGET == HWY_AVX2
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// Half a byte is an index. An even code stands at its lower end and an odd one at its upper end,
// with zeros beside it, so that no code is shifted to its place: a row of 16 has the results of
// both.
template <int kOutBits> class TwoBits {
  static constexpr unsigned kWidth = kOutBits / 8;  // bytes of a result

 public:
  static constexpr std::size_t kElements = 32;
  static constexpr TableShape kShape = kWidth == 2   ? TableShape::kWhole
                                       : kWidth == 4 ? TableShape::kUpper
                                                     : TableShape::kTop;
  static_assert(PlanesOf(kShape, kOutBits) == 2);

  explicit HWY_INLINE TwoBits(const CodeTable& table)
      : before_(Row(table.bytes[0])), last_(Row(table.bytes[1])) {}
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    const __m256i index = LoadIndices(in);
    const __m256i before = _mm256_shuffle_epi8(before_, index);
    const __m256i last = _mm256_shuffle_epi8(last_, index);
    constexpr std::size_t kHalf = kElements / 2 * kWidth;
    StoreHalves(_mm256_unpacklo_epi8(before, last), out);
    StoreHalves(_mm256_unpackhi_epi8(before, last), out + kHalf);
  }

 private:
  static HWY_INLINE __m256i Row(const std::uint8_t* results) {
    constexpr auto kCode = [](unsigned i) { return i % 16 < 4 ? i % 4 : i % 16 / 4; };
    return _mm256_shuffle_epi8(hn::LoadDup128(D8(), results).raw,
                               ConstantLanes<std::uint8_t, kCode>());
  }
  // Of eight bytes, as Spread has their codes (interleave-inl.h).
  static HWY_INLINE __m256i LoadIndices(const std::byte* in) {
    constexpr auto kPlace = [](unsigned i) {
      const std::size_t element = ElementAt<kWidth>(i);
      return element / 4 + element % 4 / 2 * 8;
    };
    constexpr auto kMask = [](unsigned i) { return i % 2 == 0 ? 0x03 : 0x0C; };
    // The bytes, and once more so that their upper halves are lower ones.
    const __m256i bytes = BroadcastFrom<std::uint64_t>(in);
    const __m256i halves = _mm256_srlv_epi64(bytes, _mm256_setr_epi64x(0, 4, 0, 4));
    return _mm256_and_si256(_mm256_shuffle_epi8(halves, ConstantLanes<std::uint8_t, kPlace>()),
                            ConstantLanes<std::uint8_t, kMask>());
  }
  // 16 results from their last two bytes.
  static HWY_INLINE void StoreHalves(__m256i halves, std::byte* out) {
    const auto store = [out](__m256i results, std::size_t i)
                           HWY_ATTR { Store(V8{results}, D8(), out + 32 * i); };
    if constexpr (kWidth == 2) {
      store(halves, 0);
    } else if constexpr (kWidth == 4) {
      store(_mm256_unpacklo_epi16(_mm256_setzero_si256(), halves), 0);
      store(_mm256_unpackhi_epi16(_mm256_setzero_si256(), halves), 1);
    } else {
      store(Top<0>(halves), 0);
      store(Top<1>(halves), 1);
      store(Top<2>(halves), 2);
      store(Top<3>(halves), 3);
    }
  }
  // Two of each block's eight halves, at the upper ends of lanes of 64 bits.
  template <unsigned kVector> static HWY_INLINE __m256i Top(__m256i halves) {
    constexpr auto kPlace = [](unsigned i) {
      return i % 8 < 6 ? 0x80 : 4 * kVector + i % 16 / 8 * 2 + i % 2;
    };
    return _mm256_shuffle_epi8(halves, ConstantLanes<std::uint8_t, kPlace>());
  }

  __m256i before_, last_;
};

template <int kOutBits>
void TwoBitsStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  using Results = TwoBits<kOutBits>;
  ForEachStep<2, kOutBits, Results::kElements>(in, out, n, Results(*args.table));
}

// Null where results are neither.
template <int kOutBits> Stage StageOfTwoBits(const CodeTable& table) {
  if (const Stage stage = ExtensionStage<2, kOutBits>(table)) return stage;
  return table.shape == TwoBits<kOutBits>::kShape ? &TwoBitsStage<kOutBits> : nullptr;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // TENSORCAST_SRC_CORE_TWO_BITS_INL_H_
