# SPDX-License-Identifier: Apache-2.0
add_test(NAME integration.c11_threads
    COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/c11_threads.py
        $<TARGET_FILE:kymo> $<TARGET_FILE:workload_c11threads>)
set_tests_properties(integration.c11_threads PROPERTIES TIMEOUT ${KYMO_HANGS_S})

find_package(Threads REQUIRED)
kymo_unit_test(descriptors kymo_recorder)
kymo_unit_test(watch kymo_recorder)
kymo_unit_test(watch_live kymo_recorder Threads::Threads)
kymo_unit_test(wall_running kymo_recorder)
kymo_unit_test(wall_ticks kymo_recorder)
# The file alone: who is on a CPU, the test says.
kymo_unit_test(dispatch kymo_base Threads::Threads)
target_sources(test_dispatch PRIVATE ${CMAKE_SOURCE_DIR}/src/observe/dispatch.c)
