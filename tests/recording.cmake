# SPDX-License-Identifier: Apache-2.0
# The .kymo recording: writer, reader, ingest.
find_package(ZLIB REQUIRED)
add_library(recording_helpers STATIC
    ${CMAKE_SOURCE_DIR}/tests/recording/event_text.c
    ${CMAKE_SOURCE_DIR}/tests/recording/sample_recording.c)
target_include_directories(recording_helpers PUBLIC ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(recording_helpers PUBLIC kymo_recorder kymo_profile ZLIB::ZLIB)
kymo_sanitize(recording_helpers)

kymo_unit_test(recording recording_helpers)
