# SPDX-License-Identifier: Apache-2.0
# Which allocations are recorded: files of them alone, and all in a process of the test's own.
kymo_unit_test(alloc_random m)
target_sources(test_alloc_random PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/alloc_random.c)
kymo_unit_test(alloc_table kymo_base Threads::Threads)
target_sources(test_alloc_table PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/alloc_table.c)

# With the files of markers that it uses: tests/unit/mark_process.h.
set(kymo_alloc_sources alloc.c alloc_map.c alloc_record.c alloc_early.c alloc_late.c alloc_python.c alloc_random.c alloc_table.c alloc_words.c)
list(TRANSFORM kymo_alloc_sources PREPEND ${CMAKE_SOURCE_DIR}/src/capture/)
add_library(alloc_sources OBJECT ${kymo_alloc_sources})
kymo_sanitize(alloc_sources)
foreach(t alloc alloc_words)
    kymo_unit_test(${t} alloc_sources mark_sources kymo_buffer kymo_unwind kymo_sys kymo_base Threads::Threads m)
    set_target_properties(test_${t} PROPERTIES KYMO_ALONE TRUE)
endforeach()
