// tensorcast: exact, fast tensor casts that report what they lose. The C++20 interface.
//
// A cast is one deterministic function of (source type, destination type, options): one rounding,
// the same bits on every machine, every instruction set and every thread count, whatever the
// caller's floating-point environment. docs/semantics.md defines them.
//
//   std::vector<float> weights = ...;
//   std::vector<tensorcast::float8e4m3fn> small(weights.size());
//   tensorcast::Status status = tensorcast::Cast(weights, small);
//
// For many casts of one kind, bind a CastPlan once and run it often. To learn what was lost, pass a
// LossMeter in RunOptions. To use several threads, pass an Executor.
//
// Everything that users need is declared here and in three headers that this one includes:
// types.hpp (element types, options, targets), elements.hpp (elements as C++ types) and version.h.
// The namespaces tensorcast::detail and tensorcast::core are internal.
//
// Run allocates only when it measures loss with several threads or out of order. The library never
// logs, exits or reads the environment, and its only global state is each thread's last refusal. It
// throws only std::bad_alloc, from LossMeter and MakeTbbExecutor, and what an Executor throws.
// (oneTBB, if its executor is used, has threads and environment variables of its own.)
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

// The version of the library at run time. TENSORCAST_VERSION and TENSORCAST_VERSION_NUMBER
// (version.h) are the version of the headers.
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
  kOverlap = 6,            // source and destination overlap, but are not the same range
  kUnsupported = 7,        // strings have no fixed size, and casts of them no loss meter
  kTargetUnavailable = 8,  // no such target, or this build or machine lacks it
  kLossPosition = 9,       // a measured chunk begins neither at 1024 * k nor where the last ended
  kLossMismatch = 10,      // the meter was made for other types or options
  kOutOfMemory = 11,       // a meter for a worker could not be allocated
  kWrongCall = 12,         // a call for numbers was given strings, or the other way round
  kNotANumber = 13,        // a text is not a number; ParseFailure says which
  kNotAnInteger = 14,      // a text for an integer is nan, inf or outside [-2^63, 2^64)
  kBadOffsets = 15,        // string offsets decrease, or end beyond the bytes
  kMisaligned = 16,        // a table of offsets is not aligned to 8 bytes
  // From the C interface, whose structs and executors are checked:
  kBadStruct = 17,       // a struct's size is wrong, or it asks for what this version does not know
  kExecutorFailed = 18,  // an executor threw (in C++ too), or did not run every task once
  kNoThreads = 19,       // this build has no oneTBB
  // From calls on models and files (onnx.hpp, convert.hpp), whose `error` says more:
  kFileError = 20,        // the system refused: missing file, no permission, full disk
  kBadFile = 21,          // a file's contents are not what they should be
  kUnsupportedFile = 22,  // legal, but not supported
  kBadInput = 23,         // a request or an input does not fit the model
  kInterrupted = 24,      // the caller's flag became true
  // From graphs (graph.hpp):
  kNoSuchName = 25,   // nothing in the graph has this name
  kNoSuchIndex = 26,  // the graph has nothing at this index
  // From every call that takes an `error`, and from the C interface:
  kInternalError = 27,   // an exception that nobody foresaw: a bug in the library
  kCallbackFailed = 28,  // a callback of the caller's threw
};

// What the caller can ask for to lift a refusal. The sentence of the error ends so that a program
// can append how its own users ask for it (" with --force").
enum class Remedy : std::int32_t {
  kNone = 0,
  kAllowHardLinks = 1,    // read a model's data from files that have hard links
  kAllowOverwriting = 2,  // replace the output
  kChooseOneTensor = 3,   // choose one tensor, as the output holds only one
  kLeaveOut = 4,          // do not cast the tensor
  kIgnoreScales = 5,      // do not cast the tensor, or cast its bare codes
  kTakeDirectory = 6,     // convert the directory as one input, or as kIgnoreScales
  kKeepPacked = 7,        // leave packed tensors as they are
  kAssumeType = 8,        // name a type for elements that have none
  // Use another pattern: the sentence begins with one that matches no tensor ...
  kMatchRule = 9,
  kMatchChosen = 10,
  kMatchExcluded = 11,
  kMatchNames = 12,     // ... or says where such a pattern stands.
  kChooseRoot = 13,     // choose one of a torch file's dicts
  kMatchSelected = 14,  // as kMatchChosen, of a pattern that says which tensors are written
};

// The outcome of a call: a code with one fixed sentence, and what would lift a refusal.
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

// All about a refusal: the Status and the `error` of a call that failed, and what it refused.
struct Refusal {
  StatusCode kind = StatusCode::kOk;
  Remedy remedy = Remedy::kNone;
  // What was refused: the path of a file, the name of a tensor, a pattern; as it was given or as
  // its file has it, not escaped. Empty where only the text says it.
  std::string_view subject;
  std::string_view text;  // what `error` is set to
  // The system's errno, if it was the system that refused the file named by `subject`; else 0.
  int system_error = 0;
};

// The refusal of this thread's last failed call, among the calls that can take an `error` (whether
// or not one was given); kOk if none has failed. The views are valid until the next such call
// fails. A text is cut after 4,096 bytes, and a subject that is longer is left empty.
TENSORCAST_API Refusal LastRefusal() noexcept;

// -------------------------------------------------------------------------------- types

// All element types, in the order of ONNX's numbers.
constexpr std::span<const TypeInfo> Types() { return detail::kTypeTable; }

// The row of a type, or nullptr if there is none (kUndefined, complex, an unknown number). (The
// constexpr functions below ask RowIndex, as g++'s -fsanitize=undefined cannot compare addresses at
// compile time.)
constexpr const TypeInfo* FindType(DataType type) {
  return detail::RowIndex(type) < 0 ? nullptr : &detail::Row(type);
}

// The canonical name, or "undefined".
constexpr std::string_view TypeName(DataType type) {
  return detail::RowIndex(type) < 0 ? std::string_view("undefined") : detail::Row(type).name;
}

// The type that a name stands for. Takes every common spelling and ignores case, '_', '-', '.' and
// blanks: float16 fp16 f16 half F16, e4m3 fp8_e4m3fn F8_E4M3 float8_e4m3fn FLOAT8E4M3FN,
// torch.bfloat16, numpy's <f4 ...
TENSORCAST_API std::optional<DataType> ParseType(std::string_view name);

// The canonical names that a misspelt name was probably meant to be, nearest first. Unused entries
// are empty; all three are if no type's name is near.
TENSORCAST_API std::array<std::string_view, 3> NearestTypeNames(std::string_view name);

// The most common other spellings of a type, for showing to users; ParseType takes them.
TENSORCAST_API std::span<const std::string_view> TypeSpellings(DataType type);

// The bytes that n elements of a fixed-width type take, packed: ceil(n * bits / 8). nullopt for
// string, for an unknown type, and where the product does not fit 64 bits.
constexpr std::optional<std::uint64_t> StorageBytes(DataType type, std::uint64_t n) {
  if (detail::RowIndex(type) < 0 || detail::Row(type).bits == 0) return std::nullopt;
  const auto bits = static_cast<std::uint64_t>(detail::Row(type).bits);
  if (n > (UINT64_MAX - 7) / bits) return std::nullopt;
  return (n * bits + 7) / 8;
}

// The finite limits of a type as doubles: rounded for 64-bit integers, exact for all others. All
// zero for string and for an unknown type.
constexpr TypeLimits LimitsOf(DataType type) {
  return detail::RowIndex(type) < 0 ? TypeLimits{} : detail::LimitsOf(detail::Row(type));
}

// Whether every value of `inner` is a value of `outer`: finite numbers, -0, Inf and NaN (with any
// payload). The cast from `inner` to `outer` then loses nothing, and the cast back gives the same
// value. A bool counts as 0 or 1, whatever its byte. False for an unknown type.
constexpr bool Contains(DataType outer, DataType inner) {
  return detail::RowIndex(outer) >= 0 && detail::RowIndex(inner) >= 0 &&
         detail::Contains(detail::Row(outer), detail::Row(inner));
}

// -------------------------------------------------------------------------------- codes

// Casts one element, given as its code: its bit pattern, right-aligned. Bits above the type's width
// are ignored. The result is 0 unless both types have a fixed width and the options are valid.
constexpr std::uint64_t CastBits(DataType from, DataType to, std::uint64_t code,
                                 const CastOptions& options = {}) {
  if (detail::RowIndex(from) < 0 || detail::RowIndex(to) < 0 || from == DataType::kString ||
      to == DataType::kString || !IsValid(options)) {
    return 0;
  }
  return detail::CastCode(detail::Row(from), detail::Row(to), code, options);
}

// The value of a code as a double: exact, except that 64-bit integers are rounded to nearest. 0 for
// string and for an unknown type.
constexpr double ValueOf(DataType type, std::uint64_t code) {
  return std::bit_cast<double>(CastBits(type, DataType::kFloat64, code));
}

// ------------------------------------------------------------------------------ targets

// The targets that this build has and this machine can run, best first; never empty.
TENSORCAST_API std::span<const Target> Targets();
// The name of a target, as "avx2"; "unknown" for any other number.
constexpr std::string_view TargetName(Target target) {
  for (const detail::TargetRow& row : detail::kTargetTable) {
    if (row.target == target) return row.name;
  }
  return "unknown";
}
TENSORCAST_API std::optional<Target> ParseTarget(std::string_view name);

// ------------------------------------------------------------------------------ packing

// Read and write the code of element i of a buffer, right-aligned, packed or not. StoreCode leaves
// the neighbouring bits as they are and ignores bits of `code` above the type's width. The type
// must have a fixed width; nothing is checked.
constexpr std::uint64_t LoadCode(DataType type, const std::byte* data, std::uint64_t i) {
  return detail::LoadCode(data, i, detail::Row(type).bits);
}
constexpr void StoreCode(DataType type, std::byte* data, std::uint64_t i, std::uint64_t code) {
  detail::StoreCode(data, i, detail::Row(type).bits, code);
}

// Convert n elements between the packed layout, from index `first` of `packed` on, and one element
// in each byte, the layout of numpy and ml_dtypes. Unpack writes the bits above the type's width as
// zero; Pack ignores them, and leaves the bits of `packed` outside the range as they were. The
// buffers must not overlap. Types of eight bits and more have the same layout on both sides and are
// copied. On an error nothing is written. Codes: kInvalidType, kWrongCall (strings),
// kTargetUnavailable, kSizeOverflow, kNullPointer, kBufferTooSmall, kOverlap.
TENSORCAST_API Status Unpack(DataType type, std::span<const std::byte> packed, std::uint64_t first,
                             std::span<std::byte> codes, std::uint64_t n,
                             Target target = Target::kBest);
TENSORCAST_API Status Pack(DataType type, std::span<const std::byte> codes,
                           std::span<std::byte> packed, std::uint64_t first, std::uint64_t n,
                           Target target = Target::kBest);

// ----------------------------------------------------------------------------- executor

// Where a cast gets its threads. Implement it over your own thread pool.
class TENSORCAST_API Executor {
 public:
  virtual ~Executor();
  // How many tasks can run at once, at least 1.
  virtual std::size_t Concurrency() const noexcept = 0;
  // Calls task(context, i) once for each i in [0, tasks), on any threads in any order, and returns
  // when all have returned. The task does not throw. What ParallelFor throws is thrown on by the
  // call that was given the executor, and what that call has written is then unspecified.
  virtual void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                           void* context) = 0;
};

// An executor over oneTBB with at most `threads` threads (0: all cores), or fewer if the system
// grants no more. nullptr if the library was built without oneTBB.
TENSORCAST_API std::unique_ptr<Executor> MakeTbbExecutor(std::size_t threads = 0);

// --------------------------------------------------------------------------------- loss

// What happened to an element. Each is counted under the first kind from kNan to kRounded that
// applies.
enum class Loss : std::uint8_t {
  kNan,         // NaN stayed NaN
  kNanLost,     // NaN became a number
  kToNan,       // a number or Inf became NaN
  kExact,       // equal as numbers
  kWrapped,     // an integer that did not fit gave its low bits
  kToInfinity,  // finite became Inf
  kToLimit,     // a value beyond the type's range became its end
  kToZero,      // nonzero became zero
  kRounded,     // everything else
  // Counted as well:
  kToSubnormal,   // the result is a nonzero subnormal
  kZeroSignLost,  // -0 became +0 in a floating type
  kUndefined,     // ONNX's specification leaves this result open
};
inline constexpr std::size_t kLossKinds = 12;
inline constexpr std::size_t kLossPartition = 9;  // the counts of the first nine sum to `elements`

constexpr std::string_view LossName(Loss loss) {
  constexpr std::string_view kNames[kLossKinds + 1] = {
      "nan",      "nan_lost", "to_nan",  "exact",        "wrapped",        "to_infinity",
      "to_limit", "to_zero",  "rounded", "to_subnormal", "zero_sign_lost", "undefined",
      "unknown"};
  const auto index = static_cast<std::size_t>(loss);
  return kNames[index < kLossKinds ? index : kLossKinds];
}

// One element: its index in the tensor, and its code before and after the cast, right-aligned.
// ValueOf(type, code) gives the value of a code.
struct LossExample {
  std::uint64_t index = 0;
  std::uint64_t source_code = 0;
  std::uint64_t result_code = 0;
};

struct LossReport {
  DataType from = DataType::kUndefined;  // kUndefined: several types were merged
  DataType to = DataType::kUndefined;
  std::uint64_t elements = 0;
  std::uint64_t counts[kLossKinds] = {};
  // The first element (lowest index) of each kind; meaningful if its count is not 0.
  LossExample first[kLossKinds] = {};
  // Errors, in double, over the `compared` elements that are finite on both sides.
  std::uint64_t compared = 0;
  double max_abs_error = 0;
  LossExample max_abs_example;         // meaningful where compared > 0
  std::uint64_t compared_nonzero = 0;  // those whose source is not 0
  double max_rel_error = 0;
  LossExample max_rel_example;   // meaningful where compared_nonzero > 0
  double sum_squares = 0;        // sum of x^2, rounded once
  double sum_squared_error = 0;  // sum of (x - y)^2, rounded once
  double rmse = 0;               // 0 if compared is 0
  double snr_db = 0;             // 10 log10(sum x^2 / sum (x-y)^2); +Inf if nothing was lost
  // Over the finite elements of the source:
  std::uint64_t finite = 0;
  double amax = 0;              // largest magnitude
  double smallest_nonzero = 0;  // smallest magnitude other than 0; 0 if there is none

  std::uint64_t count(Loss loss) const { return counts[static_cast<std::size_t>(loss)]; }
};

// Measures the loss of one tensor while plans run over it, chunk by chunk. The figures do not
// depend on the chunking, the number of threads or the target. Two runs must not use one meter at
// once. A meter made with an invalid type or option, or with strings, measures nothing: any run
// that it is given to fails. A moved-from meter may only be assigned to or destroyed.
class TENSORCAST_API LossMeter {
 public:
  LossMeter(DataType from, DataType to, const CastOptions& options = {});
  LossMeter(const LossMeter&);
  LossMeter& operator=(const LossMeter&);
  LossMeter(LossMeter&&) noexcept;
  LossMeter& operator=(LossMeter&&) noexcept;
  ~LossMeter();

  // Adds what another meter with the same destination and options measured: another chunk of the
  // same tensor, or another tensor. The figures do not depend on the order of merges. Only the
  // examples do, if the tensors differ: their indices are then no longer those of one tensor.
  // Afterwards this meter can continue with its own types, where its own last run stopped. Code:
  // kLossMismatch.
  Status Merge(const LossMeter& other);
  LossReport Report() const;

  // The meter as bytes, exactly, for another process or to continue later. They are little-endian,
  // and equal meters have equal bytes on every machine; docs/loss_bytes.md has the layout. Save
  // writes SavedBytes() of them (code: kBufferTooSmall). Load takes what this version or an older
  // one saved, and restores types, options and the place where the last run stopped, so that runs
  // and merges give what they would have given before. If the bytes are not what Save writes, Load
  // gives kBadFile and leaves the meter as it was.
  static std::size_t SavedBytes();
  Status Save(std::span<std::byte> bytes) const;
  Status Load(std::span<const std::byte> bytes);

 private:
  friend class CastPlan;
  friend struct core::MeterAccess;
  std::unique_ptr<core::LossState> state_;
};

// ------------------------------------------------------------------------------ strings

// Many strings, in the layout of Apache Arrow's large_utf8: string i is bytes [offsets[i],
// offsets[i + 1]), so n strings take n + 1 offsets. These never decrease, and need not begin at 0.
struct Strings {
  std::span<const std::uint64_t> offsets;
  std::span<const char> bytes;

  std::uint64_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  // String i. The offsets are not checked.
  std::string_view operator[](std::uint64_t i) const {
    return {bytes.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  }
};

// The text that was refused: the one with the lowest index, whatever the number of threads.
struct ParseFailure {
  std::uint64_t index = 0;  // counted from the first of the strings given, not from source_first
  // Escaped to printable ASCII, at most 64 characters (it ends in "..." if it was cut), and a NUL.
  char text[65] = {};
};

// No number, float or integer of any type, prints longer than this.
inline constexpr std::size_t kLongestPrinted = 32;

// ---------------------------------------------------------------------------- cast plans

// How often a run checks whether it is interrupted: after so many bytes, in and out together, or
// after so many strings.
inline constexpr std::uint64_t kInterruptBytes = 1 << 20;
inline constexpr std::uint64_t kInterruptStrings = 1 << 14;

struct RunOptions {
  Executor* executor = nullptr;  // none: the calling thread alone
  LossMeter* loss = nullptr;     // none: nothing is measured
  // With `loss`: the index of the run's first element in its tensor. It must be a multiple of 1024,
  // or the index at which this meter's last run stopped.
  std::uint64_t loss_index = 0;
  Target* ran = nullptr;  // the code that runs sets it to its own target
  // Once another thread sets this to true, the run ends with kInterrupted before its next piece of
  // kInterruptBytes or kInterruptStrings; what destination and meter then hold is unspecified.
  const std::atomic<bool>* interrupted = nullptr;
};

// A cast with its types and options bound: Bind takes every decision, so that Run need not. A plan
// is a small value, and any number of threads may run one at once.
class CastPlan {
 public:
  // Binds (from, to, options) for `target`, by default the best one. This takes less than a
  // microsecond, but some microseconds if both types have at most eight bits, as these are cast by
  // table. Codes: kInvalidType, kInvalidOption, kTargetUnavailable, kNullPointer (no plan).
  TENSORCAST_API static Status Bind(DataType from, DataType to, const CastOptions& options,
                                    CastPlan* plan, Target target = Target::kBest);

  // Casts n elements, from index `source_first` of `source` on, into those from index
  // `destination_first` of `destination` on. Indices count elements, so a packed type may start
  // inside a byte; bits of `destination` outside the range stay as they were. No alignment is
  // needed. The buffers may be exactly the same range if both types have the same width and both
  // indices are equal; any other overlap is refused. On an error other than kInterrupted nothing is
  // written. Codes: kInvalidType (the plan is not bound), kWrongCall (it casts strings),
  // kSizeOverflow, kNullPointer, kBufferTooSmall, kOverlap, kInterrupted; with a loss meter
  // kLossMismatch, kLossPosition and kOutOfMemory.
  TENSORCAST_API Status Run(std::span<const std::byte> source, std::uint64_t source_first,
                            std::span<std::byte> destination, std::uint64_t destination_first,
                            std::uint64_t n, const RunOptions& run = {}) const;

  // Casts from strings, with a plan whose `from` is kString: n texts from index `source_first` on,
  // read as docs/semantics.md says, into elements of `destination`, as Run does. On kNotANumber and
  // kNotAnInteger, `failure`, if given, says which text it was, and what `destination` holds in the
  // range is unspecified. Codes: these two, kInterrupted, kInvalidType (the plan is not bound),
  // kWrongCall (it is not from strings), kUnsupported (a loss meter), kMisaligned, kSizeOverflow,
  // kNullPointer, kBufferTooSmall (of offsets too), kBadOffsets, kOverlap.
  TENSORCAST_API Status Parse(const Strings& source, std::uint64_t source_first,
                              std::span<std::byte> destination, std::uint64_t destination_first,
                              std::uint64_t n, const RunOptions& run = {},
                              ParseFailure* failure = nullptr) const;

  // How many bytes Print will write for these elements, with a plan whose `to` is kString. Codes:
  // kInvalidType (the plan is not bound), kWrongCall (it is not to strings), kUnsupported (a loss
  // meter), kNullPointer, kSizeOverflow, kBufferTooSmall, kInterrupted.
  TENSORCAST_API Status PrintedBytes(std::span<const std::byte> source, std::uint64_t source_first,
                                     std::uint64_t n, std::uint64_t* bytes,
                                     const RunOptions& run = {}) const;

  // Casts to strings: writes offsets[0] to offsets[n], beginning at 0, and the texts into `bytes`,
  // with nothing between them. On kBufferTooSmall and kInterrupted what both hold is unspecified.
  // Allocates if it has an executor. Codes: those of PrintedBytes, kMisaligned, kOverlap,
  // kOutOfMemory.
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
  // Run where a short run's few checks do not do.
  Status RunChecked(std::span<const std::byte> source, std::uint64_t source_first,
                    std::span<std::byte> destination, std::uint64_t destination_first,
                    std::uint64_t n, const RunOptions& run) const;
  static Status BindFor(std::uint64_t n, DataType from, DataType to, const CastOptions& options,
                        CastPlan* plan, Target target);
  DataType from_ = DataType::kUndefined;
  DataType to_ = DataType::kUndefined;
  CastOptions options_;
  alignas(std::uint64_t) std::byte bound_[512] = {};
  core::Bound* bound();
  const core::Bound* bound() const;
};

// Casts a whole tensor of n elements between raw buffers: reads and writes StorageBytes(type, n)
// bytes, the pad bits of a packed destination as zero. Codes: those of Bind and of Run.
TENSORCAST_API Status Cast(DataType from, std::span<const std::byte> source, DataType to,
                           std::span<std::byte> destination, std::uint64_t n,
                           const CastOptions& options = {}, const RunOptions& run = {});

// Parses all of `source`: writes StorageBytes(to, source.size()) bytes, pad bits as zero. Codes:
// those of Bind and of Parse.
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

// The cast from string to string: copies the texts, with offsets from 0 on and nothing between
// them. Codes: kMisaligned, kSizeOverflow, kNullPointer, kBufferTooSmall, kBadOffsets, kOverlap.
TENSORCAST_API Status CopyStrings(const Strings& source, std::span<std::uint64_t> offsets,
                                  std::span<char> bytes);

// Parse one text to the code of an element, and print one code as text: at most kLongestPrinted
// characters in `buffer`, which `text` is set to view. Codes: kInvalidType, kInvalidOption,
// kWrongCall (the type is string), kNullPointer; ParseValue also kNotANumber and kNotAnInteger.
TENSORCAST_API Status ParseValue(std::string_view text, DataType to, std::uint64_t* code,
                                 const CastOptions& options = {});
TENSORCAST_API Status PrintValue(DataType from, std::uint64_t code,
                                 std::span<char, kLongestPrinted> buffer, std::string_view* text,
                                 const CastOptions& options = {});

// ----------------------------------------------------------------------- elements in C++

// Casts a contiguous range of elements into another that is at least as long: Cast(weights, small).
// A range is a std::vector, a std::array, a C array or a std::span; its elements may have a type of
// elements.hpp, of the compiler or of your own. Codes: those of the cast between raw buffers; a
// shorter destination gives kBufferTooSmall.
template <ElementRange Source, WritableElementRange Destination>
Status Cast(Source&& source, Destination&& destination, const CastOptions& options = {},
            const RunOptions& run = {}) {
  const std::span from(std::as_const(source));
  const std::span to(std::forward<Destination>(destination));
  return Cast(kDataTypeOf<typename decltype(from)::value_type>, std::as_bytes(from),
              kDataTypeOf<typename decltype(to)::value_type>, std::as_writable_bytes(to),
              from.size(), options, run);
}

// Casts one value, at compile time if you like: constexpr auto h = CastValue<float16>(1.5f).
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
