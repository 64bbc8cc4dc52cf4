# Reads the version where it is written, include/tensorcast/version.h, into tensorcast_version.
# SPDX-License-Identifier: Apache-2.0
set(tensorcast_version_file ${CMAKE_CURRENT_LIST_DIR}/../include/tensorcast/version.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tensorcast_version_file})
set(tensorcast_version)
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${tensorcast_version_file} line REGEX "^#define TENSORCAST_VERSION_${part} [0-9]+$")
  string(REGEX REPLACE ".* " "" number "${line}")
  list(APPEND tensorcast_version "${number}")
endforeach()
list(JOIN tensorcast_version "." tensorcast_version)
