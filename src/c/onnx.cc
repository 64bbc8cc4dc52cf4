// The C interface: sessions run on tensors, and the storage of ONNX models.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/onnx.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "c/boundary.h"
#include "c/graph_handle.h"
#include "core/given.h"
#include "core/shape.h"
#include "tensorcast/onnx.hpp"
#include "tensorcast/session.hpp"
#include "words/error_text.h"
#include "words/utf8.h"

using namespace tensorcast;

struct tensorcast_results {
  SessionResults results;
};

namespace tensorcast::c {
namespace {

// A text for a person: cut where it does not fit. Texts are escaped, but not ASCII alone, so a
// character of several bytes goes as a whole.
void WriteError(std::string_view text, char* buffer, std::uint64_t buffer_bytes) {
  if (buffer == nullptr || buffer_bytes == 0) return;
  const std::size_t size = words::WholeUtf8(text, Size(buffer_bytes - 1));
  text.copy(buffer, size);
  buffer[size] = '\0';
}

// Runs `body`, which gives a status, with a text for what is wrong; the code's own where it has
// none.
template <class Body>
std::int32_t WithError(char* error, std::uint64_t error_bytes, const Body& body) {
  if (IsMissing(error, error_bytes)) return TENSORCAST_NULL_POINTER;
  std::string text;
  const Status status = core::Guarded(&text, [&] { return body(&text); });
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

void Report(tensorcast_report_node report, void* context, const std::vector<NodeProfile>& profile) {
  for (const NodeProfile& node : profile) {
    report(context, node.node.data(), node.node.size(), node.op_type.data(), node.op_type.size(),
           static_cast<std::int32_t>(node.from), static_cast<std::int32_t>(node.to), node.seconds,
           node.bytes_read, node.bytes_written);
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

// ----------------------------------------------------------------------------------- runs

std::int32_t tensorcast_results_create(tensorcast_results** results) {
  c::Clear(results);
  if (results == nullptr) return TENSORCAST_NULL_POINTER;
  return c::Guarded([&] {
    *results = std::make_unique<tensorcast_results>().release();
    return c::Code(StatusCode::kOk);
  });
}

void tensorcast_results_destroy(tensorcast_results* results) { delete results; }

std::int32_t tensorcast_results_count(const tensorcast_results* results, std::uint64_t* count) {
  c::Clear(count);
  if (results == nullptr || count == nullptr) return TENSORCAST_NULL_POINTER;
  *count = results->results.size();
  return TENSORCAST_OK;
}

std::int32_t tensorcast_results_view(const tensorcast_results* results, std::uint64_t index,
                                     tensorcast_tensor* tensor) {
  if (results == nullptr) return TENSORCAST_NULL_POINTER;
  const StatusCode code = c::CheckOutputStruct(tensor);
  if (code != StatusCode::kOk) return c::Code(code);
  if (index >= results->results.size()) return TENSORCAST_BAD_INPUT;
  const TensorView& view = results->results[c::Size(index)];
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

std::int32_t tensorcast_session_run_tensors(
    const tensorcast_session* session, const tensorcast_tensor* inputs, std::uint64_t input_count,
    tensorcast_executor* executor, const tensorcast_interrupt* interrupt,
    tensorcast_report_node report, void* context, tensorcast_results* results, char* error,
    std::uint64_t error_bytes) {
  return c::WithError(error, error_bytes, [&](std::string* text) {
    if (session == nullptr || results == nullptr) return Status(StatusCode::kNullPointer);
    std::vector<NodeProfile> profile;
    auto run = c::RunOf<GraphRun>(executor, interrupt);
    if (report != nullptr) run.profile = &profile;
    std::vector<TensorView> views;
    const std::size_t wanted = session->session.inputs().size();
    StatusCode code = StatusCode::kBadInput;
    if (input_count == wanted) {  // before any is read
      code = c::ReadTensors(inputs, input_count, &views, text);
    } else {
      *text = words::CountText(input_count, "input") + " given; the model has " +
              std::to_string(wanted);
    }
    if (code != StatusCode::kOk) {
      results->results = SessionResults();  // let go after every failure
      return Status(code);
    }
    const Status status = session->session.Run(views, run, &results->results, text);
    if (status.ok()) c::Report(report, context, profile);
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
