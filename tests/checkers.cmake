# SPDX-License-Identifier: Apache-2.0
# The checkers hold the repository to its rules, and samples hold the checkers to theirs:
# tests/checkers/<checker>/n_NAME is one that it must reject, y_NAME one that it must accept.
set(kymo_tools ${CMAKE_SOURCE_DIR}/tools)
add_test(NAME check.layers COMMAND ${kymo_tools}/check-layers)
add_test(NAME check.arch COMMAND ${kymo_tools}/check-arch)
add_test(NAME check.format COMMAND ${kymo_tools}/check-format)
add_test(NAME check.spdx COMMAND ${kymo_tools}/check-spdx)
# A name that is missing would fail only where its line is reached.
add_test(NAME check.python COMMAND pyflakes3 ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/tools
    ${CMAKE_SOURCE_DIR}/bench)
# What is shipped: an unoptimized library has larger frames, a sanitized one has other symbols.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE MATCHES "^Rel" AND NOT KYMO_SANITIZE)
    add_test(NAME check.signal-path COMMAND ${kymo_tools}/check-signal-path ${CMAKE_BINARY_DIR})
    add_test(NAME check.symbols COMMAND ${kymo_tools}/check-symbols ${CMAKE_BINARY_DIR})
endif()

file(GLOB kymo_samples CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/tests/checkers
    ${CMAKE_SOURCE_DIR}/tests/checkers/*/[ny]_*)
foreach(sample IN LISTS kymo_samples)
    string(REGEX MATCH "^([^/]+)/([ny])_(.+)$" matched ${sample})
    set(checker ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_3})
    if(CMAKE_MATCH_2 STREQUAL "n")
        set(verdict rejects)
    else()
        set(verdict accepts)
    endif()
    get_filename_component(folder ${sample} NAME)
    add_test(NAME check.${checker}.${verdict}.${name}
        COMMAND ${CMAKE_SOURCE_DIR}/tests/checkers/run ${checker} ${folder})
endforeach()

add_test(NAME check.install-deps COMMAND ${CMAKE_SOURCE_DIR}/tests/tools/install_deps)
set_tests_properties(check.layers check.arch check.format check.spdx check.install-deps PROPERTIES TIMEOUT ${KYMO_HANGS_S})
