# SPDX-License-Identifier: Apache-2.0
# What stands in front of the program's allocator.
kymo_unit_test(next_symbol ${CMAKE_DL_LIBS})
target_sources(test_next_symbol PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/next_symbol.c)
