// tensorcast: exact, fast tensor casts that say what they lose. The C++20 interface.
//
// A cast is one deterministic function of (source type, destination type, options): one rounding,
// the same bits on every machine, every instruction set and every thread count, whatever the
// caller's floating-point environment. docs/semantics.md says which bits.
//
//   std::vector<float> weights = ...;
//   std::vector<tensorcast::float8e4m3fn> small(weights.size());
//   auto status = tensorcast::Cast(std::span<const float>(weights), std::span(small));
//
// For many casts of one kind bind a CastPlan once and run it. To learn what was lost, pass a
// LossMeter in RunOptions. To use several threads, pass an Executor.
//
// Run does not allocate, but where it measures loss with several threads or out of order. The
// library never logs, exits or reads the environment, and has no global state. It throws nothing
// but std::bad_alloc, out of LossMeter and MakeTbbExecutor, and what an Executor throws. (oneTBB,
// where its executor is used, has threads and environment variables of its own.)
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TENSORCAST_HPP_
#define TENSORCAST_TENSORCAST_HPP_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "tensorcast/detail/export.h"            // TENSORCAST_API
#include "tensorcast/detail/format_algebra.hpp"  // TypeLimits
#include "tensorcast/detail/packing.hpp"
#include "tensorcast/detail/scalar_codec.hpp"  // CastOptions, CastBits
#include "tensorcast/detail/target_table.hpp"  // Target
#include "tensorcast/detail/type_table.hpp"    // DataType, TypeInfo
#include "tensorcast/version.h"                // TENSORCAST_VERSION, TENSORCAST_ABI

namespace tensorcast::core {  // what the classes below hold; internal
struct Bound;
struct LossState;
}  // namespace tensorcast::core

namespace tensorcast::inline TENSORCAST_ABI {

// ------------------------------------------------------------------------------ version

// The library's own version at run time; TENSORCAST_VERSION and TENSORCAST_VERSION_NUMBER
// (version.h) are those of the headers.
TENSORCAST_API std::string_view Version();    // "0.1.0"
TENSORCAST_API std::int32_t VersionNumber();  // 1000

// ------------------------------------------------------------------------------- errors

enum class StatusCode : std::int32_t {
  kOk = 0,
  kInvalidType = 1,        // a DataType that is not in the table
  kInvalidOption = 2,      // an option's value is outside its enum
  kNullPointer = 3,        // a buffer is null and n > 0
  kSizeOverflow = 4,       // an offset plus n, in bits, does not fit 64 bits
  kBufferTooSmall = 5,     // a buffer is shorter than its elements need
  kOverlap = 6,            // source and destination overlap, and not exactly in place
  kUnsupported = 7,        // a loss meter in a cast from or to strings: that is not measured
  kTargetUnavailable = 8,  // the forced target does not run on this machine
  kLossPosition = 9,       // a measured chunk neither begins at a multiple of 1024 nor goes on
  kLossMismatch = 10,      // the meter was made for other types or options
  kOutOfMemory = 11,       // a meter for a worker could not be allocated
  kWrongCall = 12,         // Run is for numbers, Parse from strings, Print to strings
  kNotANumber = 13,        // a text is not a number; ParseFailure says which
  kNotAnInteger = 14,      // a text is nan, inf or outside [-2^63, 2^64), to an integer
  kBadOffsets = 15,        // string offsets decrease, or end beyond the bytes
  kMisaligned = 16,        // a table of offsets is not aligned to 8 bytes
  // Of the C interface only:
  kBadStruct = 17,       // a struct's size is 0, or it asks for what this version does not know
  kExecutorFailed = 18,  // an executor threw, or did not run every task once
  kNoThreads = 19,       // this build has no oneTBB
  // Of ONNX models (onnx.hpp), which say more in a text of their own:
  kFileError = 20,        // the system refused: missing, permission, full
  kBadFile = 21,          // a file's contents are not what they should be
  kUnsupportedFile = 22,  // legal, but not done here
  kBadInput = 23,         // what was asked for or given does not fit the model
  kInterrupted = 24,      // the caller's flag became true
};

// The outcome of a call, by value: a code and one fixed sentence.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr explicit Status(StatusCode code) : code_(code) {}
  constexpr bool ok() const { return code_ == StatusCode::kOk; }
  constexpr StatusCode code() const { return code_; }
  // A sentence in English for the code; static storage.
  TENSORCAST_API std::string_view message() const;
  friend constexpr bool operator==(Status, Status) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
};

// -------------------------------------------------------------------------------- types

// The 26 rows, in the order of ONNX's numbers.
constexpr std::span<const TypeInfo> Types() { return detail::kTypeTable; }

// The row of a type, or nullptr where there is none (kUndefined, complex, an unknown number). (The
// constexpr functions below ask RowIndex: g++'s -fsanitize=undefined compares no constant address.)
constexpr const TypeInfo* FindType(DataType type) {
  return detail::RowIndex(type) < 0 ? nullptr : &detail::Row(type);
}

// The canonical name, or "undefined".
constexpr std::string_view TypeName(DataType type) {
  return detail::RowIndex(type) < 0 ? std::string_view("undefined") : detail::Row(type).name;
}

// The type a name stands for, in every spelling users know and without regard to case, '_', '-',
// '.' and blanks: float16 fp16 f16 half F16, e4m3 fp8_e4m3fn F8_E4M3 float8_e4m3fn FLOAT8E4M3FN,
// torch.bfloat16, numpy's <f4 ...
TENSORCAST_API std::optional<DataType> ParseType(std::string_view name);

// The canonical names a name that ParseType does not know was probably meant to be, nearest first.
TENSORCAST_API std::array<std::string_view, 3> NearestTypeNames(std::string_view name);

// Other spellings of a type that ParseType takes, to show: those users meet most.
TENSORCAST_API std::span<const std::string_view> TypeSpellings(DataType type);

// Bytes that n elements of a fixed-width type take, packed: ceil(n * bits / 8). Nothing for
// string, for a type that is not in the table and where the product does not fit 64 bits.
constexpr std::optional<std::uint64_t> StorageBytes(DataType type, std::uint64_t n) {
  if (detail::RowIndex(type) < 0 || detail::Row(type).bits == 0) return std::nullopt;
  const auto bits = static_cast<std::uint64_t>(detail::Row(type).bits);
  if (n > (UINT64_MAX - 7) / bits) return std::nullopt;
  return (n * bits + 7) / 8;
}

// Finite limits of a type as doubles: those of 64-bit integers are rounded, all others exact. All
// zero for string and for a type that is not in the table.
constexpr TypeLimits LimitsOf(DataType type) {
  return detail::RowIndex(type) < 0 ? TypeLimits{} : detail::LimitsOf(detail::Row(type));
}

// Whether every value of `inner` is a value of `outer`: finite numbers, -0, Inf and NaN (whatever
// its payload). The cast from `inner` to `outer` then loses nothing, and the way back gives the
// value again. A bool counts as 0 or 1, whatever its byte. False for an unknown type.
constexpr bool Contains(DataType outer, DataType inner) {
  return detail::RowIndex(outer) >= 0 && detail::RowIndex(inner) >= 0 &&
         detail::Contains(detail::Row(outer), detail::Row(inner));
}

// ------------------------------------------------------------------------------ targets

// The targets this build has and this machine runs, best first; never empty.
TENSORCAST_API std::span<const Target> Targets();
// "avx2"; "unknown" for any other number.
constexpr std::string_view TargetName(Target target) {
  for (const detail::TargetRow& row : detail::kTargetTable) {
    if (row.target == target) return row.name;
  }
  return "unknown";
}
TENSORCAST_API std::optional<Target> ParseTarget(std::string_view name);

// ------------------------------------------------------------------------------ packing

// The code of element i of a buffer, right-aligned, and the writing of one, which leaves the bits
// beside it as they are and ignores those of `code` above the type's width. Packed or not; for a
// fixed-width type; nothing is checked.
constexpr std::uint64_t LoadCode(DataType type, const std::byte* data, std::uint64_t i) {
  return detail::LoadCode(data, i, detail::Row(type).bits);
}
constexpr void StoreCode(DataType type, std::byte* data, std::uint64_t i, std::uint64_t code) {
  detail::StoreCode(data, i, detail::Row(type).bits, code);
}

// Between packed elements and one in each byte, the layout of numpy and ml_dtypes: n elements,
// those from index `first` of `packed` on. Unpack writes the bits above the type's width as zero,
// Pack ignores them and leaves the bits of `packed` outside the range as they were. The buffers
// must not overlap. Types of eight bits and more are stored alike on both sides and copied; strings
// give kWrongCall. On an error nothing has been written.
TENSORCAST_API Status Unpack(DataType type, std::span<const std::byte> packed, std::uint64_t first,
                             std::span<std::byte> codes, std::uint64_t n,
                             Target target = Target::kBest);
TENSORCAST_API Status Pack(DataType type, std::span<const std::byte> codes,
                           std::span<std::byte> packed, std::uint64_t first, std::uint64_t n,
                           Target target = Target::kBest);

// ----------------------------------------------------------------------------- executor

// Where a cast finds its threads. Implement it over the pool you have.
class TENSORCAST_API Executor {
 public:
  virtual ~Executor();
  // How many tasks can run at once, at least 1.
  virtual std::size_t Concurrency() const noexcept = 0;
  // Calls task(context, i) once for each i in [0, tasks), on any threads in any order, and returns
  // when all have returned. The task does not throw; what ParallelFor throws leaves the call that
  // was given the executor, and what that call has written is unspecified.
  virtual void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                           void* context) = 0;
};

// An executor over oneTBB with at most `threads` threads (0: all cores), fewer where the system
// gives no more; nullptr where the library was built without oneTBB.
TENSORCAST_API std::unique_ptr<Executor> MakeTbbExecutor(std::size_t threads = 0);

// --------------------------------------------------------------------------------- loss

// What happened to elements; each is counted under the first of `nan` to `rounded` that holds.
enum class Loss : std::uint8_t {
  kNan,         // NaN stayed NaN
  kNanLost,     // NaN became a number
  kToNan,       // a number or Inf became NaN
  kExact,       // equal as numbers
  kWrapped,     // an integer that did not fit gave its low bits
  kToInfinity,  // finite became Inf
  kToLimit,     // beyond the type's range, became its end
  kToZero,      // nonzero became zero
  kRounded,     // everything else
  // Beside the partition:
  kToSubnormal,   // the result is a nonzero subnormal
  kZeroSignLost,  // -0 became +0 in a floating type
  kUndefined,     // ONNX's text leaves this result open
};
inline constexpr std::size_t kLossKinds = 12;
inline constexpr std::size_t kLossPartition = 9;  // the first nine sum to `elements`

constexpr std::string_view LossName(Loss loss) {
  constexpr std::string_view kNames[kLossKinds + 1] = {
      "nan",      "nan_lost", "to_nan",  "exact",        "wrapped",        "to_infinity",
      "to_limit", "to_zero",  "rounded", "to_subnormal", "zero_sign_lost", "undefined",
      "unknown"};
  const auto index = static_cast<std::size_t>(loss);
  return kNames[index < kLossKinds ? index : kLossKinds];
}

// One element: its index in the tensor and the two codes, right-aligned bit patterns of their
// types (CastBits(type, DataType::kFloat64, code) gives a value).
struct LossExample {
  std::uint64_t index = 0;
  std::uint64_t source_code = 0;
  std::uint64_t result_code = 0;
};

struct LossReport {
  DataType from = DataType::kUndefined;  // kUndefined: merged of several
  DataType to = DataType::kUndefined;
  std::uint64_t elements = 0;
  std::uint64_t counts[kLossKinds] = {};
  // The first element (lowest index) of each kind; meaningful where its count is not zero.
  LossExample first[kLossKinds] = {};
  // Errors, in double, over the elements finite on both sides (`compared` of them).
  std::uint64_t compared = 0;
  double max_abs_error = 0;
  LossExample max_abs_example;         // meaningful where compared > 0
  std::uint64_t compared_nonzero = 0;  // those with source != 0
  double max_rel_error = 0;
  LossExample max_rel_example;   // meaningful where compared_nonzero > 0
  double sum_squares = 0;        // sum of x^2, rounded once
  double sum_squared_error = 0;  // sum of (x - y)^2, rounded once
  double rmse = 0;               // 0 for no element
  double snr_db = 0;             // 10 log10(sum x^2 / sum (x-y)^2); +Inf where nothing was lost
  // Of the source's finite elements:
  std::uint64_t finite = 0;
  double amax = 0;              // largest magnitude
  double smallest_nonzero = 0;  // smallest magnitude other than 0; 0 where there is none

  std::uint64_t count(Loss loss) const { return counts[static_cast<std::size_t>(loss)]; }
};

// A meter that was moved from may only be assigned to or destroyed. A meter of types or options
// that are none, or of strings, measures nothing: the run that it is given to fails. Gathers the
// loss of one tensor while plans run over it, chunk by chunk. The figures do not depend on the
// chunking, the number of threads or the target. Not for use by two runs at once.
class TENSORCAST_API LossMeter {
 public:
  LossMeter(DataType from, DataType to, const CastOptions& options = {});
  LossMeter(const LossMeter&);
  LossMeter& operator=(const LossMeter&);
  LossMeter(LossMeter&&) noexcept;
  LossMeter& operator=(LossMeter&&) noexcept;
  ~LossMeter();

  // Adds what another meter of the same destination and options gathered: another chunk of the
  // same tensor, or another tensor. In any order the figures are the same, but for the examples of
  // different tensors, whose indices are then no longer of one tensor. This meter may go on with
  // its own types afterwards, where its own last run stopped.
  Status Merge(const LossMeter& other);
  LossReport Report() const;

  // All that it gathered, exactly, as bytes: for another process, or to go on later. They are
  // little-endian and the same for the same gathered on every machine; docs/loss_bytes.md has the
  // layout. Save writes SavedBytes() of them (kBufferTooSmall). Load takes what any version wrote
  // so far and gives the meter that was saved, types, options and the place where its last run
  // stopped included: a run that goes on there, and a merge, give what they would have given.
  // kBadFile where the bytes are none that Save writes; the meter is then as it was.
  static std::size_t SavedBytes();
  Status Save(std::span<std::byte> bytes) const;
  Status Load(std::span<const std::byte> bytes);

 private:
  friend class CastPlan;
  std::unique_ptr<core::LossState> state_;
};

// ------------------------------------------------------------------------------ strings

// Strings in bulk: string i is bytes [offsets[i], offsets[i + 1]), so n strings take n + 1 offsets.
// They do not decrease, and need not begin at 0 (Apache Arrow's large_utf8 layout).
struct Strings {
  std::span<const std::uint64_t> offsets;
  std::span<const char> bytes;

  std::uint64_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  // String i; the offsets are taken as they are.
  std::string_view operator[](std::uint64_t i) const {
    return {bytes.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  }
};

// The failing text with the lowest index, whatever the number of threads.
struct ParseFailure {
  std::uint64_t index = 0;  // in the strings given, source_first included
  // Escaped to printable ASCII, at most 64 characters ("..." where it was cut), and a NUL.
  char text[65] = {};
};

// No number, float or integer of any type, prints longer than this.
inline constexpr std::size_t kLongestPrinted = 32;

// ---------------------------------------------------------------------------- cast plans

struct RunOptions {
  Executor* executor = nullptr;  // none: the calling thread alone
  LossMeter* loss = nullptr;     // none: nothing is measured
  // With `loss`: the index in its tensor of the run's first element. A multiple of 1024, or where
  // the same meter's last run stopped.
  std::uint64_t loss_index = 0;
  Target* ran = nullptr;  // set, by the code that ran, to the target it was compiled for
};

// A cast with its types and options bound: every decision is taken in Bind, Run only runs.
// A plan is a small value; any number of threads may run one at once.
class CastPlan {
 public:
  // Binds (from, to, options) for `target`, the best one unless it is named. Takes some
  // microseconds where both types have eight bits and fewer, which are cast by table; else less
  // than one.
  TENSORCAST_API static Status Bind(DataType from, DataType to, const CastOptions& options,
                                    CastPlan* plan, Target target = Target::kBest);

  // Casts n elements: those from index `source_first` of `source` into those from index
  // `destination_first` of `destination`. Indices count elements, so a packed type may start
  // inside a byte; bits of `destination` outside the range stay as they were. No alignment is
  // needed. The buffers may be exactly the same range where both types have the same width (and
  // the same index); any other overlap is refused. On an error nothing has been written.
  TENSORCAST_API Status Run(std::span<const std::byte> source, std::uint64_t source_first,
                            std::span<std::byte> destination, std::uint64_t destination_first,
                            std::uint64_t n, const RunOptions& run = {}) const;

  // From strings (a plan whose `from` is kString): n texts from index `source_first` on, as
  // docs/semantics.md reads them, into elements of `destination`, as Run does. On kNotANumber and
  // kNotAnInteger `failure`, where given, says which text; what `destination` holds of the range
  // is then unspecified.
  TENSORCAST_API Status Parse(const Strings& source, std::uint64_t source_first,
                              std::span<std::byte> destination, std::uint64_t destination_first,
                              std::uint64_t n, const RunOptions& run = {},
                              ParseFailure* failure = nullptr) const;

  // To strings (a plan whose `to` is kString): how many bytes Print will write for these elements.
  TENSORCAST_API Status PrintedBytes(std::span<const std::byte> source, std::uint64_t source_first,
                                     std::uint64_t n, std::uint64_t* bytes,
                                     const RunOptions& run = {}) const;

  // Prints n elements: offsets[0, n] from 0 on, and the texts into `bytes`, with nothing between
  // them. On kBufferTooSmall what the two hold is unspecified. Allocates with an executor.
  TENSORCAST_API Status Print(std::span<const std::byte> source, std::uint64_t source_first,
                              std::uint64_t n, std::span<std::uint64_t> offsets,
                              std::span<char> bytes, const RunOptions& run = {}) const;

  DataType from() const { return from_; }
  DataType to() const { return to_; }
  const CastOptions& options() const { return options_; }
  TENSORCAST_API Target target() const;  // the target the plan is bound to

 private:
  friend Status Cast(DataType, std::span<const std::byte>, DataType, std::span<std::byte>,
                     std::uint64_t, const CastOptions&, const RunOptions&);
  static Status BindFor(std::uint64_t n, DataType from, DataType to, const CastOptions& options,
                        CastPlan* plan, Target target);
  DataType from_ = DataType::kUndefined;
  DataType to_ = DataType::kUndefined;
  CastOptions options_;
  alignas(std::uint64_t) std::byte bound_[512] = {};
  core::Bound* bound();
  const core::Bound* bound() const;
};

// Casts a whole tensor of n elements between raw buffers: StorageBytes(type, n) bytes are read and
// written, the pad bits of a packed destination as zero.
TENSORCAST_API Status Cast(DataType from, std::span<const std::byte> source, DataType to,
                           std::span<std::byte> destination, std::uint64_t n,
                           const CastOptions& options = {}, const RunOptions& run = {});

// Parses all of `source`: StorageBytes(to, source.size()) bytes are written, pad bits as zero.
TENSORCAST_API Status ParseStrings(const Strings& source, DataType to,
                                   std::span<std::byte> destination,
                                   const CastOptions& options = {}, const RunOptions& run = {},
                                   ParseFailure* failure = nullptr);

// Prints a whole tensor of n elements; PrintedStringBytes says how many bytes that takes.
TENSORCAST_API Status PrintedStringBytes(DataType from, std::span<const std::byte> source,
                                         std::uint64_t n, std::uint64_t* bytes,
                                         const CastOptions& options = {},
                                         const RunOptions& run = {});
TENSORCAST_API Status PrintStrings(DataType from, std::span<const std::byte> source,
                                   std::uint64_t n, std::span<std::uint64_t> offsets,
                                   std::span<char> bytes, const CastOptions& options = {},
                                   const RunOptions& run = {});

// The cast from string to string: the same texts, with offsets from 0 on and nothing between them.
TENSORCAST_API Status CopyStrings(const Strings& source, std::span<std::uint64_t> offsets,
                                  std::span<char> bytes);

// One text to the code of an element, and one code to its text (at most kLongestPrinted
// characters in `buffer`; `text` is set to view them).
TENSORCAST_API Status ParseValue(std::string_view text, DataType to, std::uint64_t* code,
                                 const CastOptions& options = {});
TENSORCAST_API Status PrintValue(DataType from, std::uint64_t code,
                                 std::span<char, kLongestPrinted> buffer, std::string_view* text,
                                 const CastOptions& options = {});

// ----------------------------------------------------------------------- elements in C++

// A code of a narrow float: storage, no arithmetic. The sub-byte types have no C++ element.
struct float16 {
  std::uint16_t bits;
};
struct bfloat16 {
  std::uint16_t bits;
};
struct float8e4m3fn {
  std::uint8_t bits;
};
struct float8e4m3fnuz {
  std::uint8_t bits;
};
struct float8e5m2 {
  std::uint8_t bits;
};
struct float8e5m2fnuz {
  std::uint8_t bits;
};
struct float8e8m0 {
  std::uint8_t bits;
};

// The DataType of a C++ element; kUndefined for any other C++ type.
template <class T> inline constexpr DataType kDataTypeOf = DataType::kUndefined;
template <> inline constexpr DataType kDataTypeOf<float> = DataType::kFloat32;
template <> inline constexpr DataType kDataTypeOf<double> = DataType::kFloat64;
template <> inline constexpr DataType kDataTypeOf<bool> = DataType::kBool;
template <> inline constexpr DataType kDataTypeOf<std::int8_t> = DataType::kInt8;
template <> inline constexpr DataType kDataTypeOf<std::uint8_t> = DataType::kUint8;
template <> inline constexpr DataType kDataTypeOf<std::int16_t> = DataType::kInt16;
template <> inline constexpr DataType kDataTypeOf<std::uint16_t> = DataType::kUint16;
template <> inline constexpr DataType kDataTypeOf<std::int32_t> = DataType::kInt32;
template <> inline constexpr DataType kDataTypeOf<std::uint32_t> = DataType::kUint32;
template <> inline constexpr DataType kDataTypeOf<std::int64_t> = DataType::kInt64;
template <> inline constexpr DataType kDataTypeOf<std::uint64_t> = DataType::kUint64;
template <> inline constexpr DataType kDataTypeOf<float16> = DataType::kFloat16;
template <> inline constexpr DataType kDataTypeOf<bfloat16> = DataType::kBfloat16;
template <> inline constexpr DataType kDataTypeOf<float8e4m3fn> = DataType::kFloat8E4M3FN;
template <> inline constexpr DataType kDataTypeOf<float8e4m3fnuz> = DataType::kFloat8E4M3FNUZ;
template <> inline constexpr DataType kDataTypeOf<float8e5m2> = DataType::kFloat8E5M2;
template <> inline constexpr DataType kDataTypeOf<float8e5m2fnuz> = DataType::kFloat8E5M2FNUZ;
template <> inline constexpr DataType kDataTypeOf<float8e8m0> = DataType::kFloat8E8M0;

template <class T>
concept Element = kDataTypeOf<std::remove_cv_t<T>>
!= DataType::kUndefined;

// Casts a span of typed elements into another of at least the same length (else
// kBufferTooSmall).
template <Element From, Element To>
Status Cast(std::span<const From> source, std::span<To> destination,
            const CastOptions& options = {}, const RunOptions& run = {}) {
  return Cast(kDataTypeOf<From>, std::as_bytes(source), kDataTypeOf<To>,
              std::as_writable_bytes(destination), source.size(), options, run);
}

namespace detail {
template <std::size_t Size> struct CodeOfSize;
template <> struct CodeOfSize<1> { using Type = std::uint8_t; };
template <> struct CodeOfSize<2> { using Type = std::uint16_t; };
template <> struct CodeOfSize<4> { using Type = std::uint32_t; };
template <> struct CodeOfSize<8> { using Type = std::uint64_t; };
}  // namespace detail

// Casts one value, at compile time where wanted: constexpr auto h = CastValue<float16>(1.5f).
template <Element To, Element From>
constexpr To CastValue(From value, const CastOptions& options = {}) {
  using FromCode = typename detail::CodeOfSize<sizeof(From)>::Type;
  using ToCode = typename detail::CodeOfSize<sizeof(To)>::Type;
  return std::bit_cast<To>(static_cast<ToCode>(
      CastBits(kDataTypeOf<From>, kDataTypeOf<To>, std::bit_cast<FromCode>(value), options)));
}

}  // namespace tensorcast::inline TENSORCAST_ABI

#endif  // TENSORCAST_TENSORCAST_HPP_
