# SPDX-License-Identifier: Apache-2.0
# Which allocations are recorded: files of them alone, and all in a process of the test's own.
kymo_unit_test(alloc_random m)
target_sources(test_alloc_random PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/alloc_random.c)
kymo_unit_test(alloc_table kymo_base Threads::Threads)
target_sources(test_alloc_table PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/alloc_table.c)

# With the files of markers that it uses: tests/unit/mark_process.h.
set(kymo_alloc_sources alloc.c alloc_map.c alloc_record.c alloc_early.c alloc_late.c alloc_random.c alloc_table.c alloc_words.c
    mark.c mark_quick.c mark_slow.c mark_payload.c mark_site.c mark_stack.c mark_clock.c mark_count.c
    mark_labels.c mark_stats.c take_stack.c module.c tables.c process.c thread.c)
list(TRANSFORM kymo_alloc_sources PREPEND ${CMAKE_SOURCE_DIR}/src/capture/)
kymo_unit_test(alloc kymo_buffer kymo_unwind kymo_base Threads::Threads m)
target_sources(test_alloc PRIVATE ${kymo_alloc_sources})
kymo_unit_test(alloc_words kymo_buffer kymo_unwind kymo_base Threads::Threads)
target_sources(test_alloc_words PRIVATE ${kymo_alloc_sources})
