// Hostile environments; see environment.h. The words are written directly: what libc offers
// neither reaches FTZ and DAZ nor raises flags without trapping.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/environment.h"

#include <cfenv>
#include <cstdio>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tensorcast::testing {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kMxcsrFlags = 0x3F;
constexpr std::uint32_t kMxcsrMasks = 0x1F80;
constexpr std::uint32_t kFlushAndDenormalsAreZero = 0x8040;

struct X87Environment {
  std::uint32_t control, status, tag, rest[4];
};

void WriteX87(std::uint64_t control, std::uint64_t status) {
  X87Environment words;
  __asm__ volatile("fnstenv %0" : "=m"(words));
  words.control = static_cast<std::uint32_t>(control);
  words.status = static_cast<std::uint32_t>(status);
  __asm__ volatile("fldenv %0" : : "m"(words));
}
#elif defined(__aarch64__)
void WriteWords(std::uint64_t fpcr, std::uint64_t fpsr) {
  __asm__ volatile("msr fpcr, %0\n msr fpsr, %1" : : "r"(fpcr), "r"(fpsr));
}
#endif

}  // namespace

std::vector<HostileEnvironment> HostileEnvironments() {
  return {
      {"default", FE_TONEAREST, false, false, false},
      {"flush, sticky", FE_TONEAREST, true, false, true},
      {"up", FE_UPWARD, false, false, false},
      {"down, flush", FE_DOWNWARD, true, false, false},
      {"to zero, sticky", FE_TOWARDZERO, false, false, true},
      {"trap", FE_TONEAREST, false, true, false},
      {"up, flush, trap", FE_UPWARD, true, true, false},
      {"to zero, flush, trap, sticky", FE_TOWARDZERO, true, true, true},
  };
}

EnvironmentWords ReadEnvironment() {
  EnvironmentWords words;
#if defined(__x86_64__)
  std::uint16_t control = 0;
  std::uint16_t status = 0;
  __asm__ volatile("fnstcw %0\n fnstsw %1" : "=m"(control), "=m"(status));
  words.words[0] = _mm_getcsr();
  words.words[1] = control;
  words.words[2] = status;
#elif defined(__aarch64__)
  __asm__ volatile("mrs %0, fpcr\n mrs %1, fpsr" : "=r"(words.words[0]), "=r"(words.words[1]));
#else
  words.words[0] = static_cast<std::uint64_t>(std::fegetround());
#endif
  return words;
}

HostileScope::HostileScope(const HostileEnvironment& environment) : before_(ReadEnvironment()) {
#if defined(__x86_64__)
  std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(environment.rounding);
  EnvironmentWords words = ReadEnvironment();
  if (environment.flush) words.words[0] |= kFlushAndDenormalsAreZero;
  if (environment.sticky) words.words[0] |= kMxcsrFlags;
  if (environment.trap) {
    words.words[0] &= ~std::uint64_t{kMxcsrMasks};
    words.words[1] &= ~std::uint64_t{0x3F};
  } else if (environment.sticky) {
    words.words[2] |= 0x3F;  // with x87 traps open a raised flag traps at the next instruction
  }
  WriteX87(words.words[1], words.words[2]);
  _mm_setcsr(static_cast<std::uint32_t>(words.words[0]));
#elif defined(__aarch64__)
  std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(environment.rounding);
  const EnvironmentWords words = ReadEnvironment();
  constexpr std::uint64_t kFlushToZero = 1ull << 24;
  constexpr std::uint64_t kTraps = 0x9F00;
  constexpr std::uint64_t kFlags = 0x9F;
  WriteWords(
      words.words[0] | (environment.flush ? kFlushToZero : 0) | (environment.trap ? kTraps : 0),
      words.words[1] | (environment.sticky ? kFlags : 0));
#else
  std::fesetround(environment.rounding);
#endif
  set_ = ReadEnvironment();
}

HostileScope::~HostileScope() {
#if defined(__x86_64__)
  WriteX87(before_.words[1], before_.words[2]);
  _mm_setcsr(static_cast<std::uint32_t>(before_.words[0]));
#elif defined(__aarch64__)
  WriteWords(before_.words[0], before_.words[1]);
#else
  std::fesetround(static_cast<int>(before_.words[0]));
#endif
}

std::string Describe(const EnvironmentWords& words) {
  char text[80];
  std::snprintf(text, sizeof text, "%llx %llx %llx",
                static_cast<unsigned long long>(words.words[0]),
                static_cast<unsigned long long>(words.words[1]),
                static_cast<unsigned long long>(words.words[2]));
  return text;
}

}  // namespace tensorcast::testing
