# What is installed and packaged: both libraries, the headers, the CMake package, tensorcast.pc; the
# tool's own rules stand in programs/CMakeLists.txt.
# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tensorcast)
install(TARGETS tensorcast_shared EXPORT tensorcastShared)
install(TARGETS tensorcast_static EXPORT tensorcastStatic)
# Headers of what was switched off stay away: what they declare is not in the library. A component
# of their own, so that they can be installed without a build.
set(left_out)
if(NOT TENSORCAST_ONNX)
  list(APPEND left_out file_system.hpp flat.h graph.h graph.hpp onnx.hpp onnx.h session.h session.hpp
    tensor_view.hpp)
endif()
if(NOT TENSORCAST_CONVERT)
  list(APPEND left_out convert.hpp diff.hpp mdf.hpp report.hpp)
endif()
list(TRANSFORM left_out REPLACE "(.+)" "PATTERN;\\1;EXCLUDE")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tensorcast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT headers ${left_out})

# Two files, as only the static library asks for the libraries it was built with.
foreach(kind Shared Static)
  install(EXPORT tensorcast${kind} NAMESPACE tensorcast:: FILE tensorcast${kind}Targets.cmake
    DESTINATION ${cmake_dir})
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tensorcastConfig.cmake.in
  ${PROJECT_BINARY_DIR}/tensorcastConfig.cmake INSTALL_DESTINATION ${cmake_dir}
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the C++ interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tensorcastConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tensorcastConfig.cmake
  ${PROJECT_BINARY_DIR}/tensorcastConfigVersion.cmake DESTINATION ${cmake_dir})

# tensorcast.pc finds its prefix from where it stands, so that an installed tree may be moved.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# For --static: what libtensorcast.a needs of others, the C++ runtime included. Not as
# Requires.private, with which pkg-config would ask users of the shared library for it too.
set(pc_private "-lhwy")
if(TENSORCAST_TBB)
  string(APPEND pc_private " -ltbb")
endif()
if(TENSORCAST_CONVERT)
  string(APPEND pc_private " -lz")
endif()
if(TENSORCAST_YAML)
  string(APPEND pc_private " -lyaml")
endif()
if(TENSORCAST_REGEX)
  string(APPEND pc_private " -lpcre2-8")
endif()
foreach(library stdc++ c++ m)
  if(library IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    string(APPEND pc_private " -l${library}")
  endif()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/tensorcast.pc.in ${PROJECT_BINARY_DIR}/tensorcast.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tensorcast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# One Debian package with everything, built by `cpack` in the build directory. The tool in it is
# linked with the static library: it runs without ldconfig, and from wherever it is unpacked.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tensorcast)
set(CPACK_PACKAGE_VENDOR "tensorcast")
set(CPACK_PACKAGE_CONTACT "tensorcast maintainers <maintainers@tensorcast.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Exact, fast casts between tensor element types")
set(CPACK_PACKAGE_DESCRIPTION
  "tensorcast converts tensors among the 26 element types of ONNX's Cast, with one
rounding and the same bits on every machine, and reports what each cast lost. This
package holds the command-line tool, the shared and the static library with a C
and a C++20 interface, and what compilers, CMake and pkg-config need to use them.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libhwy-dev, libtbb-dev, zlib1g-dev, libyaml-dev, libpcre2-dev")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/tensorcast
  RENAME copyright)
include(CPack)
