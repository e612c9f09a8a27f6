# SPDX-License-Identifier: Apache-2.0
# The hot half of markers, in a process of the test's own: tests/unit/mark_process.h.
set(kymo_mark_sources mark.c mark_slow.c mark_payload.c mark_site.c mark_stack.c mark_clock.c
    take_stack.c module.c tables.c process.c thread.c)
list(TRANSFORM kymo_mark_sources PREPEND ${CMAKE_SOURCE_DIR}/src/capture/)
function(kymo_mark_test name)
    kymo_unit_test(${name} kymo_buffer kymo_unwind kymo_base Threads::Threads)
    target_sources(test_${name} PRIVATE ${kymo_mark_sources})
endfunction()
foreach(name mark mark_payload mark_scope mark_options)
    kymo_mark_test(${name})
endforeach()
