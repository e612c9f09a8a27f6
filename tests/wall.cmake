# SPDX-License-Identifier: Apache-2.0
# Wall time: stacks walked from outside, and what threads wait in.
kymo_unit_test(remote kymo_recorder kymo_unwind)
# The walk from outside knows no rbp: the stack is to be one that does not need it.
set_source_files_properties(unit/test_remote.c PROPERTIES COMPILE_OPTIONS "-O2;-fomit-frame-pointer")
kymo_fuzz_target(remote kymo_recorder)
kymo_unit_test(stack_copies kymo_recorder kymo_unwind)
set_source_files_properties(unit/test_stack_copies.c PROPERTIES COMPILE_OPTIONS "-O2;-fomit-frame-pointer")
kymo_fuzz_target(stack_copy kymo_recorder)
kymo_unit_test(frame_index kymo_recorder kymo_unwind)
kymo_fuzz_target(frame_index kymo_recorder)
kymo_unit_test(perf_tasks kymo_recorder Threads::Threads)
kymo_unit_test(children kymo_recorder)
kymo_unit_test(wall_find kymo_recorder kymo_unwind)
kymo_unit_test(remote_frames kymo_recorder kymo_unwind)
kymo_unit_test(remote_python kymo_recorder kymo_unwind)
kymo_unit_test(wall_stacks kymo_recorder kymo_unwind ${CMAKE_DL_LIBS})
# Their own frames are walked.
set_source_files_properties(unit/test_wall_find.c unit/test_wall_stacks.c unit/test_remote_frames.c
    PROPERTIES COMPILE_OPTIONS -O2)
# The file, and what it counts with: who moved and where threads wait, the test says.
kymo_unit_test(wall kymo_base)
target_sources(test_wall PRIVATE ${CMAKE_SOURCE_DIR}/src/observe/wall.c
    ${CMAKE_SOURCE_DIR}/src/observe/python_label.c ${CMAKE_SOURCE_DIR}/src/observe/wall_running.c ${CMAKE_SOURCE_DIR}/src/observe/wall_ticks.c)
