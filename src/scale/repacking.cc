// Rows are read, their scales brought into the target's type and groups, zero points made of what
// the source has, and all of it written.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/repacking.h"

#include <algorithm>
#include <span>

#include "scale/group_values.h"
#include "scale/grouped_integers.h"
#include "scale/reordered_cells.h"

namespace tensorcast::scale {
namespace {

CodePlaces Moved(CodePlaces places, std::size_t by) {
  places.matrix.tensor += by;
  return places;
}

// Places of tensors that begin at `output` in a file.
WrittenPlaces MovedBy(WrittenPlaces places, std::size_t output) {
  if (places.blocks) places.blocks->tensor += output;
  if (places.codes) places.codes = Moved(*places.codes, output);
  if (places.scales) places.scales->tensor += output;
  if (places.biases) places.biases->tensor += output;
  if (places.zeros) places.zeros->tensor += output;
  return places;
}

}  // namespace

std::string_view Repacking::FormatText() const {
  return form_.format != nullptr ? form_.format->name : GroupedFormat(form_.integers.bits);
}

std::uint64_t Repacking::RowGrain() const {
  // Of what is read and of any layout that is written.
  return ScaleTiles::kRows;
}

std::uint64_t Repacking::RowBytes() const {
  const StoredForm& from = codes_->stored();
  const std::uint64_t codes = from.columns * static_cast<std::uint64_t>(from.bits) / 8 + 8;
  return 4 * codes + 32 * (places_.groups + from.groups());
}

bool Repacking::IsDoneInBands() const {
  const bool is_written_so = places_.codes && places_.codes->in == CodePlaces::In::kWords &&
                             places_.codes->matrix.order != CodeOrder::kRows;
  return is_written_so || codes_->IsReadInBands();
}

void Repacking::Run(const formats::TensorReader& reader, const RowRange& range,
                    formats::TensorWriter& writer, std::size_t output) const {
  const CodeLines codes = codes_->ReadCodes(reader, range.batch, range.first, range.count);
  CodeRows rows;
  rows.batch = range.batch;
  rows.first = range.first;
  rows.count = range.count;
  rows.codes = &codes;
  CodeLines zeros;
  GroupValues values;
  if (places_.blocks || places_.scales) {
    values = ValuesOf(reader, *codes_, values_, range);
    rows.scales = values.scales;
    rows.biases = values.biases;
  }
  if (places_.zeros) {
    zeros = MakeLines(range.count, places_.groups, places_.bits);
    const auto groups = static_cast<std::size_t>(places_.groups);
    for (std::size_t r = 0; r < range.count; ++r) {
      PackCodes(std::span(values.zeros).subspan(r * groups, groups), places_.bits,
                zeros.bytes.data() + r * zeros.stride);
    }
    rows.zeros = &zeros;
  }
  CodeWriter(writer, MovedBy(places_, output)).Write(rows);
}

void Repacking::RunSmall(const formats::TensorReader& reader, formats::TensorWriter& writer,
                         std::size_t output) const {
  if (global_) {
    const std::vector<float> globals = GlobalsOf(codes_->ReadGlobals(reader), is_reciprocal_);
    writer.Write(output + *global_, 0, std::as_bytes(std::span(globals)));
  }
  if (shape_) writer.Write(output + *shape_, 0, std::as_bytes(std::span(written_shape_)));
  if (order_) {
    std::vector<std::uint32_t> order = codes_->ReadOrder(reader);
    if (order.empty()) order = OrderOf(values_.from.columns, values_.group);
    writer.Write(output + *order_, 0, std::as_bytes(std::span(order)));
  }
  if (!copied_) return;
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  const std::uint64_t all = reader.contents().tensors[copied_->from].bytes;
  std::vector<std::byte> some;
  for (std::uint64_t at = 0; at < all; at += kAtOnce) {
    some.resize(static_cast<std::size_t>(std::min(kAtOnce, all - at)));
    reader.Read(copied_->from, at, some);
    writer.Write(output + copied_->to, at, some);
  }
}

}  // namespace tensorcast::scale
