// UTF-8, as io's files name it: src/text/utf8.h.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_UTF8_H_
#define TENSORCAST_SRC_IO_UTF8_H_

#include "text/utf8.h"

namespace tensorcast::io {

using text::DecodeUtf8;
using text::IsDeceptive;
using text::IsUnicode;
using text::IsUtf8;
using text::PutUtf8;
using text::Utf8Character;

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_UTF8_H_
