// Conversions of tensor files: what is to become of which tensor is decided first, as a plan that
// can be looked at, written as JSON for other processes, and then run, whole or in parts. C++20.
//
//   tensorcast::convert::Request request;
//   request.files = {{"model.safetensors", "small.safetensors"}};
//   request.to = tensorcast::DataType::kBfloat16;
//   request.rules = {{"*.norm.*", tensorcast::DataType::kFloat32}};  // the first that matches wins
//   tensorcast::convert::ConversionPlan plan;
//   std::string error;
//   if (!tensorcast::convert::ConversionPlan::Make(request, {}, &plan, &error).ok()) ...error...
//   for (std::size_t i = 0; i < plan.jobs(); ++i) ...plan.job(i)...
//   auto status = tensorcast::convert::RunConversion(plan, {}, false, nullptr, &error);
//
// In a library that was built with TENSORCAST_CONVERT. Nothing here throws or logs. A function that
// fails says in `error`, where one is given, what is wrong, where and what to do, in one line;
// texts from a file are escaped in it. Codes are those of onnx.hpp: kBadInput (what was asked for
// cannot be: a pattern that matches nothing, an output that exists), kBadFile (the contents of an
// input, or of a plan in JSON), kFileError (the system refused), kUnsupportedFile (legal, but not
// done here), kInterrupted, kOutOfMemory, kExecutorFailed, kCallbackFailed, kInternalError.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_CONVERT_HPP_
#define TENSORCAST_CONVERT_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::convert {
struct PlanState;     // what ConversionPlan holds; internal
struct OutputsState;  // what ConversionOutputs holds; internal
struct PlanAccess;
}  // namespace tensorcast::convert

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

// ------------------------------------------------------------------------------ requests

// Formats of scaled tensors: codes of a narrow type, and a scale for each of their cells.
enum class ScaledFormat : std::uint8_t {
  kNone,
  kFp8Tensor,  // float8e4m3fn: one scale for the tensor
  kFp8Row,     // one for each row of the last dimension
  kFp8Block,   // one for each 128 x 128 of the last two dimensions
  kInt8Row,    // int8
  kMxfp8,      // float8e4m3fn: powers of two for groups of 32 along the last dimension
  kMxfp6,      // float6e2m3
  kMxfp4,      // float4e2m1
  kNvfp4,      // float4e2m1: float8e4m3fn for groups of 16, and one float32 for the tensor, or for
               // all that runtimes load as one matrix (docs/scales_writing.md)
  kMxfp8E5M2,  // float8e5m2; measured, not written
  kMxfp6E3M2,  // float6e3m2; measured, not written
  // GGUF's blocks of 32 along the last dimension, each with a float16 scale; the two that end in 1
  // have a float16 that is their least value, too. Of a .gguf output.
  kQ8_0,
  kQ5_1,
  kQ5_0,
  kQ4_1,
  kQ4_0,
  // Integers in groups along the last dimension, or in rows, with zero points or without
  // (Request::group and asymmetric).
  kInt4Group,
  kInt8Group,
};
TENSORCAST_API std::string_view ScaledFormatName(ScaledFormat format);  // "fp8-block"
TENSORCAST_API std::optional<ScaledFormat> ParseScaledFormat(std::string_view name);

// Whose names the tensors of a scaled weight can have, and whose configuration then says so:
// "deepseek", "compressed-tensors" ...; "onnx" is a model's, which has codes, scales and a
// DequantizeLinear behind them.
TENSORCAST_API std::span<const std::string_view> ScaledLayouts();

// What a cell's scale is, amax being the largest finite magnitude in the cell, M the largest value
// of the codes' type (127 of int8, which has no use for -128).
enum class ScaleRule : std::uint8_t {
  kAmax,   // amax / M, rounded to nearest in the scales' type
  kUp,     // the least power of two that is at least amax / M
  kOcp,    // 2^(floor(log2 amax) - floor(log2 M)): OCP Microscaling 1.0, section 6.3
  kRound,  // as kOcp, amax first rounded, ties up, to 1 mantissa bit (float6: 3):
           // compressed-tensors, and the usual one of powers of two
  // Of the scales near that of the usual rule the one whose codes lose least: the sum of squared
  // errors over the cell (docs/scales_writing.md).
  kMse,
  kFourOverSix,  // kNvfp4: the largest value of a group becomes 6 or 4, whichever loses less
  kMseFine,      // of integers: as kMse, of eight bits in smaller steps, of four negative ones too
};
TENSORCAST_API std::string_view ScaleRuleName(ScaleRule rule);  // "amax"
TENSORCAST_API std::span<const ScaleRule> ScaleRules();
// "pow2", too, is kUp.
TENSORCAST_API std::optional<ScaleRule> ParseScaleRule(std::string_view name);

// What tensors become: of a type, or of a scaled format.
struct Destination {
  constexpr Destination() = default;
  constexpr Destination(DataType element_type) : type(element_type) {}
  constexpr Destination(ScaledFormat scaled_format) : format(scaled_format) {}

  DataType type = DataType::kUndefined;  // where the format is kNone
  ScaledFormat format = ScaledFormat::kNone;
};

// Layouts that quantised weights are put into as they are (Request::repack).
TENSORCAST_API std::span<const std::string_view> RepackLayouts();

// A pattern is one of
//   a glob of whole names: * any run of characters, dots too; ? one; [a-z] one of a set; \x the
//   character x;
//   "re:" and a regular expression of whole names (PCRE2's syntax and limits: an expression that
//   takes too long on a name is refused);
//   "dtype:T", tensors of a type, by any name that ParseType takes;
//   "rank<2", "values>=1024": tensors of so many dimensions or elements; < <= = >= >.
// A name that begins like one of the last three has \ in front.

// Tensors that match become `to`.
struct RequestedRule {
  std::string pattern;
  Destination to;
  std::vector<std::string> also = {};  // patterns that they have to match too
  std::string where = {};              // where the rule stands, for messages: "rules.toml:7"
};

// Tensors whose whole name matches `from`, a pattern of names, are called `to`. A glob's first * is
// the first * of `to`, and so on; of "re:" and a regular expression \1 is what the first group
// took, \0 the whole name; \ makes any other character of `to` itself.
struct RequestedRename {
  std::string from;
  std::string to;
  std::string where = {};  // where it stands, for messages: "rules.toml:7"
};

// Tensors that a cast to a narrow type costs much and that take little room. Norms, embeddings and
// heads are told from names as common checkpoints have them (docs/command_line.md).
enum class Keep : std::uint8_t {
  kSmall,  // of fewer than two dimensions, or fewer than 1,024 elements
  kNorms,
  kEmbeddings,
  kHead,
  // Weights in packed codes, of layouts that are not read (HQQ's, AQLM's ...), for which a
  // conversion is refused where they are taken and not kept, and of those that are (GPTQ's ...).
  kPacked,
};
TENSORCAST_API std::string_view KeepName(Keep keep);  // "small"
TENSORCAST_API std::span<const Keep> Keeps();
TENSORCAST_API std::optional<Keep> ParseKeep(std::string_view name);

// The format of an output is that of its ending: .safetensors, .npy, .npz, .pb, .gguf, or .onnx of
// a model. An input may be a directory of safetensors or torch files, as Hugging Face's libraries
// lay a checkpoint out; an output without such an ending is then another.
struct RequestedFile {
  std::string input;
  std::string output;
};

struct Request {
  std::vector<RequestedFile> files;  // each pattern has to match in one of them at least
  // For tensors that no rule takes; none: these stay. A scaled format takes the weights of linear
  // layers that it can hold (docs/scales_writing.md says how they are told); a rule takes what it
  // names.
  std::optional<Destination> to;
  std::vector<RequestedRule> rules;   // in order: the first that matches wins
  std::vector<std::string> only;      // patterns; none: every tensor
  std::vector<std::string> excluded;  // patterns
  // Patterns: only tensors that match are written, with the scales and what else serves them; none:
  // all are. Not of models, and not with `repack`.
  std::vector<std::string> select;
  // The names of tensors as they are written; the first that matches wins, and what none matches
  // keeps its name. Weights are named as the model knows them, and their codes and scales after
  // them. All patterns are of the input's names. Not of models, and not with `repack`.
  std::vector<RequestedRename> renames;
  std::vector<Keep> keep;  // left alone, but for those that a rule takes
  // Not only floating types. Strings need no more than to be named by a rule or `only`, or to be
  // their file's one tensor.
  bool all_types = false;
  bool ignore_scales = false;  // cast bare codes where scales would be applied
  // One of ScaledLayouts, of the scaled formats that are asked for; empty: the usual of each.
  // Models have "onnx" alone.
  std::string layout;
  std::optional<ScaleRule> scale_rule;
  // One of RepackLayouts: weights that are quantised go into it with the codes and values that they
  // have, and all other tensors stay as they are; without `to`, `rules`, `layout`, `keep` and what
  // else says how to cast. A weight of which a code or a value would change is refused
  // (kUnsupported).
  std::string repack;
  // Of integers in groups: 32, 64 or 128 columns that share a scale; 0: those of a row do. None:
  // 128, in the layout mlx 64.
  std::optional<std::uint64_t> group;
  bool asymmetric = false;  // with zero points, or biases that are no multiple of the scale
  // int8-row in the layout "comfyui": rows are rotated in groups of 256 columns first (ConvRot);
  // those that have no whole number of groups are not.
  bool rotate = false;
  CastOptions cast;
  std::optional<DataType> assume_type;  // of npy files that do not name theirs
  bool allow_hard_links = false;        // of files that hold a model's data
  // Of torch's files: the dict that holds the model's tensors, keys from the top on joined by dots
  // (".": the top itself); empty: it is found.
  std::string root;
  // Directories: at most so many bytes of tensors in each file, but for a tensor that takes more;
  // 0: each tensor stays in the file that it is in.
  std::uint64_t max_shard_bytes = 0;
  // Of .gguf outputs: the GGUF file whose keys they get, and whose tensors, by name and in its
  // order, they have to have; empty: none.
  std::string like;
};

// ----------------------------------------------------------------------------- settings

struct Progress {
  std::uint64_t bytes_done = 0;  // of an input's tensors
  std::uint64_t bytes_total = 0;
  std::size_t tensor = 0;  // index in its input of one that is in work
  std::string_view name;   // its name, any bytes; for as long as the call
};

// How to run; nothing here changes a bit of a result.
struct RunSettings {
  Executor* executor = nullptr;  // none: the calling thread alone
  Target target = Target::kBest;
  std::size_t buffer_bytes = std::size_t{64} << 20;  // of all buffers together
  const std::atomic<bool>* interrupted = nullptr;    // once true a call ends with kInterrupted
  // Called now and then, from any thread but never from two at once. What it throws ends the call
  // with kCallbackFailed.
  std::function<void(const Progress&)> progress;
};

// --------------------------------------------------------------------------------- plans

enum class Action : std::uint8_t {
  kCopy,      // the bytes as they are
  kCast,      // numbers to numbers
  kParse,     // strings to numbers
  kPrint,     // numbers to strings
  kQuantise,  // numbers to codes and scales
  kRepack,    // codes and scales into another layout, as they are
};
TENSORCAST_API std::string_view ActionName(Action action);  // "copy"

// Why a tensor is cast, or left alone.
enum class Reason : std::uint8_t {
  kAsked,  // cast to the request's type
  kRule,   // cast to a rule's type
  // Left alone:
  kNotNamed,      // not among those that `only` names
  kExcluded,      // `excluded` names it
  kCompanion,     // a scale or the like, which the tensor that it serves needs as it is
  kNoRule,        // no rule takes it, and the request has no type
  kUnknownType,   // not a type of the library's
  kTextNotNamed,  // strings among other tensors: only where they are named
  kNotFloating,   // and all_types is false
  kHoldsScales,   // float8e8m0, and all_types is false
  kAlready,       // it has the type
  kOutput,        // the output cannot hold it in another type, or had better not
  kNotTheOne,     // the output holds one tensor, and it is another
  kOpaque,        // of a layout of quantised tensors that is not read
  kKept,          // `keep` has its kind
  kNotLinear,     // to a scaled format: not known to be a weight of a linear layer, or small
  kMisfit,        // to a scaled format: its shape does not fit, or its name the layout
  kMisread,       // to a scaled format: the libraries that read it take it for another weight
  kNotQuantised,  // `repack`: it has no codes
};
TENSORCAST_API std::string_view ReasonName(Reason reason);  // "not_floating"

// Elements [first, first + elements) of a tensor of an input. Of a type that the library does not
// know these are bytes.
struct SourceRange {
  std::size_t input = 0;
  std::size_t tensor = 0;  // its index in the input
  std::uint64_t first = 0;
  std::uint64_t elements = 0;
};

// A tensor of an output that holds a part of a scaled weight.
struct MadeTensor {
  std::string name;  // any bytes
  std::vector<std::uint64_t> shape;
  DataType type = DataType::kUndefined;
};

// One tensor of an output, or the several of a scaled weight, and how it is made. The views live as
// long as the plan.
struct PlannedJob {
  Action action = Action::kCopy;
  std::vector<SourceRange> sources;  // one; of a scaled weight its codes, then its scales
  std::size_t output = 0;            // the file
  std::size_t tensor = 0;            // its index in the output, or that of the first
  std::string_view name;             // the input's; any bytes, escape before showing
  // The output's, where it is one tensor; else `made` has the names of the several.
  std::string_view written_as = {};
  std::span<const std::uint64_t> shape;
  DataType from = DataType::kUndefined;  // kUndefined: not a type of the library's
  DataType to = DataType::kUndefined;
  // kQuantise, kRepack: the format and its layout (kNone of a format that has no name here); `to`
  // is the codes' type, and these are made.
  ScaledFormat format = ScaledFormat::kNone;
  std::string_view layout = {};
  std::uint32_t rotation = 0;  // columns that are rotated together; 0: they are not
  std::vector<MadeTensor> made;
  // kRepack: the most by which a value changes, relative to itself: the rounding of a reciprocal
  // global scale, at most 2^-24. Else, and as a rule, 0.
  double change = 0;
  std::uint64_t bytes_before = 0;  // of the data, without what a file needs around it
  // nullopt: of strings that are to be printed, and whose size the output need not know before.
  std::optional<std::uint64_t> bytes_after;
  Reason reason = Reason::kAsked;
  std::optional<std::size_t> rule;  // kRule: its index in the request
  std::string_view text;            // the reason in words: "rule '*.norm.*=float32'"
};

// A plan holds its inputs open; that they are not rewritten is looked at when it runs. It may be
// run many times; by one thread at a time.
class TENSORCAST_API ConversionPlan {
 public:
  ConversionPlan();  // of nothing
  ConversionPlan(ConversionPlan&&) noexcept;
  ConversionPlan& operator=(ConversionPlan&&) noexcept;
  ~ConversionPlan();

  // Opens the inputs and decides. Reads tensors only where an output is a model (in which values
  // that would become infinite are left alone) or holds printed numbers, whose size it must know;
  // and the global scales of weights that are to become nvfp4 and are.
  static Status Make(const Request& request, const RunSettings& settings, ConversionPlan* plan,
                     std::string* error = nullptr);

  std::size_t inputs() const;
  const std::string& input(std::size_t i) const;  // its path
  std::size_t outputs() const;
  const std::string& output(std::size_t i) const;  // its path
  // All tensors of all outputs: output by output, each in its order.
  std::size_t jobs() const;
  PlannedJob job(std::size_t i) const;
  const CastOptions& options() const;
  // Something the user should know, one line each: how a file was understood, tensors that have no
  // scale where one might be missing, rules that take nothing.
  std::span<const std::string> notes() const;
  // What runs of this plan have found since: scales that no quantiser writes (zero, negative, Inf,
  // NaN), a line for each tensor of scales, whose values are what arithmetic makes of them; and
  // weights with different global scales that runtimes load as one matrix.
  std::vector<std::string> findings() const;

  // The request and what was decided, as JSON, schema version 1 (docs/conversion_plan.md); the same
  // bytes for the same plan.
  Status ToJson(std::string* json) const;
  // Makes the plan again of the request in `json`. Refuses with kBadFile what is no such plan, and
  // inputs of which another is decided than `json` says.
  static Status FromJson(std::string_view json, const RunSettings& settings, ConversionPlan* plan,
                         std::string* error = nullptr);

 private:
  friend class ConversionOutputs;
  friend struct tensorcast::convert::PlanAccess;
  std::unique_ptr<PlanState> state_;
};

// ------------------------------------------------------------------------------- running

// What a job lost, where it casts numbers: a meter can be reported, merged with that of another
// part of the job, and saved for another process.
struct JobLoss {
  std::size_t job = 0;
  LossMeter loss;
  // Where its scales were searched: by how many decibels the squared errors are less than by the
  // plain rule; infinite where none is left.
  std::optional<double> gain_db = std::nullopt;
};

// Elements [first, first + elements) of a job; UINT64_MAX: to its end. `first` is a multiple of
// 1,024, and so is the end where it is not the job's. Jobs of strings are run whole.
struct JobRange {
  std::size_t job = 0;
  std::uint64_t first = 0;
  std::uint64_t elements = UINT64_MAX;
};

// What a run needs.
struct Needs {
  std::uint64_t disk_bytes = 0;    // of all outputs together, beside what they replace
  std::uint64_t memory_bytes = 0;  // of the process, at most; an estimate
};

// Checks that the outputs can be made: their names, their formats, the room on their disks.
TENSORCAST_API Status CheckOutputs(const ConversionPlan& plan, bool overwrite,
                                   const RunSettings& settings, Needs* needs,
                                   std::string* error = nullptr);

// The outputs of a plan, begun once for all parts of a run: each file stands under a temporary name
// until Commit. Destroyed without, nothing is left.
class TENSORCAST_API ConversionOutputs {
 public:
  ConversionOutputs();
  ConversionOutputs(ConversionOutputs&&) noexcept;
  ConversionOutputs& operator=(ConversionOutputs&&) noexcept;
  ~ConversionOutputs();

  // Checks as CheckOutputs does, and makes them. `plan` and what `settings.interrupted` points to
  // outlive them; the plan is neither moved nor assigned to.
  static Status Create(const ConversionPlan& plan, bool overwrite, const RunSettings& settings,
                       ConversionOutputs* outputs, std::string* error = nullptr);
  // A text by which other processes take part, of this machine or of others that have the outputs'
  // folder under the same path, each with the same plan: they Join, and run ranges. Of .npz files
  // and of models, which one process has to write, there is none (kUnsupportedFile).
  Status Share(std::string* handle, std::string* error = nullptr) const;
  // Outputs that another process created, and commits after all that joined have ended. Jobs of
  // strings are for that process too. A handle of another plan, or of files that are gone, is
  // refused. Ranges may be run again, by any of them, where it is not known whether they were run
  // to their end: the same bytes go to the same places, and are on their disk when RunConversion
  // returns. Once the files have their names, or are removed, RunConversion fails with kFileError
  // and writes nothing more.
  static Status Join(const ConversionPlan& plan, std::string_view handle,
                     const RunSettings& settings, ConversionOutputs* outputs,
                     std::string* error = nullptr);
  // Gives the files their names: after every range of every job has been run once. Looks at the
  // inputs again: those that were rewritten meanwhile are refused (kFileError). Not of outputs that
  // were joined (kBadInput).
  Status Commit(std::string* error = nullptr);
  std::uint64_t bytes() const;  // of all files

 private:
  friend struct tensorcast::convert::PlanAccess;
  std::unique_ptr<OutputsState> state_;
};

// Runs a part of a plan: reads, casts, and writes into `outputs`; with none (nullptr) only the loss
// of casts of numbers is measured, which several processes can share: each saves its meters. Adds
// to `losses`, where given, one meter for each range of such a job, in the order of the ranges.
// However a plan is divided into ranges, in whatever order they are run, the files have the same
// bytes, and the meters merged by MergeLosses give the same reports. Without `losses` none is
// measured; of a plan of very many tensors, run in parts, no more meters are held than of a part.
TENSORCAST_API Status RunConversion(const ConversionPlan& plan, std::span<const JobRange> ranges,
                                    const RunSettings& settings, ConversionOutputs* outputs,
                                    std::vector<JobLoss>* losses, std::string* error = nullptr);

// Runs a plan whole and commits its outputs; an output that exists is replaced where `overwrite`.
TENSORCAST_API Status RunConversion(const ConversionPlan& plan, const RunSettings& settings,
                                    bool overwrite, std::vector<JobLoss>* losses,
                                    std::string* error = nullptr);

// A part of a plan that is done at once by one process: ranges of jobs of one file.
struct WorkUnit {
  std::size_t output = 0;  // of the plan's
  std::string file;        // the path of the file, which of a directory is one in it
  std::size_t part = 0;    // of so many units of this file
  std::size_t parts = 0;
  std::uint64_t bytes = 0;      // of the inputs' tensors
  bool is_for_creator = false;  // strings, which the process that created the outputs converts
  std::vector<JobRange> ranges;
};

// Cuts a plan by the files of its outputs, and these into units of about `most_bytes` of the
// inputs' tensors, and of 4,096 tensors at most: a tensor that has more is cut by rows, but for
// strings and scaled weights, which are made whole. Every element of every job is in one unit. The
// same plan is always cut alike, so that each of several processes can take its share of the units
// by their indices.
TENSORCAST_API Status CutIntoUnits(const ConversionPlan& plan, std::uint64_t most_bytes,
                                   std::vector<WorkUnit>* units, std::string* error = nullptr);

// Merges the parts of each job, in any order, and orders them by job.
TENSORCAST_API Status MergeLosses(std::vector<JobLoss>* losses);

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert

#endif  // TENSORCAST_CONVERT_HPP_
