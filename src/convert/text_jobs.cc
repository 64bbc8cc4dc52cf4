// Chunks are taken in order by one thread, because some formats' strings can only be written so;
// what takes the time, parsing and printing, uses all threads within a chunk.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/text_jobs.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/given.h"
#include "files/error.h"
#include "formats/element_index.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;
using formats::TensorInfo;
using formats::TensorReader;
using formats::TensorWriter;
using text::StringPiece;
using text::TextSize;

// Bytes of a chunk's strings in the file. Large enough to give every thread a share.
constexpr std::uint64_t kTextBytes = std::uint64_t{4} << 20;
// Elements of a chunk at most: strings may be short, and each has an offset of 8 bytes. A multiple
// of 4, so that a chunk of a packed type takes whole bytes.
constexpr std::uint64_t kChunkElements = std::uint64_t{128} << 10;
constexpr std::uint64_t kLeastElements = 4;

// Elements of a chunk of strings that take info.bytes in all.
std::uint64_t StringsAtOnce(const TensorInfo& info) {
  if (info.elements == 0 || info.bytes == 0) return kChunkElements;
  const std::uint64_t each = info.bytes / info.elements + 1;
  return std::clamp(kTextBytes / each / kLeastElements * kLeastElements, kLeastElements,
                    kChunkElements);
}

class TextJob {
 public:
  TextJob(const TensorReader& reader, const TensorJob& job, const JobOptions& options)
      : reader_(reader),
        job_(job),
        options_(options),
        executor_(options.executor),
        info_(reader.contents().tensors.at(job.tensor)),
        to_(job.to.empty() ? DataType::kString : job.to.front()) {
    run_.executor = executor_.get();
    if (info_.type == to_) return;
    CheckStatus(CastPlan::Bind(info_.type, to_, options.cast, &plan_, options.target), info_);
  }

  TextSize Measure() {
    TextSize size;
    ForChunks([&](std::uint64_t first, std::uint64_t n) {
      const Strings texts = Texts(first, n);
      text::AddTextSize(texts, size);
      if (options_.progress) {
        options_.progress(
            {BytesBefore(first + texts.size()), info_.bytes, job_.tensor, info_.name});
      }
      return texts.size();
    });
    return size;
  }

  void Run(TensorWriter& writer, const TextProgress& done) {
    ForChunks([&](std::uint64_t first, std::uint64_t n) {
      const Strings texts = Texts(first, n);
      std::uint64_t written = 0;
      if (to_ == DataType::kString) {
        writer.WriteStrings(job_.output, first, texts);
        written = texts.offsets.back() - texts.offsets.front();
      } else {
        const std::span<const std::byte> numbers = Parsed(first, texts);
        writer.Write(job_.output, *StorageBytes(to_, first), numbers);
        written = numbers.size();
      }
      done(BytesBefore(first + texts.size()) - BytesBefore(first), written);
      return texts.size();
    });
  }

 private:
  // `use` takes a place and a number of elements, and says how many of them it has done.
  template <class Function> void ForChunks(Function use) {
    const std::uint64_t at_once =
        info_.type == DataType::kString ? StringsAtOnce(info_) : kChunkElements;
    for (std::uint64_t first = 0; first < info_.elements;) {
      files::StopIfInterrupted(options_.interrupted);
      first += use(first, std::min(at_once, info_.elements - first));
    }
  }

  // Bytes of the input's tensor before an element, for the progress.
  std::uint64_t BytesBefore(std::uint64_t element) const {
    if (info_.type != DataType::kString) return *StorageBytes(info_.type, element);
    if (element == info_.elements) return info_.bytes;
    return info_.bytes / info_.elements * element;
  }

  // The texts of a chunk: read (as many as the reader gives at once), or printed. Valid until the
  // next call.
  Strings Texts(std::uint64_t first, std::uint64_t n) {
    if (info_.type == DataType::kString) {
      piece_ = {};  // two of them at once are not needed
      piece_ = reader_.ReadStrings(job_.tensor, first, n);
      return piece_.view();
    }
    numbers_.resize(static_cast<std::size_t>(*StorageBytes(info_.type, n)));
    reader_.Read(job_.tensor, *StorageBytes(info_.type, first), numbers_);
    piece_.offsets.resize(static_cast<std::size_t>(n) + 1);
    piece_.bytes.resize(static_cast<std::size_t>(n) * kLongestPrinted);
    CheckStatus(plan_.Print(numbers_, 0, n, piece_.offsets, piece_.bytes, run_), info_);
    return piece_.view();
  }

  // `texts`: those from the element `first` on.
  std::span<const std::byte> Parsed(std::uint64_t first, const Strings& texts) {
    const std::uint64_t n = texts.size();
    numbers_.resize(static_cast<std::size_t>(*StorageBytes(to_, n)));
    numbers_.back() = std::byte{0};  // the pad bits
    ParseFailure failure;
    const Status status = plan_.Parse(texts, 0, numbers_, 0, n, run_, &failure);
    if (status.code() == StatusCode::kNotANumber || status.code() == StatusCode::kNotAnInteger) {
      RefuseText(first + failure.index, failure.text, status.code());
    }
    CheckStatus(status, info_);
    return numbers_;
  }

  [[noreturn]] void RefuseText(std::uint64_t index, std::string_view text, StatusCode code) const {
    const std::string place = formats::IndexText(info_, index);
    throw Error(ErrorKind::kContents,
                words::PathText(options_.input) + ": tensor " + words::Quoted(info_.name) +
                    " holds " + (place.empty() ? "" : "at " + place + ' ') + "the text \"" +
                    std::string(text) + "\", which is " + std::string(words::UnparsedText(code)),
                options_.input);
  }

  const TensorReader& reader_;
  const TensorJob& job_;
  const JobOptions& options_;
  core::GivenExecutor executor_;
  const TensorInfo& info_;
  const DataType to_;
  CastPlan plan_;
  RunOptions run_;
  StringPiece piece_;
  std::vector<std::byte> numbers_;
};

}  // namespace

bool IsTextJob(const TensorReader& reader, const TensorJob& job) {
  return reader.contents().tensors.at(job.tensor).type == DataType::kString ||
         (!job.to.empty() && job.to.front() == DataType::kString);
}

TextSize MeasureTexts(const TensorReader& reader, const TensorJob& job, const JobOptions& options) {
  return TextJob(reader, job, options).Measure();
}

void RunTextJob(const TensorReader& reader, const TensorJob& job, TensorWriter& writer,
                const JobOptions& options, const TextProgress& done) {
  TextJob(reader, job, options).Run(writer, done);
}

}  // namespace tensorcast::convert
