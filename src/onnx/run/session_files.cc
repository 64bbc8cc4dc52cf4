// Sessions of models: from files and bytes straight to what runs.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/failure.h"
#include "files/system.h"
#include "graph/graph_state.h"
#include "onnx/memory_bytes.h"
#include "onnx/optimise/optimise.h"
#include "onnx/run/graph_of_model.h"
#include "tensorcast/onnx.hpp"
#include "tensorcast/session.hpp"

namespace tensorcast {
namespace {

std::unique_ptr<const io::ByteSource> Optimised(std::unique_ptr<const io::ByteSource> source) {
  onnx::OptimizeReport report;
  return onnx::OptimiseModel(std::move(source), {}, report);
}

Status CheckOptions(const onnx::LoadOptions& options) {
  if (options.contradictions != onnx::Contradictions::kText &&
      options.contradictions != onnx::Contradictions::kTests) {
    return Status(StatusCode::kInvalidOption);
  }
  return graph::CheckTarget(options.target);
}

// `memory`: as ReadGraph takes it.
void Set(Session* session, const std::shared_ptr<const io::ByteSource>& source,
         std::span<const std::byte> memory, const onnx::LoadOptions& options) {
  graph::Program program = onnx::MakeProgram(source, memory, options);
  source->CheckUnchanged();
  SessionAccess::Set(*session, std::move(program), {.target = options.target},
                     options.contradictions == onnx::Contradictions::kTests);
}

}  // namespace

inline namespace TENSORCAST_ABI {

Status Session::Load(const std::string& path, const onnx::LoadOptions& options, Session* session,
                     std::string* error) {
  return core::Guarded(error, [&] {
    if (const Status status = CheckOptions(options); !status.ok()) return status;
    std::unique_ptr<const io::ByteSource> source = std::make_unique<io::InputFile>(path);
    if (options.optimize) source = Optimised(std::move(source));
    Set(session, std::move(source), {}, options);
    return Status();
  });
}

Status Session::Parse(std::span<const std::byte> bytes, const onnx::LoadOptions& options,
                      Session* session, std::string* error) {
  return core::Guarded(error, [&] {
    if (const Status status = CheckOptions(options); !status.ok()) return status;
    std::shared_ptr<const onnx::MemoryBytes> source;
    if (options.optimize) {
      const auto edited = Optimised(std::make_unique<onnx::MemoryBytes>(bytes));
      std::vector<std::byte> kept(static_cast<std::size_t>(edited->size()));
      edited->Read(0, kept);
      source = std::make_shared<const onnx::MemoryBytes>(std::move(kept));
    } else {
      source = onnx::MemoryBytes::CopyOf(bytes);
    }
    Set(session, source, source->bytes(), options);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
