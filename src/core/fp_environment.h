// The floating-point environment as the kernels need it: round to nearest, subnormals on, no traps.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_FP_ENVIRONMENT_H_
#define TENSORCAST_SRC_CORE_FP_ENVIRONMENT_H_

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace tensorcast::core {

// Saves the calling thread's environment, sets the default one, and puts back exactly what was
// there: masks, modes and sticky flags. About 10 ns.
class FpEnvironment {
 public:
#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__)
  FpEnvironment() : saved_(_mm_getcsr()) { Load(kDefault); }
  // The usual ones come from constants: else each run would wait for the register to go through
  // memory, in which the one before it has put it back.
  ~FpEnvironment() {
    if (saved_ == kDefault) {
      Load(kDefault);
    } else if (saved_ == kInexact) {
      Load(kInexact);
    } else {
      Load(saved_);
    }
  }

 private:
  static constexpr std::uint32_t kDefault = 0x1F80;           // all masked, nearest, no FTZ/DAZ
  static constexpr std::uint32_t kInexact = kDefault | 0x20;  // something was rounded before
  // A compiler may see that an intrinsic of the constant is one of the variable.
  static void Load(const std::uint32_t& bits) {
    __asm__ volatile("ldmxcsr %0" : : "m"(bits) : "memory");
  }

  std::uint32_t saved_;
#elif defined(__aarch64__)
  FpEnvironment() {
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control_), "=r"(status_) : : "memory");
    __asm__ volatile("msr fpcr, xzr" : : : "memory");
  }
  ~FpEnvironment() {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(control_), "r"(status_) : "memory");
  }

 private:
  std::uint64_t control_;
  std::uint64_t status_;
#else
  FpEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FpEnvironment() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
 public:
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;
};

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_FP_ENVIRONMENT_H_
