# SPDX-License-Identifier: Apache-2.0
# The command line, and the recorder's parts that serve it.
foreach(t elf_target precheck report_json report_heap_json report_markers_json)
    kymo_unit_test(${t} kymo_recorder)
endforeach()
kymo_unit_test(aggregate kymo_profile m)
kymo_unit_test(marker_report kymo_profile)
foreach(t heap_report heap_diff)
    kymo_unit_test(${t} kymo_profile)
endforeach()
foreach(t output report_text report_markers report_heap manual)
    kymo_unit_test(${t} kymo_cli)
endforeach()
target_compile_definitions(test_manual PRIVATE KYMO_MANUAL="${CMAKE_SOURCE_DIR}/doc/kymo.1")
kymo_fuzz_target(elf_target kymo_recorder)

# What goes wrong on the command line: one clear line each, and no recording lost.
add_test(NAME integration.cli_errors
    COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli_errors $<TARGET_FILE:kymo>)
set_tests_properties(integration.cli_errors PROPERTIES TIMEOUT 300)
