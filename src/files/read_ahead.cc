// Chooses, fetches and keeps ranges.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/read_ahead.h"

#include <algorithm>
#include <system_error>

#include "files/error.h"

namespace tensorcast::files {

void ReadAhead::Read(const std::shared_ptr<const FarFile>& file, std::uint64_t offset,
                     std::span<std::byte> out) {
  if (options_.buffer_bytes == 0) return Fetch(*file, offset, out);
  while (!out.empty()) {
    std::unique_lock lock(mutex_);
    std::shared_ptr<Range> range = Holding(*file, offset);
    if (range == nullptr) range = Add(file, offset, out.size());
    range->used_at = ++clock_;
    const bool is_mine = range->state == Range::State::kWaiting;  // no thread has come to it
    if (is_mine) range->state = Range::State::kFetching;
    LookAhead(*range, offset + out.size());
    if (is_mine) {
      lock.unlock();
      Fetch(*range);
      lock.lock();
    }
    changed_.wait(lock, [&] { return range->state == Range::State::kDone; });
    lock.unlock();
    if (range->failure != nullptr) std::rethrow_exception(range->failure);
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), range->end() - offset));
    std::copy_n(range->bytes.begin() + static_cast<std::ptrdiff_t>(offset - range->begin), count,
                out.begin());
    offset += count;
    out = out.subspan(count);
  }
}

void ReadAhead::Forget(const FarFile& file) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const auto& range) { return range->file.get() == &file; });
  for (auto one = ranges_.lower_bound({&file, 0});
       one != ranges_.end() && one->first.first == &file;) {
    held_ -= one->second->size;
    one = ranges_.erase(one);
  }
}

void ReadAhead::Stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

void ReadAhead::Try(const std::string& path, const std::string& what,
                    const std::function<void()>& call) {
  const auto fail = [&](const std::string& how, const char* why, int system_error) {
    throw Error(core::ErrorKind::kSystem,
                words::PathText(path) + ": " + what + how + ": " + words::Escape(why),
                Remedy::kNone, path, system_error);
  };
  const bool was_stopped = is_stopped();
  std::chrono::milliseconds pause = options_.first_pause;
  for (unsigned tried = 1;; ++tried, pause *= 2) {
    try {
      return call();
    } catch (const core::Failure&) {
      throw;
    } catch (const FileRefused& refused) {
      fail("", refused.what(), refused.system_error());
    } catch (const std::exception& error) {
      std::unique_lock lock(mutex_);
      const bool ends = tried == options_.tries ||
                        changed_.wait_for(lock, pause, [&] { return stopped_ != was_stopped; });
      if (ends) fail(", tried " + words::CountText(tried, "time"), error.what(), 0);
    }
  }
}

bool ReadAhead::is_stopped() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

std::shared_ptr<ReadAhead::Range> ReadAhead::Holding(const FarFile& file,
                                                     std::uint64_t offset) const {
  auto next = ranges_.upper_bound({&file, offset});
  if (next == ranges_.begin()) return nullptr;
  const std::shared_ptr<Range>& range = std::prev(next)->second;
  return range->file.get() == &file && offset < range->end() ? range : nullptr;
}

std::shared_ptr<ReadAhead::Range> ReadAhead::Add(const std::shared_ptr<const FarFile>& file,
                                                 std::uint64_t offset, std::uint64_t wanted) {
  const std::shared_ptr<Range> before = offset == 0 ? nullptr : Holding(*file, offset - 1);
  const auto after = ranges_.lower_bound({file.get(), offset});
  const std::uint64_t end = after != ranges_.end() && after->first.first == file.get()
                                ? after->first.second
                                : file->bytes;
  const std::uint64_t size =
      std::max<std::uint64_t>({wanted, kLeastRange, before == nullptr ? 0 : 2 * before->size});
  auto range = std::make_shared<Range>();
  range->file = file;
  range->begin = offset;
  range->size = std::min({size, std::uint64_t{options_.range_bytes}, end - offset});
  range->follows = before != nullptr;
  range->used_at = ++clock_;
  MakeRoom(range->size, file.get(), offset, range->end());
  held_ += range->size;
  ranges_.emplace(Key(file.get(), offset), range);
  return range;
}

// Behind `range`, where the bytes up to `wanted_to` are asked for now.
void ReadAhead::LookAhead(const Range& range, std::uint64_t wanted_to) {
  const bool is_run =
      range.follows && range.size >= std::min<std::uint64_t>(kAheadFrom, options_.range_bytes);
  if ((!is_run && wanted_to <= range.end()) || stopped_) return;
  std::uint64_t at = range.end();
  bool is_new = false;
  for (std::size_t i = 0; i < options_.ranges_ahead && at < range.file->bytes; ++i) {
    std::shared_ptr<Range> next = Holding(*range.file, at);
    if (next == nullptr) {
      const std::uint64_t most =
          std::min<std::uint64_t>({2 * range.size, options_.range_bytes, range.file->bytes - at});
      if (!MakeRoom(most, range.file.get(), range.begin, at + most)) break;
      next = Add(range.file, at, most);
      waiting_.push_back(next);
      is_new = true;
    }
    at = next->end();
  }
  if (!is_new) return;
  try {
    while (threads_.size() < options_.ranges_ahead) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
    // The system gives no more: those that are there do it, or whoever asks for the range.
  }
  changed_.notify_all();
}

// Drops what was used longest ago and is not in [from, to) of the file, until so many bytes more
// may be held. Whether that is so now.
bool ReadAhead::MakeRoom(std::uint64_t bytes, const FarFile* file, std::uint64_t from,
                         std::uint64_t to) {
  while (held_ + bytes > options_.buffer_bytes) {
    const Range* oldest = nullptr;
    for (const auto& [key, range] : ranges_) {
      const bool is_kept = key.first == file && range->begin < to && range->end() > from;
      if (range->state == Range::State::kDone && !is_kept &&
          (oldest == nullptr || range->used_at < oldest->used_at)) {
        oldest = range.get();
      }
    }
    if (oldest == nullptr) return false;
    Drop(*oldest);
  }
  return true;
}

void ReadAhead::Drop(const Range& range) {
  const auto place = ranges_.find({range.file.get(), range.begin});
  if (place == ranges_.end() || place->second.get() != &range) return;  // the file was forgotten
  held_ -= range.size;
  ranges_.erase(place);
}

void ReadAhead::Fetch(const FarFile& file, std::uint64_t offset, std::span<std::byte> out) {
  if (out.empty()) return;
  Try(file.path,
      "bytes " + std::to_string(offset) + " to " + std::to_string(offset + out.size() - 1) +
          " cannot be read",
      [&] { file.fetch(offset, out); });
}

// By the thread that has set its state to kFetching.
void ReadAhead::Fetch(Range& range) {
  try {
    range.bytes.resize(static_cast<std::size_t>(range.size));
    Fetch(*range.file, range.begin, range.bytes);
  } catch (...) {
    range.failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  range.state = Range::State::kDone;
  if (range.failure != nullptr) Drop(range);  // it is tried anew where it is asked for again
  changed_.notify_all();
}

void ReadAhead::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    const std::shared_ptr<Range> range = std::move(waiting_.front());
    waiting_.pop_front();
    if (range->state != Range::State::kWaiting) continue;
    range->state = Range::State::kFetching;
    lock.unlock();
    Fetch(*range);
    lock.lock();
  }
}

}  // namespace tensorcast::files
