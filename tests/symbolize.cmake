# SPDX-License-Identifier: Apache-2.0
add_subdirectory(${CMAKE_SOURCE_DIR}/tests/fixtures ${CMAKE_BINARY_DIR}/tests/fixtures)
function(kymo_symbolize_test name)
    kymo_unit_test(${name} kymo_symbolize)
    add_dependencies(test_${name} symbolize_fixtures)
    target_compile_definitions(test_${name} PRIVATE
        KYMO_FIXTURES="${CMAKE_BINARY_DIR}/tests/fixtures"
        KYMO_FIXTURE_SOURCES="${CMAKE_SOURCE_DIR}/tests/fixtures")
endfunction()
foreach(t intervals demangle section_cache elf_content elf_symbols dwarf_functions symbolize symbolize_nomem apply)
    kymo_symbolize_test(${t})
endforeach()
target_link_options(test_symbolize_nomem PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)

add_executable(symbolize_tool ${CMAKE_SOURCE_DIR}/tests/integration/symbolize_tool.c)
target_link_libraries(symbolize_tool PRIVATE kymo_symbolize)
kymo_sanitize(symbolize_tool)

kymo_fuzz_target(symbolize kymo_symbolize)

kymo_unit_test(perf_map kymo_symbolize)
kymo_unit_test(jitdump kymo_symbolize)
kymo_fuzz_target(code_file kymo_symbolize)
kymo_fuzz_target(section_cache kymo_symbolize)

find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME integration.symbolize_agreement
    COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/integration/symbolize_agreement.py
        $<TARGET_FILE:symbolize_tool>)
set_tests_properties(integration.symbolize_agreement PROPERTIES TIMEOUT ${KYMO_HANGS_S} SKIP_RETURN_CODE 77)
