# SPDX-License-Identifier: Apache-2.0
# The hot half of markers, in a process of the test's own: tests/unit/mark_process.h has what these
# files call of others, so each test is a program for itself.
set(kymo_mark_sources mark.c mark_quick.c mark_slow.c mark_payload.c mark_site.c mark_stack.c mark_clock.c
    mark_count.c mark_labels.c mark_stats.c
    take_stack.c next_symbol.c python_code.c python_find.c python_stack.c python_task.c module.c tables.c
    process.c thread.c thread_pointer.c)
list(TRANSFORM kymo_mark_sources PREPEND ${CMAKE_SOURCE_DIR}/src/capture/)
add_library(mark_sources OBJECT ${kymo_mark_sources})
kymo_sanitize(mark_sources)
function(kymo_mark_test name)
    kymo_unit_test(${name} mark_sources kymo_buffer kymo_unwind kymo_base Threads::Threads)
    set_target_properties(test_${name} PROPERTIES KYMO_ALONE TRUE)
endfunction()
target_link_libraries(mark_sources PUBLIC m) # a test looks at floating-point flags
foreach(name mark mark_quick mark_payload mark_scope mark_options mark_count mark_labels mark_stats)
    kymo_mark_test(${name})
endforeach()

# Files of them alone: what they call of others is in their tests.
kymo_unit_test(mark_links kymo_base Threads::Threads)
target_sources(test_mark_links PRIVATE
    ${CMAKE_SOURCE_DIR}/src/capture/mark_links.c ${CMAKE_SOURCE_DIR}/src/capture/mark_select.c
    ${CMAKE_SOURCE_DIR}/src/capture/thread_pointer.c)
kymo_unit_test(mark_register kymo_base)
target_sources(test_mark_register PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/mark_register.c
    ${CMAKE_SOURCE_DIR}/src/capture/mark_type_check.c ${CMAKE_SOURCE_DIR}/src/capture/thread_pointer.c)
