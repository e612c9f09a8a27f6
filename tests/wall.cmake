# SPDX-License-Identifier: Apache-2.0
# Wall time: stacks walked from outside, and what threads wait in.
kymo_unit_test(remote kymo_recorder kymo_unwind)
# The walk from outside knows no rbp: the stack is to be one that does not need it.
set_source_files_properties(unit/test_remote.c PROPERTIES COMPILE_OPTIONS "-O2;-fomit-frame-pointer")
kymo_fuzz_target(remote kymo_recorder)
kymo_unit_test(wall_stacks kymo_recorder kymo_unwind ${CMAKE_DL_LIBS})
