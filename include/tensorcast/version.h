/* The version of tensorcast, for C and C++. It is written only here, where CMake reads it too.
 * docs/stability.md says what a version promises.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_VERSION_H_
#define TENSORCAST_VERSION_H_

#define TENSORCAST_VERSION_MAJOR 0
#define TENSORCAST_VERSION_MINOR 1
#define TENSORCAST_VERSION_PATCH 0

#define TENSORCAST_TEXT_OF(x) #x
#define TENSORCAST_DOTTED(major, minor, patch) \
  TENSORCAST_TEXT_OF(major) "." TENSORCAST_TEXT_OF(minor) "." TENSORCAST_TEXT_OF(patch)
/* "0.1.0" */
#define TENSORCAST_VERSION \
  TENSORCAST_DOTTED(TENSORCAST_VERSION_MAJOR, TENSORCAST_VERSION_MINOR, TENSORCAST_VERSION_PATCH)

/* 1000 for 0.1.0: one number to compare. A library reports its own at run time
 * (tensorcast_version_number, tensorcast::VersionNumber). */
#define TENSORCAST_VERSION_NUMBER \
  (TENSORCAST_VERSION_MAJOR * 1000000 + TENSORCAST_VERSION_MINOR * 1000 + TENSORCAST_VERSION_PATCH)

#ifdef __cplusplus
/* The inline namespace of the C++ names, v0_1: to the linker tensorcast::Cast is
 * tensorcast::v0_1::Cast, so that an object compiled with the headers of one ABI does not link with
 * a library of another. Every minor version has its own ABI before 1.0, and every major one after.
 */
#define TENSORCAST_ABI_OF(major, minor) v##major##_##minor
#define TENSORCAST_ABI_NAME(major, minor) TENSORCAST_ABI_OF(major, minor)
#define TENSORCAST_ABI TENSORCAST_ABI_NAME(TENSORCAST_VERSION_MAJOR, TENSORCAST_VERSION_MINOR)
#endif

#endif /* TENSORCAST_VERSION_H_ */
