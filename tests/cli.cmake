# SPDX-License-Identifier: Apache-2.0
# The command line, and the recorder's parts that serve it.
foreach(t elf_target precheck runtimes spool report_json report_heap_json report_markers_json)
    kymo_unit_test(${t} kymo_launch)
endforeach()
kymo_unit_test(categories kymo_control)
kymo_unit_test(aggregate kymo_views m)
kymo_unit_test(allocator_name kymo_views)
kymo_unit_test(marker_report kymo_views)
foreach(t heap_report heap_diff side_diff time_diff)
    kymo_unit_test(${t} kymo_views)
endforeach()
foreach(t finisher foreign_file latest output report_quality report_selection report_text report_markers report_heap
        sample_type select_request manual)
    kymo_unit_test(${t} kymo_cli)
endforeach()
set_target_properties(test_output PROPERTIES KYMO_ALONE TRUE) # replaces symlinkat
target_compile_definitions(test_manual PRIVATE KYMO_MANUAL="${CMAKE_SOURCE_DIR}/doc/kymo.1")
target_link_libraries(test_foreign_file PRIVATE ZLIB::ZLIB)
kymo_fuzz_target(elf_target kymo_recorder)
kymo_fuzz_target(foreign_file kymo_cli)

# What goes wrong on the command line: one clear line each, and no recording lost.
add_test(NAME integration.cli_errors
    COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli_errors $<TARGET_FILE:kymo>)
set_tests_properties(integration.cli_errors PROPERTIES TIMEOUT ${KYMO_HANGS_S})

# The lines of the README, typed.
add_test(NAME integration.readme
    COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/readme.py $<TARGET_FILE:kymo> ${CMAKE_SOURCE_DIR}/README.md)
set_tests_properties(integration.readme PROPERTIES TIMEOUT ${KYMO_HANGS_S})

# What is installed, from where it lies. Sanitized libraries are not what is shipped.
if(NOT KYMO_SANITIZE AND CMAKE_BUILD_TYPE MATCHES "^Rel")
    add_test(NAME integration.installed COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/installed
        ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER} c++)
    set_tests_properties(integration.installed PROPERTIES TIMEOUT 600)
endif()
