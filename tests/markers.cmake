# SPDX-License-Identifier: Apache-2.0
# The headers of markers, which programs compile: each language and compiler, what must not compile,
# and what is left of a marker that is off. They need no build of ours.
function(kymo_header_test name)
    add_test(NAME markers.${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/markers/check_header.py ${ARGN})
    set_tests_properties(markers.${name} PROPERTIES TIMEOUT ${KYMO_HANGS_S})
endfunction()

if(NOT KYMO_SANITIZE)
    foreach(compiler gcc clang)
        foreach(std c11 gnu11 c++11 c++17 c++20)
            kymo_header_test(language.${compiler}.${std} language ${compiler} ${std})
        endforeach()
        kymo_header_test(mistakes.${compiler} mistakes ${compiler})
        kymo_header_test(disabled.${compiler} disabled ${compiler})
        kymo_header_test(vanishes.${compiler} vanishes ${compiler})
    endforeach()
    kymo_header_test(linked linked)
endif()
