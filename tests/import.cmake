# SPDX-License-Identifier: Apache-2.0
foreach(t import import_pprof import_jfr import_collapsed import_firefox import_round)
    kymo_unit_test(${t} kymo_import kymo_encode kymo_views kymo_fixed_profile ZLIB::ZLIB)
endforeach()
kymo_unit_test(import_nomem kymo_import kymo_encode kymo_fixed_profile)
target_link_options(test_import_nomem PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
foreach(t import import_pprof import_collapsed import_firefox import_jfr)
    kymo_fuzz_target(${t} kymo_import kymo_views)
endforeach()
add_test(NAME import.go COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/import/go_totals.py $<TARGET_FILE:kymo>)
set_tests_properties(import.go PROPERTIES TIMEOUT ${KYMO_HANGS_S} SKIP_RETURN_CODE 77)
# How much memory is taken; sanitizers take more.
if(NOT KYMO_SANITIZE)
    # One test for each file: on a loaded machine all together may take longer than a test may. One at a
    # time, since each takes much memory.
    foreach(file many_values ids_in_no_order deep_stacks long_columns many_threads distinct_stacks a_bomb
            jfr_keys_in_no_order jfr_description jfr_deep_stacks jfr_threads jfr_blocks jfr_labels)
        add_test(NAME import.hostile.${file}
            COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/import/hostile.py $<TARGET_FILE:kymo> ${file})
        set_tests_properties(import.hostile.${file} PROPERTIES TIMEOUT ${KYMO_HANGS_S} RESOURCE_LOCK hostile_files
            COST 500)
    endforeach()
endif()
