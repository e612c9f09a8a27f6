# SPDX-License-Identifier: Apache-2.0
# Which allocations are recorded: files of them alone, and all in a process of the test's own.
kymo_unit_test(alloc_random m)
target_sources(test_alloc_random PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/alloc_random.c)
kymo_unit_test(alloc_table kymo_base Threads::Threads)
target_sources(test_alloc_table PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/alloc_table.c)
