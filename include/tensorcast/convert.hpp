// Conversions of tensor files. First a plan decides what becomes of each tensor. It can be
// inspected, written as JSON for other processes, and then run, as a whole or in parts. C++20.
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
// This is part of libraries built with TENSORCAST_CONVERT. Nothing here throws or logs. A function
// that fails sets `error`, if given, to one line that says what is wrong, where and what to do; it
// escapes texts from files. Codes: kBadInput (the request cannot be met: a pattern that matches
// nothing, an output that exists), kBadFile (the contents of an input, or of a plan in JSON),
// kFileError (the system refused), kUnsupportedFile (legal, but not supported), kInterrupted,
// kOutOfMemory, kExecutorFailed, kCallbackFailed, kInternalError.
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

// Formats of scaled tensors: codes of a narrow type, and a scale for each cell of codes.
enum class ScaledFormat : std::uint8_t {
  kNone,
  kFp8Tensor,  // float8e4m3fn: one scale for the tensor
  kFp8Row,     // one scale for each row of the last dimension
  kFp8Block,   // one scale for each 128 x 128 of the last two dimensions
  kInt8Row,    // int8
  kMxfp8,      // float8e4m3fn: powers of two for groups of 32 along the last dimension
  kMxfp6,      // float6e2m3
  kMxfp4,      // float4e2m1
  kNvfp4,  // float4e2m1: float8e4m3fn scales for groups of 16, and a float32 for the tensor, or for
           // all that runtimes load as one matrix (docs/scales_writing.md)
  kMxfp8E5M2,  // float8e5m2; measured, not written
  kMxfp6E3M2,  // float6e3m2; measured, not written
  // GGUF's blocks of 32 along the last dimension, each with a float16 scale. The two that end in 1
  // also have a float16 that is the least value of the block. Only for .gguf outputs.
  kQ8_0,
  kQ5_1,
  kQ5_0,
  kQ4_1,
  kQ4_0,
  // Integers in groups along the last dimension, or in rows, with or without zero points
  // (Request::group and Request::asymmetric).
  kInt4Group,
  kInt8Group,
};
TENSORCAST_API std::string_view ScaledFormatName(ScaledFormat format);  // "fp8-block"
TENSORCAST_API std::optional<ScaledFormat> ParseScaledFormat(std::string_view name);

// The layouts that scaled weights can be written in: "deepseek", "compressed-tensors" ... A layout
// sets the names of a weight's tensors and what the configuration says of them. "onnx" is for
// models: codes and scales, followed by a DequantizeLinear.
TENSORCAST_API std::span<const std::string_view> ScaledLayouts();

// How the scale of a cell is chosen. amax is the largest finite magnitude in the cell, and M the
// largest value of the codes' type (127 for int8, where -128 is not used).
enum class ScaleRule : std::uint8_t {
  kAmax,   // amax / M, rounded to nearest in the scales' type
  kUp,     // the least power of two that is at least amax / M
  kOcp,    // 2^(floor(log2 amax) - floor(log2 M)): OCP Microscaling 1.0, section 6.3
  kRound,  // as kOcp, but amax is first rounded to 1 mantissa bit (float6: 3), ties up: as
           // compressed-tensors does, and the default for powers of two
  // Among the scales near that of the default rule, the one with the least sum of squared errors
  // over the cell (docs/scales_writing.md).
  kMse,
  kFourOverSix,  // kNvfp4: the largest value of a group becomes 6 or 4, whichever loses less
  kMseFine,      // integers: as kMse, in smaller steps for int8, also with negative scales for int4
};
TENSORCAST_API std::string_view ScaleRuleName(ScaleRule rule);  // "amax"
TENSORCAST_API std::span<const ScaleRule> ScaleRules();
// "pow2" is another name of kUp.
TENSORCAST_API std::optional<ScaleRule> ParseScaleRule(std::string_view name);

// What tensors become: a type, or a scaled format.
struct Destination {
  constexpr Destination() = default;
  constexpr Destination(DataType element_type) : type(element_type) {}
  constexpr Destination(ScaledFormat scaled_format) : format(scaled_format) {}

  DataType type = DataType::kUndefined;  // if the format is kNone
  ScaledFormat format = ScaledFormat::kNone;
};

// The layouts into which quantised weights can be repacked without a change (Request::repack).
TENSORCAST_API std::span<const std::string_view> RepackLayouts();

// A pattern is one of
//   a glob of whole names: * is any run of characters, including dots; ? is any one character;
//   [a-z] is one of a set; \x is the character x;
//   "re:" and a regular expression of whole names (PCRE2's syntax and limits: an expression that
//   takes too long on a name is refused);
//   "dtype:T": tensors of a type, by any name that ParseType takes;
//   "rank<2", "values>=1024": tensors of so many dimensions or elements, with < <= = >= or >.
// Put \ in front of a name that begins like one of the last three.

// Tensors that match become `to`.
struct RequestedRule {
  std::string pattern;
  Destination to;
  std::vector<std::string> also = {};  // patterns that they must match as well
  std::string where = {};              // where the rule stands, for messages: "rules.toml:7"
};

// Tensors whose whole name matches `from`, a glob or a regular expression, are renamed to `to`.
// With a glob, the first * of `to` stands for what the first * of `from` matched, and so on. With
// "re:" and a regular expression, \1 stands for the first group and \0 for the whole name. \ before
// any other character of `to` is that character.
struct RequestedRename {
  std::string from;
  std::string to;
  std::string where = {};  // where it stands, for messages: "rules.toml:7"
};

// Kinds of tensors that lose much in a cast to a narrow type and take little room. Norms,
// embeddings and heads are recognised by their names in common checkpoints (docs/command_line.md).
enum class Keep : std::uint8_t {
  kSmall,  // fewer than two dimensions, or fewer than 1,024 elements
  kNorms,
  kEmbeddings,
  kHead,
  // Weights in packed codes. Their layouts may be ones that are read (GPTQ's ...) or not (HQQ's,
  // AQLM's ...); a conversion is refused if it takes one of the latter without keeping it.
  kPacked,
};
TENSORCAST_API std::string_view KeepName(Keep keep);  // "small"
TENSORCAST_API std::span<const Keep> Keeps();
TENSORCAST_API std::optional<Keep> ParseKeep(std::string_view name);

// The ending of an output sets its format: .safetensors, .npy, .npz, .pb, .gguf, or .onnx for a
// model. An input may be a directory of safetensors or torch files, laid out as a checkpoint of
// Hugging Face's libraries; an output without such an ending is then a directory too.
struct RequestedFile {
  std::string input;
  std::string output;
};

struct Request {
  std::vector<RequestedFile> files;  // each pattern must match in at least one of them
  // What tensors become that no rule takes; without it they stay as they are. A scaled format here
  // takes the weights of linear layers that it can hold (docs/scales_writing.md says how they are
  // recognised); in a rule it takes every tensor that matches.
  std::optional<Destination> to;
  std::vector<RequestedRule> rules;   // in order: the first that matches wins
  std::vector<std::string> only;      // patterns; none: every tensor
  std::vector<std::string> excluded;  // patterns
  // Patterns: only tensors that match are written, with their scales and what else they need; none:
  // all are. Not for models, and not with `repack`.
  std::vector<std::string> select;
  // New names for the tensors that are written. The first that matches wins; a tensor that none
  // matches keeps its name. A scaled weight is renamed by the name that the model knows, and its
  // codes and scales follow. All patterns match the input's names. Not for models, and not with
  // `repack`.
  std::vector<RequestedRename> renames;
  std::vector<Keep> keep;  // left alone, except for those that a rule takes
  // Take all types, not only floating ones. Strings do not need this if a rule or `only` names
  // them, or if they are the only tensor of their file.
  bool all_types = false;
  bool ignore_scales = false;  // cast the bare codes instead of applying scales
  // The layout of scaled weights that are written, one of ScaledLayouts; empty: the default of each
  // format. Models have only "onnx".
  std::string layout;
  std::optional<ScaleRule> scale_rule;
  // One of RepackLayouts: quantised weights are repacked into it with the same codes and values,
  // and all other tensors stay as they are. Not together with `to`, `rules`, `layout`, `keep` or
  // anything else that says how to cast. A weight whose codes or values would change is refused
  // (kUnsupported).
  std::string repack;
  // For kInt4Group and kInt8Group, how many columns share a scale: 32, 64, 128, or 0 for a whole
  // row. By default 128, and 64 in the layout mlx.
  std::optional<std::uint64_t> group;
  bool asymmetric = false;  // with zero points, or biases that are not multiples of the scale
  // For int8-row in the layout "comfyui": first rotate rows in groups of 256 columns (ConvRot).
  // Rows that are not a whole number of groups are not rotated.
  bool rotate = false;
  CastOptions cast;
  std::optional<DataType> assume_type;  // for npy files that do not name theirs
  bool allow_hard_links = false;        // for files that hold a model's data
  // For torch's files: the dict that holds the model's tensors, as keys from the top down joined by
  // dots (".": the top itself); empty: it is found.
  std::string root;
  // For directories: at most so many bytes of tensors in each file, unless one tensor takes more;
  // 0: each tensor stays in its file.
  std::uint64_t max_shard_bytes = 0;
  // For .gguf outputs: a GGUF file whose keys they get, and whose tensors they must have, by name
  // and in its order; empty: none.
  std::string like;
};

// ----------------------------------------------------------------------------- settings

struct Progress {
  std::uint64_t bytes_done = 0;  // of an input's tensors
  std::uint64_t bytes_total = 0;
  std::size_t tensor = 0;  // index of one in progress, in its input
  std::string_view name;   // its name, any bytes; valid during the call
};

// How to run; nothing here changes a bit of a result.
struct RunSettings {
  Executor* executor = nullptr;  // none: the calling thread alone
  Target target = Target::kBest;
  std::size_t buffer_bytes = std::size_t{64} << 20;  // of all buffers together
  const std::atomic<bool>* interrupted = nullptr;    // once true, a call ends with kInterrupted
  // Called now and then, from any thread but never from two at once. If it throws, the call ends
  // with kCallbackFailed.
  std::function<void(const Progress&)> progress;
};

// --------------------------------------------------------------------------------- plans

enum class Action : std::uint8_t {
  kCopy,      // bytes are copied as they are
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
  kNotNamed,      // `only` does not name it
  kExcluded,      // `excluded` names it
  kCompanion,     // a scale or the like, which another tensor needs as it is
  kNoRule,        // no rule takes it, and the request has no type
  kUnknownType,   // not a type of the library's
  kTextNotNamed,  // strings among other tensors, which have to be named
  kNotFloating,   // and all_types is false
  kHoldsScales,   // float8e8m0, and all_types is false
  kAlready,       // it has the type
  kOutput,        // the output cannot hold it in another type, or should not
  kNotTheOne,     // the output holds one tensor, which is another one
  kOpaque,        // its layout of quantised tensors is not one that is read
  kKept,          // `keep` names its kind
  kNotLinear,     // for a scaled format: not known to be a weight of a linear layer, or small
  kMisfit,   // for a scaled format: its shape does not fit, or its name does not fit the layout
  kMisread,  // for a scaled format: the libraries that read it would take it for another weight
  kNotQuantised,  // `repack`: it has no codes
};
TENSORCAST_API std::string_view ReasonName(Reason reason);  // "not_floating"

// Elements [first, first + elements) of a tensor of an input. If the library does not know its
// type, these are bytes.
struct SourceRange {
  std::size_t input = 0;
  std::size_t tensor = 0;  // its index in the input
  std::uint64_t first = 0;
  std::uint64_t elements = 0;
};

// A tensor of an output that holds one part of a scaled weight.
struct MadeTensor {
  std::string name;  // any bytes
  std::vector<std::uint64_t> shape;
  DataType type = DataType::kUndefined;
};

// One tensor of an output, or all tensors of a scaled weight, and how it is made. The views live as
// long as the plan.
struct PlannedJob {
  Action action = Action::kCopy;
  std::vector<SourceRange> sources;  // one; for a scaled weight its codes, then its scales
  std::size_t output = 0;            // the file
  std::size_t tensor = 0;            // its index in the output, or that of the first tensor
  std::string_view name;             // in the input; any bytes, escape before showing
  // The name in the output, if it is one tensor; else `made` has the names.
  std::string_view written_as = {};
  std::span<const std::uint64_t> shape;
  DataType from = DataType::kUndefined;  // kUndefined: not a type of the library's
  DataType to = DataType::kUndefined;
  // For kQuantise and kRepack: the format (kNone if it has no name here), its layout, and the
  // tensors that are made; `to` is the codes' type.
  ScaledFormat format = ScaledFormat::kNone;
  std::string_view layout = {};
  std::uint32_t rotation = 0;  // how many columns are rotated together; 0: none
  std::vector<MadeTensor> made;
  // For kRepack: the largest relative change of a value. Usually 0; rounding a reciprocal global
  // scale makes it up to 2^-24.
  double change = 0;
  std::uint64_t bytes_before = 0;  // of the data alone, without a file's headers
  // nullopt for strings that are yet to be printed, if the output need not know their size before.
  std::optional<std::uint64_t> bytes_after;
  Reason reason = Reason::kAsked;
  std::optional<std::size_t> rule;  // kRule: its index in the request
  std::string_view text;            // the reason in words: "rule '*.norm.*=float32'"
};

// A plan holds its inputs open, and checks when it runs that they were not rewritten. It may be run
// many times, by one thread at a time.
class TENSORCAST_API ConversionPlan {
 public:
  ConversionPlan();  // empty
  ConversionPlan(ConversionPlan&&) noexcept;
  ConversionPlan& operator=(ConversionPlan&&) noexcept;
  ~ConversionPlan();

  // Opens the inputs and decides. Tensors are read only if an output is a model (which leaves
  // values alone that would become infinite) or holds printed numbers (whose size it must know);
  // and the global scales are read of weights that are nvfp4 and become nvfp4.
  static Status Make(const Request& request, const RunSettings& settings, ConversionPlan* plan,
                     std::string* error = nullptr);

  std::size_t inputs() const;
  const std::string& input(std::size_t i) const;  // its path
  std::size_t outputs() const;
  const std::string& output(std::size_t i) const;  // its path
  // All tensors of all outputs: output by output, each in its own order.
  std::size_t jobs() const;
  PlannedJob job(std::size_t i) const;
  const CastOptions& options() const;
  // What the user should know, one line each: how a file was understood, tensors whose scale may be
  // missing, rules that take nothing.
  std::span<const std::string> notes() const;
  // What runs of this plan have found so far: scales that no quantiser writes (zero, negative, Inf,
  // NaN), one line for each tensor of scales, and weights with different global scales that
  // runtimes load as one matrix. Odd scales are applied as arithmetic has it.
  std::vector<std::string> findings() const;

  // The request and the decisions as JSON, schema version 1 (docs/conversion_plan.md). The same
  // plan gives the same bytes.
  Status ToJson(std::string* json) const;
  // Makes the plan again from the request in `json`. Refuses with kBadFile what is not such a plan,
  // and inputs for which it would now decide otherwise than `json` says.
  static Status FromJson(std::string_view json, const RunSettings& settings, ConversionPlan* plan,
                         std::string* error = nullptr);

 private:
  friend class ConversionOutputs;
  friend struct tensorcast::convert::PlanAccess;
  std::unique_ptr<PlanState> state_;
};

// ------------------------------------------------------------------------------- running

// What a job that casts numbers lost. The meter can be reported, merged with that of another part
// of the job, and saved for another process.
struct JobLoss {
  std::size_t job = 0;
  LossMeter loss;
  // If its scales were searched: by how many decibels the squared errors are below those of the
  // plain rule; infinite if no error is left.
  std::optional<double> gain_db = std::nullopt;
};

// Elements [first, first + elements) of a job; with UINT64_MAX, to its end. `first` must be a
// multiple of 1,024, and so must the end unless it is the job's. Jobs of strings are run whole.
struct JobRange {
  std::size_t job = 0;
  std::uint64_t first = 0;
  std::uint64_t elements = UINT64_MAX;
};

// What a run needs.
struct Needs {
  std::uint64_t disk_bytes = 0;    // of all outputs together, besides what they replace
  std::uint64_t memory_bytes = 0;  // of the process, at most; estimated
};

// Checks that the outputs can be made: their names, their formats, the free space on their disks.
TENSORCAST_API Status CheckOutputs(const ConversionPlan& plan, bool overwrite,
                                   const RunSettings& settings, Needs* needs,
                                   std::string* error = nullptr);

// The outputs of a plan, begun once for all parts of a run. Each file has a temporary name until
// Commit. If they are destroyed before that, nothing is left.
class TENSORCAST_API ConversionOutputs {
 public:
  ConversionOutputs();
  ConversionOutputs(ConversionOutputs&&) noexcept;
  ConversionOutputs& operator=(ConversionOutputs&&) noexcept;
  ~ConversionOutputs();

  // Checks as CheckOutputs does, and makes the outputs. `plan` and what `settings.interrupted`
  // points to must outlive them; the plan must not be moved or assigned to.
  static Status Create(const ConversionPlan& plan, bool overwrite, const RunSettings& settings,
                       ConversionOutputs* outputs, std::string* error = nullptr);
  // Gives a text with which other processes can take part: each Joins with the same plan, and runs
  // ranges. They may be on other machines that have the outputs' folder under the same path. There
  // is none for .npz files and models, which one process has to write (kUnsupportedFile).
  Status Share(std::string* handle, std::string* error = nullptr) const;
  // Joins outputs that another process created, and commits after all that joined have ended. Only
  // that process runs jobs of strings. A handle of another plan, or of files that are gone, is
  // refused. If it is not known whether a range was run to its end, any process may run it again:
  // the same bytes go to the same places, and are on disk when RunConversion returns. Once the
  // files have their names, or are removed, RunConversion fails with kFileError and writes nothing
  // more.
  static Status Join(const ConversionPlan& plan, std::string_view handle,
                     const RunSettings& settings, ConversionOutputs* outputs,
                     std::string* error = nullptr);
  // Gives the files their names, after every range of every job has been run. Checks the inputs
  // again: any that was rewritten meanwhile is refused (kFileError). Outputs that were joined
  // cannot be committed (kBadInput).
  Status Commit(std::string* error = nullptr);
  std::uint64_t bytes() const;  // of all files

 private:
  friend struct tensorcast::convert::PlanAccess;
  std::unique_ptr<OutputsState> state_;
};

// Runs a part of a plan: reads, casts, and writes into `outputs`. If that is null, it only measures
// the loss of casts of numbers; several processes can share this, each saving its meters. Adds to
// `losses`, if given, one meter for each range of such a job, in the order of the ranges; without
// `losses` nothing is measured. However a plan is divided into ranges, and in whatever order they
// run, the files have the same bytes, and the meters merged by MergeLosses give the same reports. A
// plan of very many tensors can be run in parts to hold only the meters of one part at a time.
TENSORCAST_API Status RunConversion(const ConversionPlan& plan, std::span<const JobRange> ranges,
                                    const RunSettings& settings, ConversionOutputs* outputs,
                                    std::vector<JobLoss>* losses, std::string* error = nullptr);

// Runs a whole plan and commits its outputs. An output that exists is replaced if `overwrite`.
TENSORCAST_API Status RunConversion(const ConversionPlan& plan, const RunSettings& settings,
                                    bool overwrite, std::vector<JobLoss>* losses,
                                    std::string* error = nullptr);

// A part of a plan for one process to do at once: ranges of jobs of one file.
struct WorkUnit {
  std::size_t output = 0;  // its index in the plan
  std::string file;        // the path of the file; for a directory, of one file in it
  std::size_t part = 0;    // which one of `parts` units of this file
  std::size_t parts = 0;
  std::uint64_t bytes = 0;      // of the inputs' tensors
  bool is_for_creator = false;  // strings, which the process that created the outputs converts
  std::vector<JobRange> ranges;
};

// Cuts a plan by the files of its outputs, and each file into units of about `most_bytes` of the
// inputs' tensors and at most 4,096 tensors. A larger tensor is cut by rows, but strings and scaled
// weights are kept whole. Every element of every job is in exactly one unit. The same plan is
// always cut alike, so that several processes can each take their share of the units by index.
TENSORCAST_API Status CutIntoUnits(const ConversionPlan& plan, std::uint64_t most_bytes,
                                   std::vector<WorkUnit>* units, std::string* error = nullptr);

// Merges the parts of each job, in any order, and orders them by job.
TENSORCAST_API Status MergeLosses(std::vector<JobLoss>* losses);

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert

#endif  // TENSORCAST_CONVERT_HPP_
