# SPDX-License-Identifier: Apache-2.0
foreach(t copy sanitize select select_nomem)
    kymo_unit_test(${t} kymo_select kymo_encode kymo_symbolize kymo_fixed_profile)
endforeach()
target_link_libraries(test_copy PRIVATE kymo_import)
target_compile_definitions(test_copy PRIVATE KYMO_TEST_SOURCE="${CMAKE_SOURCE_DIR}")
target_link_options(test_select_nomem PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
