# SPDX-License-Identifier: Apache-2.0
# The .kymo recording: writer, reader, ingest.
find_package(ZLIB REQUIRED)
add_library(recording_helpers STATIC
    ${CMAKE_SOURCE_DIR}/tests/recording/event_text.c
    ${CMAKE_SOURCE_DIR}/tests/recording/event_text_heap.c
    ${CMAKE_SOURCE_DIR}/tests/recording/file_chunks.c
    ${CMAKE_SOURCE_DIR}/tests/recording/sample_heap.c
    ${CMAKE_SOURCE_DIR}/tests/recording/sample_marks.c
    ${CMAKE_SOURCE_DIR}/tests/recording/sample_recording.c)
target_include_directories(recording_helpers PUBLIC ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(recording_helpers PUBLIC kymo_recorder kymo_profile ZLIB::ZLIB)
kymo_sanitize(recording_helpers)

kymo_unit_test(recording recording_helpers)
kymo_unit_test(heap_events recording_helpers)
kymo_unit_test(recording_heap recording_helpers)
kymo_unit_test(recording_marks recording_helpers)
kymo_unit_test(recording_payloads recording_helpers)
kymo_unit_test(recording_rows recording_helpers)
kymo_unit_test(recording_ring recording_helpers)
target_link_options(test_recording_ring PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
kymo_unit_test(recording_segments recording_helpers)
target_link_options(test_recording_segments PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
kymo_unit_test(recording_sweep recording_helpers)
target_link_options(test_recording_sweep PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
kymo_unit_test(recording_join recording_helpers)
kymo_unit_test(live_allocations recording_helpers)
kymo_unit_test(ingest recording_helpers)
kymo_unit_test(id_map recording_helpers)
kymo_unit_test(key_map recording_helpers)
kymo_unit_test(load recording_helpers)
kymo_unit_test(stored_symbols recording_helpers)
kymo_unit_test(store_symbols recording_helpers)
kymo_unit_test(jit_code recording_helpers)

add_executable(recording_dump ${CMAKE_SOURCE_DIR}/tests/tools/recording_dump.c)
target_link_libraries(recording_dump PRIVATE recording_helpers)
kymo_sanitize(recording_dump)
add_dependencies(quick_tests recording_dump)

# Files of every version that was released, with what they say: tests/golden/kymo/NAME.kymo and .txt.
# They are never written anew; `recording_dump --update` is for files that are added.
file(GLOB kymo_golden_recordings CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/golden/kymo/*.kymo)
foreach(file IN LISTS kymo_golden_recordings)
    get_filename_component(name ${file} NAME_WLE)
    string(REGEX REPLACE "\\.kymo$" ".txt" expected ${file})
    add_test(NAME golden.kymo.${name} COMMAND recording_dump ${file} ${expected})
endforeach()

add_executable(recording_large ${CMAKE_SOURCE_DIR}/tests/integration/recording_large.c)
target_link_libraries(recording_large PRIVATE recording_helpers)
kymo_sanitize(recording_large)
add_test(NAME integration.recording_large COMMAND recording_large)
set_tests_properties(integration.recording_large PROPERTIES TIMEOUT ${KYMO_HANGS_S})

kymo_fuzz_target(recording kymo_recorder kymo_profile ZLIB::ZLIB)
kymo_fuzz_target(marks recording_helpers)
