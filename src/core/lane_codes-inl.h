// Codes of at most four bits to results of 16 bits and more, in the results' own lanes: each lane
// shifts its code out of a vector in which the codes of all lanes stand, and looks its result up or
// extends the code. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LANE_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LANE_CODES_INL_H_
#undef TENSORCAST_SRC_CORE_LANE_CODES_INL_H_
#else
#define TENSORCAST_SRC_CORE_LANE_CODES_INL_H_
#endif

#include "core/code_table.h"
#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

#if TENSORCAST_AVX2
template <class T> HWY_INLINE auto BroadcastFrom(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof(T));
  return hn::Set(hn::ScalableTag<T>(), value).raw;
}
#endif

#if TENSORCAST_AVX512
template <int kInBits, int kOutBits> class LaneLookup {
 public:
  static constexpr std::size_t kElements = 64;

  explicit HWY_INLINE LaneLookup(const CodeTable& table) {
    rows_[0] = _mm512_load_si512(table.results);
    rows_[1] = _mm512_load_si512(table.results + 8);
    if constexpr (kOutBits == 32) {
      rows_[0] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(rows_[0])),
                                    _mm512_cvtepi64_epi32(rows_[1]), 1);
    } else if constexpr (kOutBits == 16) {
      rows_[0] = _mm512_broadcast_i64x4(
          _mm256_set_m128i(_mm512_cvtepi64_epi16(rows_[1]), _mm512_cvtepi64_epi16(rows_[0])));
    }
  }
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    EachVector(in, out, std::make_index_sequence<kOutBits / 8>());
  }

 private:
  template <std::size_t... kVectors>
  HWY_INLINE void EachVector(const std::byte* in, std::byte* out,
                             std::index_sequence<kVectors...>) const {
    (_mm512_storeu_si512(out + 64 * kVectors, Vector<kVectors>(in)), ...);
  }
  // A permutation ignores what stands above the bits of its index; rows for fewer bits repeat.
  template <std::size_t kVector> HWY_INLINE __m512i Vector(const std::byte* in) const {
    constexpr std::size_t kLanes = 512 / kOutBits;
    constexpr std::size_t kBytes = kLanes * kInBits / 8;
    if constexpr (kOutBits == 16 && kInBits == 4) {
      // A byte to two lanes, with its second code at the beginning of the upper one.
      const __m512i pairs = _mm512_cvtepu8_epi32(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + kBytes * kVector)));
      return _mm512_permutexvar_epi16(_mm512_or_si512(pairs, _mm512_slli_epi32(pairs, 12)),
                                      rows_[0]);
    } else if constexpr (kOutBits == 16) {
      constexpr unsigned kInWord = 16 / kInBits;
      constexpr auto kByte = [](unsigned i) { return i / 2 / kInWord * 2 + i % 2; };
      constexpr auto kShift = [](unsigned i) { return i % kInWord * kInBits; };
      const __m512i all = BroadcastFrom<std::uint64_t>(in + kBytes * kVector);
      const __m512i words = _mm512_shuffle_epi8(all, ConstantLanes<std::uint8_t, kByte>());
      return _mm512_permutexvar_epi16(
          _mm512_srlv_epi16(words, ConstantLanes<std::uint16_t, kShift>()), rows_[0]);
    } else if constexpr (kOutBits == 32) {
      constexpr unsigned kInWord = 32 / kInBits;
      constexpr auto kShift = [](unsigned i) { return i % kInWord * kInBits; };
      __m512i all;
      if constexpr (kInBits == 4) {
        constexpr auto kWord = [](unsigned i) { return 2 * kVector + i / kInWord; };
        all = _mm512_permutexvar_epi32(
            ConstantLanes<std::uint32_t, kWord>(),
            _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in))));
      } else {
        all = BroadcastFrom<std::uint32_t>(in + kBytes * kVector);
      }
      return _mm512_permutexvar_epi32(
          _mm512_srlv_epi32(all, ConstantLanes<std::uint32_t, kShift>()), rows_[0]);
    } else {
      constexpr std::size_t kVectorsOfWord = 4 / kBytes;
      constexpr auto kShift = [](unsigned i) {
        return (kVector % kVectorsOfWord * kLanes + i) * kInBits;
      };
      const __m512i all = BroadcastFrom<std::uint32_t>(in + kVector / kVectorsOfWord * 4);
      const __m512i index = _mm512_srlv_epi64(all, ConstantLanes<std::uint64_t, kShift>());
      if constexpr (kInBits == 2) return _mm512_permutexvar_epi64(index, rows_[0]);
      return _mm512_permutex2var_epi64(rows_[0], index, rows_[1]);
    }
  }

  __m512i rows_[2];
};
#elif HWY_TARGET == HWY_AVX2
// Integers to wider ones: a code is shifted to its lane's upper end and from there to the lower.
template <int kInBits, int kOutBits, Extension kExtension>
HWY_INLINE void ExtendStep(const std::byte* in, std::byte* out) {
  constexpr bool kSign = kExtension == Extension::kSign;
  constexpr std::size_t kLanes = 256 / kOutBits;
  constexpr std::size_t kBytes = kLanes * kInBits / 8;
  const auto vector = [in]<std::size_t kVector>() HWY_ATTR {
    if constexpr (kOutBits == 16) {
      constexpr unsigned kInByte = 8 / kInBits;
      constexpr auto kByte = [](unsigned i) { return i % 2 == 0 ? 0x80 : i / 2 / kInByte; };
      constexpr auto kFactor = [](unsigned i) {
        return 1 << (8 - kInBits - i % kInByte * kInBits);
      };
      using Codes = std::conditional_t<kInBits == 4, std::uint64_t, std::uint32_t>;
      const __m256i all = BroadcastFrom<Codes>(in + kBytes * kVector);
      const __m256i top =
          _mm256_mullo_epi16(_mm256_shuffle_epi8(all, ConstantLanes<std::uint8_t, kByte>()),
                             ConstantLanes<std::uint16_t, kFactor>());
      return kSign ? _mm256_srai_epi16(top, 16 - kInBits) : _mm256_srli_epi16(top, 16 - kInBits);
    } else {
      // A lane of 64 bits is two words, of which the upper one has the sign alone.
      constexpr std::size_t kVectorsOfWord = 4 / kBytes;
      constexpr unsigned kWords = kOutBits / 32;
      constexpr auto kShift = [](unsigned i) {
        return 32 - kInBits - (kVector % kVectorsOfWord * kLanes + i / kWords) * kInBits;
      };
      constexpr auto kBack = [](unsigned i) {
        return i % kWords == 0 ? 32 - kInBits : kSign ? 31 : 32;
      };
      const __m256i all = BroadcastFrom<std::uint32_t>(in + kVector / kVectorsOfWord * 4);
      const __m256i top = _mm256_sllv_epi32(all, ConstantLanes<std::uint32_t, kShift>());
      const __m256i back = ConstantLanes<std::uint32_t, kBack>();
      return kSign ? _mm256_srav_epi32(top, back) : _mm256_srlv_epi32(top, back);
    }
  };
  const auto each = [&]<std::size_t... kVectors>(std::index_sequence<kVectors...>) HWY_ATTR {
    (_mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32 * kVectors),
                         vector.template operator()<kVectors>()),
     ...);
  };
  each(std::make_index_sequence<kOutBits / 8>());
}

template <int kInBits, int kOutBits, Extension kExtension>
void ExtendStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  constexpr std::size_t kElements = kLanesOf<std::uint8_t>;
  ForEachStep<kInBits, kOutBits, kElements>(in, out, n, ExtendStep<kInBits, kOutBits, kExtension>);
}

// Null where results are no extensions.
template <int kInBits, int kOutBits> Stage ExtensionStage(const CodeTable& table) {
  switch (table.extension) {
    case Extension::kZeros: return &ExtendStage<kInBits, kOutBits, Extension::kZeros>;
    case Extension::kSign: return &ExtendStage<kInBits, kOutBits, Extension::kSign>;
    case Extension::kNone: break;
  }
  return nullptr;
}
#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_SRC_CORE_LANE_CODES_INL_H_
