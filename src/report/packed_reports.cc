// Integers in as many groups of seven bits as they need, doubles as they are, nothing that is 0.
//
// SPDX-License-Identifier: Apache-2.0
#include "report/packed_reports.h"

#include <cstring>

namespace tensorcast::report {
namespace {

// No report packs to more: 12 kinds and 2 more examples, each at most 4 integers of 10 bytes.
constexpr std::size_t kMostPacked = 1024;

class Packer {
 public:
  explicit Packer(std::vector<std::uint8_t>& out) : out_(out) {}

  void Integer(std::uint64_t& value) {
    std::uint64_t rest = value;
    for (; rest >= 0x80; rest >>= 7) out_.push_back(static_cast<std::uint8_t>(rest | 0x80));
    out_.push_back(static_cast<std::uint8_t>(rest));
  }
  void Double(double& value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    out_.insert(out_.end(), bytes, bytes + sizeof value);
  }

 private:
  std::vector<std::uint8_t>& out_;
};

class Unpacker {
 public:
  explicit Unpacker(const std::uint8_t* in) : in_(in) {}

  void Integer(std::uint64_t& value) {
    value = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint64_t byte = *in_++;
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return;
    }
  }
  void Double(double& value) {
    std::memcpy(&value, in_, sizeof value);
    in_ += sizeof value;
  }

 private:
  const std::uint8_t* in_;
};

template <class Coder> void Code(Coder& coder, DataType& type) {
  auto id = static_cast<std::uint64_t>(type);
  coder.Integer(id);
  type = static_cast<DataType>(id);
}

template <class Coder> void Code(Coder& coder, LossExample& example) {
  coder.Integer(example.index);
  coder.Integer(example.source_code);
  coder.Integer(example.result_code);
}

// The one list of what a report holds, for both directions.
template <class Coder> void Code(Coder& coder, LossReport& report) {
  Code(coder, report.from);
  Code(coder, report.to);
  coder.Integer(report.elements);
  std::uint64_t present = 0;
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if (report.counts[kind] != 0) present |= std::uint64_t{1} << kind;
  }
  coder.Integer(present);
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if ((present >> kind & 1) == 0) continue;
    coder.Integer(report.counts[kind]);
    Code(coder, report.first[kind]);
  }
  coder.Integer(report.finite);
  if (report.finite != 0) {
    coder.Double(report.amax);
    coder.Double(report.smallest_nonzero);
  }
  coder.Integer(report.compared);
  coder.Double(report.snr_db);
  if (report.compared == 0) return;
  coder.Double(report.sum_squares);
  coder.Double(report.sum_squared_error);
  coder.Double(report.rmse);
  coder.Double(report.max_abs_error);
  Code(coder, report.max_abs_example);
  coder.Integer(report.compared_nonzero);
  if (report.compared_nonzero == 0) return;
  coder.Double(report.max_rel_error);
  Code(coder, report.max_rel_example);
}

}  // namespace

void PackedReports::Add(const LossReport& report) {
  if (blocks_.empty() || blocks_.back().size() + kMostPacked > kBlockBytes) {
    blocks_.emplace_back();
    blocks_.back().reserve(kBlockBytes);
  }
  places_.push_back((blocks_.size() - 1) * kBlockBytes + blocks_.back().size());
  LossReport copy = report;
  Packer packer(blocks_.back());
  Code(packer, copy);
}

LossReport PackedReports::operator[](std::size_t i) const {
  LossReport report;
  Unpacker unpacker(blocks_[places_[i] / kBlockBytes].data() + places_[i] % kBlockBytes);
  Code(unpacker, report);
  return report;
}

}  // namespace tensorcast::report
