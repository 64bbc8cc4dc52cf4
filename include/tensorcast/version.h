/* Which tensorcast this is; for C and C++. The one place the version is written: CMake reads it
 * here. docs/stability.md says what a version promises.
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

/* 1000 for 0.1.0: one number to compare. A library says its own at run time
 * (tensorcast_version_number, tensorcast::VersionNumber). */
#define TENSORCAST_VERSION_NUMBER \
  (TENSORCAST_VERSION_MAJOR * 1000000 + TENSORCAST_VERSION_MINOR * 1000 + TENSORCAST_VERSION_PATCH)

#ifdef __cplusplus
/* The inline namespace in which the C++ names stand, v0_1: tensorcast::Cast is
 * tensorcast::v0_1::Cast to the linker, so that an object compiled with the headers of one ABI does
 * not link with a library of another. Before 1.0 every minor version is another; from then on every
 * major one. */
#define TENSORCAST_ABI_OF(major, minor) v##major##_##minor
#define TENSORCAST_ABI_NAME(major, minor) TENSORCAST_ABI_OF(major, minor)
#define TENSORCAST_ABI TENSORCAST_ABI_NAME(TENSORCAST_VERSION_MAJOR, TENSORCAST_VERSION_MINOR)
#endif

#endif /* TENSORCAST_VERSION_H_ */
