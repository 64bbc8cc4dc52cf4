/* How the library's functions are exported and called; for C and C++.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_EXPORT_H_
#define TENSORCAST_EXPORT_H_

/* Stands before what the library exports. Define it yourself, in the library's build and in its
 * users', where the library becomes part of something else: empty to export nothing. Else, on
 * Windows, a user of the DLL defines TENSORCAST_SHARED (the CMake package does so), and the build
 * of the library defines TENSORCAST_BUILDING; elsewhere nothing needs to be defined. */
#ifndef TENSORCAST_API
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
#endif

/* The calling convention of the C functions and of the callbacks they take: the compiler's own, but
 * on Windows, where a compiler may be told another (/Gz) and other languages ask for its name,
 * always cdecl. */
#ifndef TENSORCAST_CALL
#if defined(_WIN32)
#define TENSORCAST_CALL __cdecl
#else
#define TENSORCAST_CALL
#endif
#endif

/* For what stands inside an exported class and is not. */
#if defined(_WIN32)
#define TENSORCAST_INTERNAL
#else
#define TENSORCAST_INTERNAL __attribute__((visibility("hidden")))
#endif

#endif /* TENSORCAST_EXPORT_H_ */
