# SPDX-License-Identifier: Apache-2.0
add_library(kymo_fixed_profile STATIC golden/fixed_profile.c golden/fixed_marks.c
    golden/fixed_heap.c)
target_include_directories(kymo_fixed_profile PUBLIC golden)
target_link_libraries(kymo_fixed_profile PUBLIC kymo_profile)
kymo_sanitize(kymo_fixed_profile)
add_executable(write_fixed golden/write_fixed.c)
target_link_libraries(write_fixed PRIVATE kymo_fixed_profile kymo_encode)
kymo_sanitize(write_fixed)
add_dependencies(quick_tests write_fixed profile_from_calls)
foreach(t decimal json proto gzip_sink atomic_file encode_wall encode_types encode_heap chrome collapsed_diff pprof_diff firefox_marks firefox_counters
        firefox_names firefox_sources svg jfr_bytes jfr_marker_types jfr_metadata jfr_names jfr_order jfr_pools
        jfr_types)
    kymo_unit_test(${t} kymo_encode)
endforeach()
kymo_unit_test(encode kymo_encode kymo_fixed_profile)
kymo_unit_test(jfr kymo_encode kymo_fixed_profile)
kymo_unit_test(encode_nomem kymo_encode kymo_fixed_profile)
target_link_options(test_encode_nomem PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
kymo_unit_test(encode_pstats kymo_encode)
target_link_options(test_encode_pstats PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)

# What the fixed profile becomes: the same bytes as ever, by the rules, and as its readers see it.
foreach(format firefox pprof otlp collapsed pprof-live collapsed-live svg chrome jfr)
    add_test(NAME golden.${format}
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/golden/golden.py $<TARGET_FILE:write_fixed> ${format})
endforeach()
add_test(NAME check.profile
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/checkers/profile/mutations.py
        ${CMAKE_SOURCE_DIR}/tools/check-profile $<TARGET_FILE:write_fixed>)
add_test(NAME golden.pprof-reads
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/golden/pprof_reads.py $<TARGET_FILE:write_fixed>)
add_test(NAME golden.jfr-reads
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/golden/jfr_reads.py $<TARGET_FILE:write_fixed>)
set_tests_properties(golden.jfr-reads PROPERTIES TIMEOUT ${KYMO_HANGS_S} SKIP_RETURN_CODE 77)
# One copy of the front-end's code serves every build folder.
add_test(NAME golden.firefox-reads
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/golden/firefox_reads.py $<TARGET_FILE:write_fixed>
        ${CMAKE_SOURCE_DIR}/tools/firefox-loader ${CMAKE_SOURCE_DIR}/build/firefox-loader
        $<TARGET_FILE:profile_from_calls>)
set_tests_properties(golden.firefox-reads PROPERTIES TIMEOUT ${KYMO_HANGS_S} SKIP_RETURN_CODE 77)
add_test(NAME golden.chart
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/golden/chart.py ${CMAKE_SOURCE_DIR}/tools/marker-chart)
set_tests_properties(golden.chart PROPERTIES TIMEOUT ${KYMO_HANGS_S})
# A browser draws the flame graph, and its user may do something with it.
add_test(NAME golden.svg-works
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/golden/svg_works.py $<TARGET_FILE:write_fixed>)
set_tests_properties(golden.svg-works PROPERTIES TIMEOUT ${KYMO_HANGS_S} SKIP_RETURN_CODE 77)
# The first time, new versions of go compile their pprof.
set_tests_properties(golden.pprof-reads PROPERTIES TIMEOUT ${KYMO_HANGS_S} SKIP_RETURN_CODE 77)
kymo_fuzz_target(heap kymo_encode)
