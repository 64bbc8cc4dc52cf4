// The last refusal, kept for each thread, and what an exception becomes; see failure.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/failure.h"

#include <array>
#include <cstddef>
#include <exception>
#include <new>

#include "words/utf8.h"

namespace tensorcast::core {
namespace {

constexpr std::size_t kLongest = 4096;  // as long as paths are

// Plain bytes: a thread that ends has nothing to let go, wherever the library then is.
struct KeptText {
  std::size_t size;
  std::array<char, kLongest + 1> bytes;  // with a NUL, for C

  // The text may be its own.
  void Set(std::string_view text) {
    std::char_traits<char>::move(bytes.data(), text.data(), text.size());
    size = text.size();
    bytes[size] = '\0';
  }
  std::string_view view() const { return {bytes.data(), size}; }
};
struct KeptRefusal {
  StatusCode kind;
  Remedy remedy;
  int system_error;
  KeptText subject;
  KeptText text;
};
thread_local KeptRefusal last_refusal = {};

// As much of a text as is kept: whole characters of UTF-8.
std::string_view KeptPart(std::string_view text) {
  return text.substr(0, words::WholeUtf8(text, kLongest));
}

// The last refusal with the whole of its text, where that and its status are these; else these.
Refusal RefusalOf(Status status, std::string_view text) noexcept {
  Refusal refusal = LastRefusal();
  if (Status(refusal.kind, refusal.remedy) != status || refusal.text != KeptPart(text)) {
    refusal = {status.code(), status.remedy(), {}, {}, 0};
  }
  refusal.text = text;
  return refusal;
}

}  // namespace

Failure::Failure(Status status, const std::string& text) : Failure(RefusalOf(status, text)) {}

void KeepRefusal(const Refusal& refusal) noexcept {
  const bool fits = refusal.subject.size() <= kLongest;
  last_refusal.kind = refusal.kind;
  last_refusal.remedy = refusal.remedy;
  last_refusal.system_error = fits ? refusal.system_error : 0;
  last_refusal.subject.Set(fits ? refusal.subject : "");
  last_refusal.text.Set(KeptPart(refusal.text));
}

Status KeptStatus(Status status, std::string* error) noexcept {
  if (error != nullptr && error->empty()) (void)Refused(status, status.message(), error);
  KeepRefusal(RefusalOf(status, error != nullptr ? *error : status.message()));
  return status;
}

std::string WithThrown(Status status, std::string_view what) {
  std::string text(status.message());
  if (what.empty()) return text;
  text += ": ";
  for (const char c : what) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

Status StatusOfThrown(std::string* error) noexcept {
  const Status internal(StatusCode::kInternalError);
  try {
    try {
      throw;
    } catch (const Failure& failure) {
      KeepRefusal(failure.refusal());
      return Refused(Status(failure.code(), failure.remedy()), failure.what(), error);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& unforeseen) {
      const std::string text = WithThrown(internal, unforeseen.what());
      KeepRefusal({internal.code(), internal.remedy(), {}, text, 0});
      return Refused(internal, text, error);
    } catch (...) {
      if (error != nullptr) error->clear();
      return KeptStatus(internal, error);
    }
  } catch (...) {  // the end of memory, of the text's too
    const Status status(StatusCode::kOutOfMemory);
    // Where no text is wanted, none is kept: a thread's first refusal may take memory.
    if (error == nullptr) return status;
    error->clear();
    return KeptStatus(status, error);
  }
}

}  // namespace tensorcast::core

namespace tensorcast {
inline namespace TENSORCAST_ABI {

Refusal LastRefusal() noexcept {
  const core::KeptRefusal& last = core::last_refusal;
  return {last.kind, last.remedy, last.subject.view(), last.text.view(), last.system_error};
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
