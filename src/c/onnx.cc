// The C interface: ONNX models.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/onnx.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "c/boundary.h"
#include "core/given.h"
#include "core/shape.h"
#include "tensorcast/onnx.hpp"
#include "text/error_text.h"
#include "text/utf8.h"

using tensorcast::DataType;
using tensorcast::Status;
using tensorcast::StatusCode;
using tensorcast::onnx::TensorView;
using tensorcast::onnx::ValueInfo;
namespace c = tensorcast::c;
namespace onnx = tensorcast::onnx;

struct tensorcast_model {
  onnx::Model model;
};
struct tensorcast_model_outputs {
  onnx::Outputs outputs;
};

namespace tensorcast::c {
namespace {

static_assert(TENSORCAST_CONTRADICTIONS_TEXT == static_cast<int>(onnx::Contradictions::kText));
static_assert(TENSORCAST_CONTRADICTIONS_TESTS == static_cast<int>(onnx::Contradictions::kTests));

// A text for a person: cut where it does not fit. Texts are escaped, but not ASCII alone, so a
// character of several bytes goes as a whole.
void WriteError(std::string_view text, char* buffer, std::uint64_t buffer_bytes) {
  if (buffer == nullptr || buffer_bytes == 0) return;
  const std::size_t size = text::WholeUtf8(text, Size(buffer_bytes - 1));
  text.copy(buffer, size);
  buffer[size] = '\0';
}

// Runs `body`, which gives a status, with a text for what is wrong; the code's own where it has
// none.
template <class Body>
std::int32_t WithError(char* error, std::uint64_t error_bytes, const Body& body) {
  if (IsMissing(error, error_bytes)) return TENSORCAST_NULL_POINTER;
  std::string text;
  const Status status = core::Guarded(nullptr, [&] { return body(&text); });
  const std::int32_t code = Code(status);
  NameRemedy(status.remedy(), &text);
  if (code == TENSORCAST_OK) {
    WriteError({}, error, error_bytes);
  } else if (text.empty()) {
    WriteError(tensorcast_status_text(code), error, error_bytes);
  } else {
    WriteError(text, error, error_bytes);
  }
  return code;
}

StatusCode ReadLoadOptions(const tensorcast_model_options* given, onnx::LoadOptions* options) {
  tensorcast_model_options current = {};
  const StatusCode code = ReadStruct(
      given,
      {offsetof(tensorcast_model_options, contradictions),
       offsetof(tensorcast_model_options, target),
       offsetof(tensorcast_model_options, allow_hard_links), sizeof(tensorcast_model_options)},
      &current);
  if (current.allow_hard_links != 0 && current.allow_hard_links != 1) {
    return StatusCode::kInvalidOption;
  }
  options->allow_hard_links = current.allow_hard_links == 1;
  options->contradictions = static_cast<onnx::Contradictions>(current.contradictions);
  options->target = static_cast<Target>(current.target);
  return code;
}

struct NodeReport {
  tensorcast_report_node report = nullptr;
  void* context = nullptr;
  std::vector<onnx::NodeProfile> profile;
};

StatusCode ReadModelRun(const tensorcast_model_run_options* given, onnx::ModelRun* run,
                        NodeReport* report) {
  tensorcast_model_run_options current = {};
  const StatusCode code = ReadStruct(
      given,
      {offsetof(tensorcast_model_run_options, reserved),
       offsetof(tensorcast_model_run_options, executor),
       offsetof(tensorcast_model_run_options, report),
       offsetof(tensorcast_model_run_options, context),
       offsetof(tensorcast_model_run_options, interrupt), sizeof(tensorcast_model_run_options)},
      &current);
  if (code != StatusCode::kOk) return code;
  if (current.reserved != 0) return StatusCode::kBadStruct;
  run->executor = ExecutorOf(current.executor);
  run->interrupted = FlagOf(current.interrupt);
  report->report = current.report;
  report->context = current.context;
  if (report->report != nullptr) run->profile = &report->profile;
  return StatusCode::kOk;
}

void Report(const NodeReport& report) {
  if (report.report == nullptr) return;
  for (const onnx::NodeProfile& node : report.profile) {
    report.report(report.context, node.node.data(), node.node.size(), node.op_type.data(),
                  node.op_type.size(), static_cast<std::int32_t>(node.from),
                  static_cast<std::int32_t>(node.to), node.seconds, node.bytes_read,
                  node.bytes_written);
  }
}

bool IsMisaligned(const std::uint64_t* table) {
  return reinterpret_cast<std::uintptr_t>(table) % alignof(std::uint64_t) != 0;
}

StatusCode ReadTensor(const tensorcast_tensor* given, TensorView* view, std::string* text) {
  tensorcast_tensor current = {};
  const StatusCode code =
      ReadStruct(given,
                 {offsetof(tensorcast_tensor, type), offsetof(tensorcast_tensor, shape),
                  offsetof(tensorcast_tensor, rank), offsetof(tensorcast_tensor, data),
                  offsetof(tensorcast_tensor, data_bytes), offsetof(tensorcast_tensor, offsets),
                  offsetof(tensorcast_tensor, offsets_count), sizeof(tensorcast_tensor)},
                 &current);
  if (code != StatusCode::kOk) return code;
  view->type = static_cast<DataType>(current.type);
  if (view->type == DataType::kUndefined) return StatusCode::kOk;
  if (current.rank > core::kMostDimensions) {
    *text = "a tensor has " + std::to_string(current.rank) + " dimensions; at most " +
            std::to_string(core::kMostDimensions) + " are taken";
    return StatusCode::kBadInput;
  }
  if (IsMissing(current.shape, current.rank) || IsMissing(current.data, current.data_bytes) ||
      IsMissing(current.offsets, current.offsets_count)) {
    return StatusCode::kNullPointer;
  }
  if (IsMisaligned(current.shape) || IsMisaligned(current.offsets)) {
    return StatusCode::kMisaligned;
  }
  view->shape = Items(current.shape, current.rank);
  if (view->type == DataType::kString) {
    view->strings = {Items(current.offsets, current.offsets_count),
                     Items(static_cast<const char*>(current.data), current.data_bytes)};
  } else {
    view->data = Bytes(current.data, current.data_bytes);
  }
  return StatusCode::kOk;
}

// Tensors of another version lie as far apart as the caller's structs are large.
StatusCode ReadTensors(const tensorcast_tensor* tensors, std::uint64_t count,
                       std::vector<TensorView>* views, std::string* text) {
  if (IsMissing(tensors, count)) return StatusCode::kNullPointer;
  const std::uint32_t size = count == 0 ? 0 : StructSize(tensors);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto* const place = reinterpret_cast<const unsigned char*>(tensors) + Size(i) * size;
    const auto* const tensor = reinterpret_cast<const tensorcast_tensor*>(place);
    if (size == 0 || StructSize(tensor) != size) return StatusCode::kBadStruct;
    const StatusCode code = ReadTensor(tensor, &views->emplace_back(), text);
    if (code != StatusCode::kOk) return code;
  }
  return StatusCode::kOk;
}

std::optional<std::span<const ValueInfo>> ValuesOf(const tensorcast_model& model,
                                                   std::int32_t side) {
  if (side == TENSORCAST_MODEL_INPUTS) return model.model.inputs();
  if (side == TENSORCAST_MODEL_OUTPUTS) return model.model.outputs();
  return std::nullopt;
}

// Calls `use` with a value of a model.
template <class Use>
std::int32_t WithValue(const tensorcast_model* model, std::int32_t side, std::uint64_t index,
                       const Use& use) {
  if (model == nullptr) return TENSORCAST_NULL_POINTER;
  const auto values = ValuesOf(*model, side);
  if (!values || index >= values->size()) return TENSORCAST_BAD_INPUT;
  return use((*values)[Size(index)]);
}

// Makes a model by `load`, and hands it over where that went well.
template <class Load>
std::int32_t Create(const tensorcast_model_options* options, tensorcast_model** model, char* error,
                    std::uint64_t error_bytes, const Load& load) {
  Clear(model);
  return WithError(error, error_bytes, [&](std::string* text) {
    if (model == nullptr) return Status(StatusCode::kNullPointer);
    onnx::LoadOptions load_options;
    const StatusCode code = ReadLoadOptions(options, &load_options);
    if (code != StatusCode::kOk) return Status(code);
    auto made = std::make_unique<tensorcast_model>();
    const Status status = load(load_options, *made, text);
    if (status.ok()) *model = made.release();
    return status;
  });
}

// A path that ends where its size says; the system would stop at a NUL before.
bool HasNul(std::string_view path, std::string* text) {
  if (path.find('\0') == std::string_view::npos) return false;
  *text = "the path holds a NUL byte";
  return true;
}

struct StorageCallbacks {
  tensorcast_choose_storage choose = nullptr;
  tensorcast_report_storage report = nullptr;
  void* context = nullptr;
};

StatusCode ReadStorageOptions(const tensorcast_storage_options* given,
                              onnx::StorageOptions* options, StorageCallbacks* callbacks) {
  if (given == nullptr) return StatusCode::kNullPointer;
  tensorcast_storage_options current = {};
  StatusCode code = ReadStruct(
      given,
      {offsetof(tensorcast_storage_options, overwrite),
       offsetof(tensorcast_storage_options, choose), offsetof(tensorcast_storage_options, report),
       offsetof(tensorcast_storage_options, context), offsetof(tensorcast_storage_options, cast),
       offsetof(tensorcast_storage_options, executor),
       offsetof(tensorcast_storage_options, allow_hard_links),
       offsetof(tensorcast_storage_options, all_chosen),
       offsetof(tensorcast_storage_options, interrupt), sizeof(tensorcast_storage_options)},
      &current);
  if (code == StatusCode::kOk) code = ReadOptions(current.cast, &options->cast);
  if (code != StatusCode::kOk) return code;
  if (current.choose == nullptr) return StatusCode::kNullPointer;
  if (current.overwrite != 0 && current.overwrite != 1) return StatusCode::kInvalidOption;
  if (current.allow_hard_links != 0 && current.allow_hard_links != 1) {
    return StatusCode::kInvalidOption;
  }
  if (current.all_chosen != 0 && current.all_chosen != 1) return StatusCode::kInvalidOption;
  options->overwrite = current.overwrite == 1;
  options->allow_hard_links = current.allow_hard_links == 1;
  options->all_chosen = current.all_chosen == 1;
  options->executor = ExecutorOf(current.executor);
  options->interrupted = FlagOf(current.interrupt);
  *callbacks = {current.choose, current.report, current.context};
  return StatusCode::kOk;
}

void Report(const StorageCallbacks& callbacks, const std::vector<onnx::StoredTensor>& tensors) {
  if (callbacks.report == nullptr) return;
  for (const onnx::StoredTensor& tensor : tensors) {
    tensorcast_loss_report loss = {};
    loss.struct_size = sizeof(loss);
    CopyLoss(tensor.loss, &loss);
    core::CallGiven(StatusCode::kCallbackFailed, [&] {
      callbacks.report(callbacks.context, tensor.name.c_str(), tensor.name.size(),
                       static_cast<std::int32_t>(tensor.from), static_cast<std::int32_t>(tensor.to),
                       tensor.reason.c_str(), &loss);
    });
  }
}

}  // namespace
}  // namespace tensorcast::c

// --------------------------------------------------------------------------------- models

std::int32_t tensorcast_model_create_from_file(const char* path, std::uint64_t path_bytes,
                                               const tensorcast_model_options* options,
                                               tensorcast_model** model, char* error,
                                               std::uint64_t error_bytes) {
  return c::Create(options, model, error, error_bytes,
                   [&](const onnx::LoadOptions& load, tensorcast_model& made, std::string* text) {
                     if (path == nullptr) return Status(StatusCode::kNullPointer);
                     const std::string_view name = c::Text(path, path_bytes);
                     if (c::HasNul(name, text)) return Status(StatusCode::kFileError);
                     return onnx::Model::Load(std::string(name), load, &made.model, text);
                   });
}

std::int32_t tensorcast_model_create_from_bytes(const void* bytes, std::uint64_t size,
                                                const tensorcast_model_options* options,
                                                tensorcast_model** model, char* error,
                                                std::uint64_t error_bytes) {
  return c::Create(options, model, error, error_bytes,
                   [&](const onnx::LoadOptions& load, tensorcast_model& made, std::string* text) {
                     if (c::IsMissing(bytes, size)) return Status(StatusCode::kNullPointer);
                     return onnx::Model::Parse(c::Bytes(bytes, size), load, &made.model, text);
                   });
}

void tensorcast_model_destroy(tensorcast_model* model) { delete model; }

std::int32_t tensorcast_model_opset(const tensorcast_model* model, std::int64_t* opset) {
  c::Clear(opset);
  if (model == nullptr || opset == nullptr) return TENSORCAST_NULL_POINTER;
  *opset = model->model.opset();
  return TENSORCAST_OK;
}

std::int32_t tensorcast_model_value_count(const tensorcast_model* model, std::int32_t side,
                                          std::uint64_t* count) {
  c::Clear(count);
  if (model == nullptr || count == nullptr) return TENSORCAST_NULL_POINTER;
  const auto values = c::ValuesOf(*model, side);
  if (!values) return TENSORCAST_BAD_INPUT;
  *count = values->size();
  return TENSORCAST_OK;
}

std::int32_t tensorcast_model_value_info(const tensorcast_model* model, std::int32_t side,
                                         std::uint64_t index, tensorcast_value_info* info) {
  return c::WithValue(model, side, index, [&](const ValueInfo& value) {
    const StatusCode code = c::CheckOutputStruct(info);
    if (code != StatusCode::kOk) return c::Code(code);
    tensorcast_value_info copy = {};
    copy.type = static_cast<std::int32_t>(value.type);
    copy.has_shape = value.has_shape ? 1 : 0;
    copy.has_default = value.has_default ? 1 : 0;
    copy.rank = value.shape.size();
    c::WriteStruct(copy, info);
    return c::Code(StatusCode::kOk);
  });
}

std::int32_t tensorcast_model_value_name(const tensorcast_model* model, std::int32_t side,
                                         std::uint64_t index, char* buffer,
                                         std::uint64_t buffer_bytes, std::uint64_t* needed) {
  c::Clear(needed);
  return c::WithValue(model, side, index, [&](const ValueInfo& value) {
    return c::WriteText(value.name, buffer, buffer_bytes, needed);
  });
}

std::int32_t tensorcast_model_value_shape(const tensorcast_model* model, std::int32_t side,
                                          std::uint64_t index, std::int64_t* sizes,
                                          std::uint64_t capacity, std::uint64_t* rank) {
  c::Clear(rank);
  return c::WithValue(model, side, index, [&](const ValueInfo& value) -> std::int32_t {
    if (rank == nullptr || c::IsMissing(sizes, capacity)) return TENSORCAST_NULL_POINTER;
    *rank = value.shape.size();
    if (capacity == 0) return TENSORCAST_OK;
    if (capacity < value.shape.size()) return TENSORCAST_BUFFER_TOO_SMALL;
    for (std::size_t i = 0; i < value.shape.size(); ++i) {
      sizes[i] = value.shape[i] ? static_cast<std::int64_t>(*value.shape[i]) : -1;
    }
    return TENSORCAST_OK;
  });
}

std::int32_t tensorcast_model_value_find(const tensorcast_model* model, std::int32_t side,
                                         const char* name, std::uint64_t name_bytes,
                                         std::uint64_t* index) {
  c::Clear(index);
  if (model == nullptr || index == nullptr || c::IsMissing(name, name_bytes)) {
    return TENSORCAST_NULL_POINTER;
  }
  if (!c::ValuesOf(*model, side)) return TENSORCAST_BAD_INPUT;
  const std::string_view text = c::Text(name, name_bytes);
  const std::optional<std::size_t> found = side == TENSORCAST_MODEL_INPUTS
                                               ? model->model.FindInput(text)
                                               : model->model.FindOutput(text);
  if (!found) return TENSORCAST_BAD_INPUT;
  *index = *found;
  return TENSORCAST_OK;
}

// ----------------------------------------------------------------------------------- runs

std::int32_t tensorcast_model_outputs_create(tensorcast_model_outputs** outputs) {
  c::Clear(outputs);
  if (outputs == nullptr) return TENSORCAST_NULL_POINTER;
  return c::Guarded([&] {
    *outputs = std::make_unique<tensorcast_model_outputs>().release();
    return c::Code(StatusCode::kOk);
  });
}

void tensorcast_model_outputs_destroy(tensorcast_model_outputs* outputs) { delete outputs; }

std::int32_t tensorcast_model_outputs_count(const tensorcast_model_outputs* outputs,
                                            std::uint64_t* count) {
  c::Clear(count);
  if (outputs == nullptr || count == nullptr) return TENSORCAST_NULL_POINTER;
  *count = outputs->outputs.size();
  return TENSORCAST_OK;
}

std::int32_t tensorcast_model_outputs_view(const tensorcast_model_outputs* outputs,
                                           std::uint64_t index, tensorcast_tensor* tensor) {
  if (outputs == nullptr) return TENSORCAST_NULL_POINTER;
  const StatusCode code = c::CheckOutputStruct(tensor);
  if (code != StatusCode::kOk) return c::Code(code);
  if (index >= outputs->outputs.size()) return TENSORCAST_BAD_INPUT;
  const TensorView& view = outputs->outputs[c::Size(index)];
  tensorcast_tensor copy = {};
  copy.type = static_cast<std::int32_t>(view.type);
  copy.shape = view.shape.data();
  copy.rank = view.shape.size();
  if (view.type == DataType::kString) {
    copy.data = view.strings.bytes.data();
    copy.data_bytes = view.strings.bytes.size();
    copy.offsets = view.strings.offsets.data();
    copy.offsets_count = view.strings.offsets.size();
  } else {
    copy.data = view.data.data();
    copy.data_bytes = view.data.size();
  }
  c::WriteStruct(copy, tensor);
  return TENSORCAST_OK;
}

std::int32_t tensorcast_model_run(const tensorcast_model* model, const tensorcast_tensor* inputs,
                                  std::uint64_t input_count,
                                  const tensorcast_model_run_options* run,
                                  tensorcast_model_outputs* outputs, char* error,
                                  std::uint64_t error_bytes) {
  return c::WithError(error, error_bytes, [&](std::string* text) {
    if (model == nullptr || outputs == nullptr) return Status(StatusCode::kNullPointer);
    onnx::ModelRun model_run;
    std::vector<TensorView> views;
    c::NodeReport report;
    StatusCode code = c::ReadModelRun(run, &model_run, &report);
    const std::size_t wanted = model->model.inputs().size();
    if (code == StatusCode::kOk && input_count != wanted) {  // before any is read
      *text = tensorcast::text::CountText(input_count, "input") + " given; the model has " +
              std::to_string(wanted);
      code = StatusCode::kBadInput;
    }
    if (code == StatusCode::kOk) code = c::ReadTensors(inputs, input_count, &views, text);
    if (code != StatusCode::kOk) {
      outputs->outputs = onnx::Outputs();  // let go after every failure
      return Status(code);
    }
    const Status status = model->model.Run(views, model_run, &outputs->outputs, text);
    if (status.ok()) c::Report(report);
    return status;
  });
}

// --------------------------------------------------------------------------- storage only

std::int32_t tensorcast_model_convert_storage(const char* input, std::uint64_t input_bytes,
                                              const char* output, std::uint64_t output_bytes,
                                              const tensorcast_storage_options* options,
                                              char* error, std::uint64_t error_bytes) {
  return c::WithError(error, error_bytes, [&](std::string* text) {
    if (input == nullptr || output == nullptr) return Status(StatusCode::kNullPointer);
    onnx::StorageOptions storage;
    c::StorageCallbacks callbacks;
    const StatusCode code = c::ReadStorageOptions(options, &storage, &callbacks);
    if (code != StatusCode::kOk) return Status(code);
    const std::string_view from = c::Text(input, input_bytes);
    const std::string_view to = c::Text(output, output_bytes);
    if (c::HasNul(from, text) || c::HasNul(to, text)) return Status(StatusCode::kFileError);
    const auto choose = [&](std::string_view name, DataType type,
                            std::span<const std::uint64_t> shape) {
      return static_cast<DataType>(callbacks.choose(callbacks.context, name.data(), name.size(),
                                                    static_cast<std::int32_t>(type), shape.data(),
                                                    shape.size()));
    };
    std::vector<onnx::StoredTensor> tensors;
    const Status status =
        onnx::ConvertStorage(std::string(from), std::string(to), choose, storage, &tensors, text);
    if (status.ok()) c::Report(callbacks, tensors);
    return status;
  });
}
