// A range is cut into boxes, and a box is read in the order in which its elements stand in the
// file.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/strided_elements.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace tensorcast::formats {
namespace {

constexpr std::uint64_t kWindowBytes = std::uint64_t{256} << 10;
// A gap that is cheaper to read than to go round: a system call is about a copy of so much.
constexpr std::uint64_t kGapBytes = std::uint64_t{4} << 10;

// A dimension of a box.
struct BoxDim {
  std::uint64_t size;
  std::uint64_t from;  // stride in the file
  std::uint64_t to;    // stride in what is read
};

template <std::size_t kBytes>
void CopyApart(const std::byte* from, std::uint64_t from_stride, std::byte* to,
               std::uint64_t to_stride, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * to_stride * kBytes, from + i * from_stride * kBytes, kBytes);
  }
}

class StridedRead {
 public:
  StridedRead(const files::ByteSource& file, std::uint64_t begin, std::span<const StridedDim> dims,
              std::size_t element_bytes, std::byte* out)
      : file_(file),
        begin_(begin),
        dims_(dims),
        element_bytes_(element_bytes),
        out_(out),
        window_(std::make_unique_for_overwrite<std::byte[]>(kWindowBytes)) {
    std::uint64_t last = 0;
    inner_.resize(dims.size() + 1, 1);
    for (std::size_t i = dims.size(); i-- > 0;) {
      inner_[i] = inner_[i + 1] * dims[i].size;
      last += (dims[i].size - 1) * dims[i].stride;
    }
    end_ = begin + (last + 1) * element_bytes;
  }

  // Elements [first, first + n) of what dimensions `level` and further make, which begins at
  // element `from`, go to element `to`.
  void Range(std::size_t level, std::uint64_t from, std::uint64_t first, std::uint64_t n,
             std::uint64_t to) {
    if (n == 0) return;
    if (level == dims_.size() || n == inner_[level]) {
      Box(level, level == dims_.size() ? 1 : dims_[level].size, from, to);
      return;
    }
    const std::uint64_t inner = inner_[level + 1];
    const StridedDim& dim = dims_[level];
    from += first / inner * dim.stride;
    if (const std::uint64_t skipped = first % inner; skipped != 0) {
      const std::uint64_t some = std::min(n, inner - skipped);
      Range(level + 1, from, skipped, some, to);
      from += dim.stride;
      to += some;
      n -= some;
    }
    if (const std::uint64_t whole = n / inner; whole != 0) {
      Box(level, whole, from, to);
      from += whole * dim.stride;
      to += whole * inner;
      n -= whole * inner;
    }
    Range(level + 1, from, 0, n, to);
  }

 private:
  // `size` of dimension `level`, and all of those within it.
  void Box(std::size_t level, std::uint64_t size, std::uint64_t from, std::uint64_t to) {
    std::vector<BoxDim> box;
    for (std::size_t i = level; i < dims_.size(); ++i) {
      box.push_back({i == level ? size : dims_[i].size, dims_[i].stride, inner_[i + 1]});
    }
    std::erase_if(box, [](const BoxDim& dim) { return dim.size == 1; });
    if (box.empty()) box.push_back({1, 1, 1});
    // What repeats the same elements is outermost.
    std::ranges::sort(box,
                      [](const BoxDim& a, const BoxDim& b) { return a.from - 1 > b.from - 1; });
    const BoxDim run = box.back();
    box.pop_back();
    std::vector<std::uint64_t> at(box.size());
    while (true) {
      CopyRun(run, from, to);
      std::size_t i = box.size();
      for (; i-- > 0;) {
        from += box[i].from;
        to += box[i].to;
        if (++at[i] < box[i].size) break;
        from -= box[i].from * box[i].size;
        to -= box[i].to * box[i].size;
        at[i] = 0;
      }
      if (i == SIZE_MAX) return;
    }
  }

  void CopyRun(const BoxDim& run, std::uint64_t from, std::uint64_t to) {
    const std::uint64_t most = kWindowBytes / element_bytes_;
    // Of far elements one at a time.
    const std::uint64_t piece = run.from * element_bytes_ > kGapBytes
                                    ? 1
                                    : (most - 1) / std::max<std::uint64_t>(run.from, 1) + 1;
    for (std::uint64_t done = 0; done < run.size;) {
      const std::uint64_t n = std::min(piece, run.size - done);
      const std::byte* const in = Bytes(begin_ + (from + done * run.from) * element_bytes_,
                                        ((n - 1) * run.from + 1) * element_bytes_);
      std::byte* const out = out_ + (to + done * run.to) * element_bytes_;
      if ((run.from == 1 && run.to == 1) || n == 1) {
        std::memcpy(out, in, n * element_bytes_);
      } else if (element_bytes_ == 1) {
        CopyApart<1>(in, run.from, out, run.to, n);
      } else if (element_bytes_ == 2) {
        CopyApart<2>(in, run.from, out, run.to, n);
      } else if (element_bytes_ == 4) {
        CopyApart<4>(in, run.from, out, run.to, n);
      } else {
        CopyApart<8>(in, run.from, out, run.to, n);
      }
      done += n;
    }
  }

  // Bytes of the file, at most kWindowBytes; they last until the next are asked for.
  const std::byte* Bytes(std::uint64_t offset, std::uint64_t size) {
    if (offset < window_begin_ || offset + size > window_end_) {
      // What goes on near to what was read is read ahead of itself.
      const bool is_near =
          window_end_ != 0 && offset >= window_begin_ && offset <= window_end_ + kGapBytes;
      window_begin_ = offset;
      window_end_ =
          offset + (is_near ? std::max(size, std::min(kWindowBytes, end_ - offset)) : size);
      file_.Read(window_begin_, std::span(window_.get(), window_end_ - window_begin_));
    }
    return window_.get() + (offset - window_begin_);
  }

  const files::ByteSource& file_;
  std::uint64_t begin_;
  std::uint64_t end_;  // of the tensor in the file
  std::span<const StridedDim> dims_;
  std::vector<std::uint64_t> inner_;  // elements of dimensions i and further
  std::size_t element_bytes_;
  std::byte* out_;
  std::unique_ptr<std::byte[]> window_;
  std::uint64_t window_begin_ = 0;
  std::uint64_t window_end_ = 0;
};

}  // namespace

std::vector<StridedDim> JoinedDims(std::span<const std::uint64_t> sizes,
                                   std::span<const std::uint64_t> strides) {
  std::vector<StridedDim> dims;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    if (!dims.empty() && strides[i] != 0 && dims.back().stride / strides[i] == sizes[i] &&
        dims.back().stride % strides[i] == 0) {
      dims.back() = {dims.back().size * sizes[i], strides[i]};
    } else if (!dims.empty() && strides[i] == 0 && dims.back().stride == 0) {
      dims.back().size *= sizes[i];
    } else {
      dims.push_back({sizes[i], strides[i]});
    }
  }
  if (dims.size() == 1 && dims[0].stride == 1) dims.clear();
  return dims;
}

void ReadStrided(const files::ByteSource& file, std::uint64_t begin,
                 std::span<const StridedDim> dims, std::size_t element_bytes, std::uint64_t first,
                 std::span<std::byte> out) {
  StridedRead(file, begin, dims, element_bytes, out.data())
      .Range(0, 0, first, out.size() / element_bytes, 0);
}

bool IsTurned(std::span<const StridedDim> dims) {
  return std::ranges::any_of(dims, [&](const StridedDim& dim) {
    return dim.stride != 0 && dim.stride < dims.back().stride;
  });
}

void StridedTiles::Read(const files::ByteSource& file, std::uint64_t begin,
                        std::span<const StridedDim> dims, std::size_t element_bytes,
                        std::uint64_t bytes, std::uint64_t offset, std::span<std::byte> out) {
  // Others wait while a tile is made: most of them would make the same one.
  const std::lock_guard<std::mutex> lock(mutex_);
  // Of whole rows where one fits: a part of one costs as much as all.
  std::uint64_t row_bytes = element_bytes;
  for (const StridedDim& dim : dims.subspan(1)) row_bytes *= dim.size;
  const std::uint64_t tile_bytes =
      row_bytes <= kTileBytes ? kTileBytes / row_bytes * row_bytes : kTileBytes;
  while (!out.empty()) {
    const std::uint64_t number = offset / tile_bytes;
    const auto found = std::ranges::find_if(tiles_, [&](const Tile& tile) {
      return tile.tensor == begin && tile.dims.data() == dims.data() && tile.number == number;
    });
    if (found != tiles_.end()) {
      tiles_.splice(tiles_.begin(), tiles_, found);
    } else {
      Tile tile{begin, dims, number, {}};
      if (tiles_.size() == kMostTiles) {
        tile.bytes = std::move(tiles_.back().bytes);
        tiles_.pop_back();
      }
      tile.bytes.resize(
          static_cast<std::size_t>(std::min(tile_bytes, bytes - number * tile_bytes)));
      ReadStrided(file, begin, dims, element_bytes, number * tile_bytes / element_bytes,
                  tile.bytes);
      tiles_.push_front(std::move(tile));
    }
    const std::vector<std::byte>& held = tiles_.front().bytes;
    const std::uint64_t skipped = offset - number * tile_bytes;
    const std::size_t some =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), held.size() - skipped));
    std::memcpy(out.data(), held.data() + skipped, some);
    out = out.subspan(some);
    offset += some;
  }
}

}  // namespace tensorcast::formats
