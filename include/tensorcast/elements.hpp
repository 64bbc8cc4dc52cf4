// Elements as C++ types: which C++ type holds an element of which DataType. tensorcast.hpp includes
// this and is the manual.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_ELEMENTS_HPP_
#define TENSORCAST_ELEMENTS_HPP_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#if __has_include(<stdfloat>)
#include <stdfloat>
#endif

#include "tensorcast/detail/type_table.hpp"
#include "tensorcast/types.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

namespace detail {

template <class T, class... Others>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Others> || ...);

// float, double, bool and every integer type (by width: long and long long alike). Characters are
// text, not elements.
template <class T> constexpr DataType BuiltInElementType() {
  if constexpr (std::is_same_v<T, float>) {
    return DataType::kFloat32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DataType::kFloat64;
  } else if constexpr (std::is_same_v<T, bool>) {
    return DataType::kBool;
  } else if constexpr (std::is_integral_v<T> &&
                       !kIsOneOf<T, char, wchar_t, char8_t, char16_t, char32_t>) {
    switch (sizeof(T)) {
      case 1: return std::is_signed_v<T> ? DataType::kInt8 : DataType::kUint8;
      case 2: return std::is_signed_v<T> ? DataType::kInt16 : DataType::kUint16;
      case 4: return std::is_signed_v<T> ? DataType::kInt32 : DataType::kUint32;
      case 8: return std::is_signed_v<T> ? DataType::kInt64 : DataType::kUint64;
      default: break;
    }
  }
  return DataType::kUndefined;
}

template <DataType kType> struct ElementTypeIs { static constexpr DataType value = kType; };

}  // namespace detail

// The DataType of a C++ type, or kUndefined. Specialize it for a type of your own that holds an
// element's bits and nothing else:
//
//   template <> struct tensorcast::ElementType<mine::half> {
//     static constexpr tensorcast::DataType value = tensorcast::DataType::kFloat16;
//   };
template <class T> struct ElementType {
  static constexpr DataType value = detail::BuiltInElementType<T>();
};

// A code of a narrow float: storage without arithmetic. Types below a byte have no C++ element.
//   struct float16 { std::uint16_t bits; };
#define TENSORCAST_ELEMENT(Name, Bits, kType) \
  struct Name {                               \
    Bits bits;                                \
  };                                          \
  template <> struct ElementType<Name> : detail::ElementTypeIs<DataType::kType> {}
TENSORCAST_ELEMENT(float16, std::uint16_t, kFloat16);
TENSORCAST_ELEMENT(bfloat16, std::uint16_t, kBfloat16);
TENSORCAST_ELEMENT(float8e4m3fn, std::uint8_t, kFloat8E4M3FN);
TENSORCAST_ELEMENT(float8e4m3fnuz, std::uint8_t, kFloat8E4M3FNUZ);
TENSORCAST_ELEMENT(float8e5m2, std::uint8_t, kFloat8E5M2);
TENSORCAST_ELEMENT(float8e5m2fnuz, std::uint8_t, kFloat8E5M2FNUZ);
TENSORCAST_ELEMENT(float8e8m0, std::uint8_t, kFloat8E8M0);
#undef TENSORCAST_ELEMENT

// The types of the compiler and of C++23, where they exist. std::float16_t is _Float16, and
// std::bfloat16_t is __bf16. g++ has _Float16 in C++ since 13, on x86 since 12.
#if defined(__FLT16_MANT_DIG__) && \
    (defined(__clang__) || __GNUC__ >= 13 || defined(__x86_64__) || defined(__i386__))
#define TENSORCAST_HAS_FLOAT16 1
__extension__ template <>
struct ElementType<_Float16> : detail::ElementTypeIs<DataType::kFloat16> {};
#endif
#if defined(__BFLT16_MANT_DIG__)
__extension__ template <>
struct ElementType<__bf16> : detail::ElementTypeIs<DataType::kBfloat16> {};
#endif
#if defined(__STDCPP_FLOAT32_T__)
template <> struct ElementType<std::float32_t> : detail::ElementTypeIs<DataType::kFloat32> {};
#endif
#if defined(__STDCPP_FLOAT64_T__)
template <> struct ElementType<std::float64_t> : detail::ElementTypeIs<DataType::kFloat64> {};
#endif

template <class T> inline constexpr DataType kDataTypeOf = ElementType<std::remove_cv_t<T>>::value;

// A C++ type that holds one element: as wide as the codes of its DataType, and copied as bytes.
template <class T>
concept Element = kDataTypeOf<T>
!= DataType::kUndefined && !std::is_volatile_v<T> && std::is_trivially_copyable_v<T> &&
    detail::RowIndex(kDataTypeOf<T>) >= 0 &&
    detail::Row(kDataTypeOf<T>).bits == 8 * static_cast<int>(sizeof(T));

namespace detail {

template <class Range> using SpanOf = decltype(std::span(std::declval<Range>()));

template <std::size_t kSize> struct CodeOfSize;
template <> struct CodeOfSize<1> { using Type = std::uint8_t; };
template <> struct CodeOfSize<2> { using Type = std::uint16_t; };
template <> struct CodeOfSize<4> { using Type = std::uint32_t; };
template <> struct CodeOfSize<8> { using Type = std::uint64_t; };

}  // namespace detail

// A range of elements that std::span can view: a std::vector, a std::array, a C array, a std::span.
// A writable one is not const, and not a temporary that owns its elements.
template <class Range>
concept ElementRange = Element < typename detail::SpanOf < const std::remove_reference_t<Range>
& > ::value_type > ;
template <class Range>
concept WritableElementRange = Element<typename detail::SpanOf<Range>::value_type> &&
    !std::is_const_v<typename detail::SpanOf<Range>::element_type>;

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_ELEMENTS_HPP_
