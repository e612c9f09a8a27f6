# SPDX-License-Identifier: Apache-2.0
add_library(unwind_constructor SHARED ${CMAKE_SOURCE_DIR}/tests/unit/unwind_constructor.c)
target_link_libraries(unwind_constructor PRIVATE kymo_unwind)
kymo_sanitize(unwind_constructor)

kymo_unit_test(unwind kymo_unwind unwind_constructor)
kymo_unit_test(unwind_step kymo_unwind m dl)
kymo_unit_test(unwind_registers kymo_unwind)
kymo_unit_test(unwind_safety kymo_unwind)
kymo_unit_test(walk_repeat kymo_unwind)
# Their own frames are walked, which without optimization have frame pointers.
set_source_files_properties(unit/test_unwind.c unit/test_unwind_step.c unit/test_unwind_registers.c
    unit/test_unwind_safety.c unit/test_walk_repeat.c PROPERTIES COMPILE_OPTIONS -O2)
kymo_unit_test(row_table kymo_unwind)
kymo_unit_test(cfi kymo_unwind)
kymo_unit_test(expr kymo_unwind)
kymo_unit_test(padding kymo_unwind)
kymo_unit_test(code_row kymo_unwind)
kymo_unit_test(machine_code kymo_arch)
kymo_fuzz_target(eh_frame kymo_unwind)
kymo_fuzz_target(code_row kymo_unwind)
