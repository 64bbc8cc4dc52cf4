// GGUF files as a sink.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_GGUF_SINK_H_
#define TENSORCAST_SRC_CONVERT_GGUF_SINK_H_

#include <memory>
#include <string>

#include "convert/sink.h"

namespace tensorcast::convert {

// `input` outlives it. `like`: the GGUF file whose names, order and keys the output gets, or empty.
// Throws files::Error.
std::unique_ptr<Sink> OpenGgufSink(const std::string& path, const formats::FileContents& input,
                                   const std::string& like, const Opening& opening);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_GGUF_SINK_H_
