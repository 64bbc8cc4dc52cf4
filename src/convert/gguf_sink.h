// GGUF files as a sink.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_GGUF_SINK_H_
#define TENSORCAST_SRC_CONVERT_GGUF_SINK_H_

#include <memory>
#include <optional>
#include <string>

#include "convert/sink.h"

namespace tensorcast::convert {

// `input` outlives it. `like`: the GGUF file whose names, order and keys the output gets, or empty;
// `rule`: the one of scales that is asked for, if one is, which has to be that of GGUF's blocks.
// Throws files::Error.
std::unique_ptr<Sink> OpenGgufSink(const std::string& path, const formats::FileContents& input,
                                   const NewNames& names, const std::string& like,
                                   std::optional<ScaleRule> rule, const Opening& opening);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_GGUF_SINK_H_
