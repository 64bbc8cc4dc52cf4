/* How the library's functions are exported and called; for C and C++.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_EXPORT_H_
#define TENSORCAST_EXPORT_H_

/* Marks what the library exports. If the library becomes part of something else, define this
 * yourself, in the library's build and in its users': as empty, to export nothing. Otherwise, on
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

/* The calling convention of the C functions and of the callbacks that they take. It is the
 * compiler's own, except on Windows: there it is always cdecl, as a compiler may be told to use
 * another by default (/Gz) and other languages ask for its name. */
#ifndef TENSORCAST_CALL
#if defined(_WIN32)
#define TENSORCAST_CALL __cdecl
#else
#define TENSORCAST_CALL
#endif
#endif

/* For members of an exported class that are not exported. */
#if defined(_WIN32)
#define TENSORCAST_INTERNAL
#else
#define TENSORCAST_INTERNAL __attribute__((visibility("hidden")))
#endif

#endif /* TENSORCAST_EXPORT_H_ */
