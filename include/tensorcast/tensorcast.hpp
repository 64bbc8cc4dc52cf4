// tensorcast: exact, fast tensor casts that say what they lose. The C++20 interface.
//
// A cast is one deterministic function of (source type, destination type, options): one rounding,
// the same bits on every machine, every instruction set and every thread count, whatever the
// caller's floating-point environment. docs/semantics.md says which bits.
//
//   std::vector<float> weights = ...;
//   std::vector<tensorcast::float8e4m3fn> small(weights.size());
//   tensorcast::Status status = tensorcast::Cast(weights, small);
//
// For many casts of one kind bind a CastPlan once and run it. To learn what was lost, pass a
// LossMeter in RunOptions. To use several threads, pass an Executor.
//
// What a user names stands here and in the three headers this one includes for it: types.hpp
// (element types, options, targets), elements.hpp (elements as C++ types) and version.h. Nothing of
// tensorcast::detail and tensorcast::core is meant for users.
//
// Run does not allocate, but where it measures loss with several threads or out of order. The
// library never logs, exits or reads the environment, and has no global state but each thread's
// last refusal. It throws nothing but std::bad_alloc, out of LossMeter and MakeTbbExecutor, and
// what an Executor throws. (oneTBB, where its executor is used, has threads and environment
// variables of its own.)
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TENSORCAST_HPP_
#define TENSORCAST_TENSORCAST_HPP_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "tensorcast/detail/format_algebra.hpp"
#include "tensorcast/detail/packing.hpp"
#include "tensorcast/detail/scalar_codec.hpp"
#include "tensorcast/detail/target_table.hpp"
#include "tensorcast/detail/type_table.hpp"
#include "tensorcast/elements.hpp"  // float16 ..., ElementType, Element
#include "tensorcast/export.h"      // TENSORCAST_API
#include "tensorcast/types.hpp"     // DataType, TypeInfo, TypeLimits, CastOptions, Target
#include "tensorcast/version.h"     // TENSORCAST_VERSION, TENSORCAST_ABI

namespace tensorcast::core {  // what the classes below hold; internal
struct Bound;
struct LossState;
struct MeterAccess;
}  // namespace tensorcast::core

namespace tensorcast {
inline namespace TENSORCAST_ABI {

// ------------------------------------------------------------------------------ version

// The library's own version at run time; TENSORCAST_VERSION and TENSORCAST_VERSION_NUMBER
// (version.h) are those of the headers.
TENSORCAST_API std::string_view Version();    // "0.1.0"
TENSORCAST_API std::int32_t VersionNumber();  // 1000

// ------------------------------------------------------------------------------- errors

enum class StatusCode : std::int32_t {
  kOk = 0,
  kInvalidType = 1,        // a DataType, or a name, that is not an element type
  kInvalidOption = 2,      // an option's value is outside its enum
  kNullPointer = 3,        // a buffer is null and n > 0
  kSizeOverflow = 4,       // an offset plus n, in bits, does not fit 64 bits
  kBufferTooSmall = 5,     // a buffer is shorter than its elements need
  kOverlap = 6,            // source and destination overlap, and not exactly in place
  kUnsupported = 7,        // strings have no fixed size, and their casts no loss meter
  kTargetUnavailable = 8,  // no such target, or it is not in this build or this machine
  kLossPosition = 9,       // a measured chunk neither begins at a multiple of 1024 nor goes on
  kLossMismatch = 10,      // the meter was made for other types or options
  kOutOfMemory = 11,       // a meter for a worker could not be allocated
  kWrongCall = 12,         // a call for numbers was given strings, or the other way round
  kNotANumber = 13,        // a text is not a number; ParseFailure says which
  kNotAnInteger = 14,      // a text is nan, inf or outside [-2^63, 2^64), to an integer
  kBadOffsets = 15,        // string offsets decrease, or end beyond the bytes
  kMisaligned = 16,        // a table of offsets is not aligned to 8 bytes
  // Of the C interface only, whose executors are not trusted to keep their word:
  kBadStruct = 17,       // a struct's size is 0, or it asks for what this version does not know
  kExecutorFailed = 18,  // an executor threw (of C++ too), or did not run every task once
  kNoThreads = 19,       // this build has no oneTBB
  // Of ONNX models (onnx.hpp), which say more in a text of their own:
  kFileError = 20,        // the system refused: missing, permission, full
  kBadFile = 21,          // a file's contents are not what they should be
  kUnsupportedFile = 22,  // legal, but not done here
  kBadInput = 23,         // what was asked for or given does not fit the model
  kInterrupted = 24,      // the caller's flag became true
  // Of graphs (graph.hpp):
  kNoSuchName = 25,   // nothing in the graph has the name
  kNoSuchIndex = 26,  // the graph has nothing at the index
  // Of every call that takes an `error`, and of the C interface:
  kInternalError = 27,   // something was thrown that nobody foresaw: a fault of the library
  kCallbackFailed = 28,  // a function that the caller gave threw
};

// What else could have been asked for, where that lifts a refusal. The sentence of the error ends
// so that a program which can ask for it may go on in its own words ("with --force").
enum class Remedy : std::int32_t {
  kNone = 0,
  kAllowHardLinks = 1,    // reading a model's data from files that have hard links
  kAllowOverwriting = 2,  // replacing the output
  kChooseOneTensor = 3,   // one tensor: the output holds one
  kLeaveOut = 4,          // no cast of the tensor
  kIgnoreScales = 5,      // no cast of the tensor, or of its bare codes
  kTakeDirectory = 6,     // the directory as one input, or as above
  kKeepPacked = 7,        // what is packed left as it is
  kAssumeType = 8,        // a type for elements that have none
  // Another pattern: the sentence begins with one that matches no tensor ...
  kMatchRule = 9,
  kMatchChosen = 10,
  kMatchExcluded = 11,
  kMatchNames = 12,  // ... or says where it stands.
  kChooseRoot = 13,  // one of a torch file's dicts
};

// The outcome of a call, by value: a code, one fixed sentence, and what would lift a refusal.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr explicit Status(StatusCode code, Remedy remedy = Remedy::kNone)
      : code_(code), remedy_(remedy) {}
  constexpr bool ok() const { return code_ == StatusCode::kOk; }
  constexpr StatusCode code() const { return code_; }
  constexpr Remedy remedy() const { return remedy_; }
  // A sentence in English for the code; static storage.
  TENSORCAST_API std::string_view message() const;
  friend constexpr bool operator==(Status, Status) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  Remedy remedy_ = Remedy::kNone;
};

// A refusal whole: what a call that failed says in its Status and in its `error`, and what of.
struct Refusal {
  StatusCode kind = StatusCode::kOk;
  Remedy remedy = Remedy::kNone;
  // What was refused, as it was given or stands in its file, not escaped: the path of a file, the
  // name of a tensor, a pattern. Empty where the text alone says it.
  std::string_view subject;
  std::string_view text;  // what `error` is set to
  // The system's number (errno) for why it refuses the file, which is the subject; 0: it does not.
  int system_error = 0;
};

// What the last call of this thread that failed was refused for, of the calls that take an `error`,
// also where none is given; kOk: none has failed. The views stay until the next of them fails. Of a
// text of more than 4,096 bytes it has the beginning, of a longer subject nothing.
TENSORCAST_API Refusal LastRefusal() noexcept;

// -------------------------------------------------------------------------------- types

// The rows, in the order of ONNX's numbers.
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

// The canonical names a name that ParseType does not know was probably meant to be, nearest first;
// empty behind the last that is near, all three where none is.
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

// -------------------------------------------------------------------------------- codes

// Casts one element given as its code: the bit pattern, right-aligned (bits above the type's width
// are ignored). The types are of fixed width and the options valid; for anything else the result is
// 0.
constexpr std::uint64_t CastBits(DataType from, DataType to, std::uint64_t code,
                                 const CastOptions& options = {}) {
  if (detail::RowIndex(from) < 0 || detail::RowIndex(to) < 0 || from == DataType::kString ||
      to == DataType::kString || !IsValid(options)) {
    return 0;
  }
  return detail::CastCode(detail::Row(from), detail::Row(to), code, options);
}

// The value of a code, as a double: exact but for 64-bit integers, which are rounded to nearest. 0
// for string and for anything that is not a type.
constexpr double ValueOf(DataType type, std::uint64_t code) {
  return std::bit_cast<double>(CastBits(type, DataType::kFloat64, code));
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
// must not overlap. Types of eight bits and more are stored alike on both sides and copied. On an
// error nothing has been written. Codes: kInvalidType, kWrongCall (strings), kTargetUnavailable,
// kSizeOverflow, kNullPointer, kBufferTooSmall, kOverlap.
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

// Gathers the loss of one tensor while plans run over it, chunk by chunk. The figures do not depend
// on the chunking, the number of threads or the target. Not for use by two runs at once. A meter
// made of anything that is not a type or an option, or of strings, measures nothing: the run that
// it is given to fails. A meter that was moved from may only be assigned to or destroyed.
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
  // its own types afterwards, where its own last run stopped. Code: kLossMismatch.
  Status Merge(const LossMeter& other);
  LossReport Report() const;

  // All that it gathered, exactly, as bytes: for another process, or to go on later. They are
  // little-endian and the same for the same gathered on every machine; docs/loss_bytes.md has the
  // layout. Save writes SavedBytes() of them (kBufferTooSmall). Load takes what any version wrote
  // so far and gives the meter that was saved, types, options and the place where its last run
  // stopped included: a run that goes on there, and a merge, give what they would have given.
  // kBadFile where the bytes are not such as Save writes; the meter is then as it was.
  static std::size_t SavedBytes();
  Status Save(std::span<std::byte> bytes) const;
  Status Load(std::span<const std::byte> bytes);

 private:
  friend class CastPlan;
  friend struct core::MeterAccess;
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

// How often a run looks whether it is interrupted: bytes, in and out together, and strings.
inline constexpr std::uint64_t kInterruptBytes = 1 << 20;
inline constexpr std::uint64_t kInterruptStrings = 1 << 14;

struct RunOptions {
  Executor* executor = nullptr;  // none: the calling thread alone
  LossMeter* loss = nullptr;     // none: nothing is measured
  // With `loss`: the index in its tensor of the run's first element. A multiple of 1024, or where
  // the same meter's last run stopped.
  std::uint64_t loss_index = 0;
  Target* ran = nullptr;  // set, by the code that ran, to the target it was compiled for
  // Once true, by another thread, the run ends with kInterrupted before its next piece of
  // kInterruptBytes or kInterruptStrings; what destination and meter then hold is unspecified.
  const std::atomic<bool>* interrupted = nullptr;
};

// A cast with its types and options bound: every decision is taken in Bind, Run only runs.
// A plan is a small value; any number of threads may run one at once.
class CastPlan {
 public:
  // Binds (from, to, options) for `target`, the best one unless it is named. Takes some
  // microseconds where both types have eight bits and fewer, which are cast by table; else less
  // than one. Codes: kInvalidType, kInvalidOption, kTargetUnavailable, kNullPointer (no plan).
  TENSORCAST_API static Status Bind(DataType from, DataType to, const CastOptions& options,
                                    CastPlan* plan, Target target = Target::kBest);

  // Casts n elements: those from index `source_first` of `source` into those from index
  // `destination_first` of `destination`. Indices count elements, so a packed type may start
  // inside a byte; bits of `destination` outside the range stay as they were. No alignment is
  // needed. The buffers may be exactly the same range where both types have the same width (and
  // the same index); any other overlap is refused. On an error other than kInterrupted nothing has
  // been written. Codes: kInvalidType (the plan is not bound), kWrongCall (it is of strings),
  // kSizeOverflow, kNullPointer, kBufferTooSmall, kOverlap, kInterrupted; with a loss meter
  // kLossMismatch, kLossPosition and kOutOfMemory.
  TENSORCAST_API Status Run(std::span<const std::byte> source, std::uint64_t source_first,
                            std::span<std::byte> destination, std::uint64_t destination_first,
                            std::uint64_t n, const RunOptions& run = {}) const;

  // From strings (a plan whose `from` is kString): n texts from index `source_first` on, as
  // docs/semantics.md reads them, into elements of `destination`, as Run does. On kNotANumber and
  // kNotAnInteger `failure`, where given, says which text; what `destination` holds of the range
  // is then unspecified. Codes: these two, kInterrupted, kInvalidType (the plan is not bound),
  // kWrongCall (it is not from strings), kUnsupported (a loss meter), kMisaligned, kSizeOverflow,
  // kNullPointer, kBufferTooSmall (of offsets too), kBadOffsets, kOverlap.
  TENSORCAST_API Status Parse(const Strings& source, std::uint64_t source_first,
                              std::span<std::byte> destination, std::uint64_t destination_first,
                              std::uint64_t n, const RunOptions& run = {},
                              ParseFailure* failure = nullptr) const;

  // To strings (a plan whose `to` is kString): how many bytes Print will write for these elements.
  // Codes: kInvalidType (the plan is not bound), kWrongCall (it is not to strings), kUnsupported (a
  // loss meter), kNullPointer, kSizeOverflow, kBufferTooSmall, kInterrupted.
  TENSORCAST_API Status PrintedBytes(std::span<const std::byte> source, std::uint64_t source_first,
                                     std::uint64_t n, std::uint64_t* bytes,
                                     const RunOptions& run = {}) const;

  // Prints n elements: offsets[0, n] from 0 on, and the texts into `bytes`, with nothing between
  // them. On kBufferTooSmall and kInterrupted what the two hold is unspecified. Allocates with an
  // executor. Codes: those of PrintedBytes, kMisaligned, kOverlap, kOutOfMemory.
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
// written, the pad bits of a packed destination as zero. Codes: those of Bind and of Run.
TENSORCAST_API Status Cast(DataType from, std::span<const std::byte> source, DataType to,
                           std::span<std::byte> destination, std::uint64_t n,
                           const CastOptions& options = {}, const RunOptions& run = {});

// Parses all of `source`: StorageBytes(to, source.size()) bytes are written, pad bits as zero.
// Codes: those of Bind and of Parse.
TENSORCAST_API Status ParseStrings(const Strings& source, DataType to,
                                   std::span<std::byte> destination,
                                   const CastOptions& options = {}, const RunOptions& run = {},
                                   ParseFailure* failure = nullptr);

// Prints a whole tensor of n elements; PrintedStringBytes says how many bytes that takes. Codes:
// those of Bind, and of PrintedBytes or Print.
TENSORCAST_API Status PrintedStringBytes(DataType from, std::span<const std::byte> source,
                                         std::uint64_t n, std::uint64_t* bytes,
                                         const CastOptions& options = {},
                                         const RunOptions& run = {});
TENSORCAST_API Status PrintStrings(DataType from, std::span<const std::byte> source,
                                   std::uint64_t n, std::span<std::uint64_t> offsets,
                                   std::span<char> bytes, const CastOptions& options = {},
                                   const RunOptions& run = {});

// The cast from string to string: the same texts, with offsets from 0 on and nothing between them.
// Codes: kMisaligned, kSizeOverflow, kNullPointer, kBufferTooSmall, kBadOffsets, kOverlap.
TENSORCAST_API Status CopyStrings(const Strings& source, std::span<std::uint64_t> offsets,
                                  std::span<char> bytes);

// One text to the code of an element, and one code to its text (at most kLongestPrinted
// characters in `buffer`; `text` is set to view them). Codes: kInvalidType, kInvalidOption,
// kWrongCall (the type is string), kNullPointer; of ParseValue kNotANumber and kNotAnInteger.
TENSORCAST_API Status ParseValue(std::string_view text, DataType to, std::uint64_t* code,
                                 const CastOptions& options = {});
TENSORCAST_API Status PrintValue(DataType from, std::uint64_t code,
                                 std::span<char, kLongestPrinted> buffer, std::string_view* text,
                                 const CastOptions& options = {});

// ----------------------------------------------------------------------- elements in C++

// Casts a contiguous range of elements (std::vector, std::array, a C array, std::span; of
// elements.hpp's types, of the compiler's or of yours) into another of at least the same length:
// Cast(weights, small). Codes: as the cast between raw buffers; a shorter destination is
// kBufferTooSmall.
template <ElementRange Source, WritableElementRange Destination>
Status Cast(Source&& source, Destination&& destination, const CastOptions& options = {},
            const RunOptions& run = {}) {
  const std::span from(std::as_const(source));
  const std::span to(std::forward<Destination>(destination));
  return Cast(kDataTypeOf<typename decltype(from)::value_type>, std::as_bytes(from),
              kDataTypeOf<typename decltype(to)::value_type>, std::as_writable_bytes(to),
              from.size(), options, run);
}

// Casts one value, at compile time where wanted: constexpr auto h = CastValue<float16>(1.5f).
template <Element To, Element From>
constexpr To CastValue(From value, const CastOptions& options = {}) {
  using FromCode = typename detail::CodeOfSize<sizeof(From)>::Type;
  using ToCode = typename detail::CodeOfSize<sizeof(To)>::Type;
  return std::bit_cast<To>(static_cast<ToCode>(
      CastBits(kDataTypeOf<From>, kDataTypeOf<To>, std::bit_cast<FromCode>(value), options)));
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_TENSORCAST_HPP_
