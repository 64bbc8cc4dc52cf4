/* How the library's functions are exported; for C and C++.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_DETAIL_EXPORT_H_
#define TENSORCAST_DETAIL_EXPORT_H_

/* On Windows a user of the DLL defines TENSORCAST_SHARED (the CMake package does so), and the build
 * of the library defines TENSORCAST_BUILDING. Elsewhere nothing needs to be defined. */
#if defined(_WIN32)
#if defined(TENSORCAST_BUILDING)
#define TENSORCAST_API __declspec(dllexport)
#elif defined(TENSORCAST_SHARED)
#define TENSORCAST_API __declspec(dllimport)
#else
#define TENSORCAST_API
#endif
#else
#define TENSORCAST_API __attribute__((visibility("default")))
#endif

/* For what stands inside an exported class and is not. */
#if defined(_WIN32)
#define TENSORCAST_INTERNAL
#else
#define TENSORCAST_INTERNAL __attribute__((visibility("hidden")))
#endif

#endif /* TENSORCAST_DETAIL_EXPORT_H_ */
