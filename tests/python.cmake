# SPDX-License-Identifier: Apache-2.0
# Python frames, from the interpreter's memory to the recording.
kymo_unit_test(python_lines kymo_recorder)
kymo_unit_test(python_offsets kymo_unwind)
kymo_unit_test(python_walk kymo_unwind Threads::Threads)
kymo_unit_test(code_area kymo_buffer Threads::Threads)
kymo_unit_test(drain_codes kymo_buffer)
kymo_unit_test(python_events kymo_recorder)
kymo_unit_test(ingest_scripts kymo_profile)
kymo_unit_test(firefox_scripts kymo_encode)
kymo_fuzz_target(python_lines kymo_recorder)
kymo_fuzz_target(python_codes kymo_buffer)
# Of an interpreter that is loaded later: libraries that look like one.
kymo_unit_test(python_late kymo_recorder ${CMAKE_DL_LIBS})
target_compile_definitions(test_python_late PRIVATE
    KYMO_LATE_LIBRARIES="${CMAKE_CURRENT_BINARY_DIR}/python_late")
function(kymo_late_library name)
    add_library(late_${name} SHARED ${CMAKE_SOURCE_DIR}/tests/unit/python_late_library.c)
    set_target_properties(late_${name} PROPERTIES OUTPUT_NAME ${name} C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/python_late)
    target_compile_definitions(late_${name} PRIVATE ${ARGN})
    add_dependencies(test_python_late late_${name})
endfunction()
kymo_late_library(python3.9)
kymo_late_library(python3.11 VERSION=0x030b07f0)
kymo_late_library(other3.11 VERSION=0x030b07f0)
kymo_late_library(python3.12 VERSION=0x030c00f0 NO_CODE_TYPE)
kymo_late_library(python3.13 VERSION=0x030d00f0)
kymo_late_library(python3.99 VERSION=0x036300f0)
# Of the hot half, alone.
kymo_unit_test(python_stack kymo_unwind Threads::Threads)
target_sources(test_python_stack PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/python_stack.c)
kymo_unit_test(python_code kymo_unwind kymo_buffer Threads::Threads)
target_sources(test_python_code PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/python_code.c)
kymo_unit_test(python_task kymo_unwind kymo_buffer Threads::Threads)
# Traced calls, from the session to the profile.
kymo_unit_test(drain_calls kymo_buffer)
kymo_unit_test(recording_calls recording_helpers)
kymo_unit_test(ingest_calls kymo_profile)
kymo_mark_test(trace)
target_sources(test_trace PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/trace.c
               ${CMAKE_SOURCE_DIR}/src/recording/recording_calls.c)
# With what headers have inline.
set_source_files_properties(unit/test_drain_calls.c unit/test_trace.c PROPERTIES COMPILE_OPTIONS -O2)
