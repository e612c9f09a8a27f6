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
# Of the hot half, alone.
kymo_unit_test(python_stack kymo_unwind Threads::Threads)
target_sources(test_python_stack PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/python_stack.c)
kymo_unit_test(python_code kymo_unwind kymo_buffer Threads::Threads)
target_sources(test_python_code PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/python_code.c
               ${CMAKE_SOURCE_DIR}/src/capture/python_task.c)
kymo_unit_test(python_task kymo_unwind kymo_buffer Threads::Threads)
target_sources(test_python_task PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/python_task.c)
# Traced calls, from the session to the profile.
kymo_unit_test(drain_calls kymo_buffer)
kymo_unit_test(recording_calls recording_helpers)
kymo_unit_test(ingest_calls kymo_profile)
kymo_mark_test(trace)
target_sources(test_trace PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/trace.c)
