# SPDX-License-Identifier: Apache-2.0
# Real programs and the workloads under the library as it is shipped, so in the release build alone
# (tools/test). Figures come from `kymo report --json` and from the kernel, never from a stopwatch.
if(NOT (CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE MATCHES "^Rel" AND NOT KYMO_SANITIZE))
    return()
endif()
add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/integration)
