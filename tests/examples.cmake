# SPDX-License-Identifier: Apache-2.0
# The examples do what they are there for, without a recording: a client that checks every answer, and
# both sides count the same bytes. With markers, and without a trace of them.
foreach(server kvserver kvserver_without_markers)
    add_test(NAME example.${server} COMMAND ${CMAKE_CURRENT_LIST_DIR}/examples/serve
        $<TARGET_FILE:${server}> $<TARGET_FILE:kvload>)
    set_tests_properties(example.${server} PROPERTIES TIMEOUT ${KYMO_HANGS_S})
endforeach()

# A program's memory, scraped by Prometheus.
add_test(NAME example.memory_server COMMAND ${CMAKE_CURRENT_LIST_DIR}/examples/scrape
    $<TARGET_FILE:memory_server>)
set_tests_properties(example.memory_server PROPERTIES TIMEOUT ${KYMO_HANGS_S} SKIP_RETURN_CODE 77)
