# SPDX-License-Identifier: Apache-2.0
foreach(t string_table source_table process_table thread_table module_table function_table
        symbol_table frame_table stack_table sample_table sample_type_table marker_category_table schema_table
        value_table time_order marker_table marker_losses_table counter_table label_set_table meta profile
        code_name code_map mark_format ingest_marks ingest_intervals ingest_labels ingest_room ingest_types
        ingest_marks_nomem heap_walk calls calls_nomem)
    kymo_unit_test(${t} kymo_profile)
endforeach()
foreach(t ingest_marks_nomem calls_nomem)
    target_link_options(test_${t} PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
endforeach()

kymo_unit_test(diff_place kymo_views)
kymo_unit_test(stack_name kymo_views)
kymo_fuzz_target(mark_format kymo_profile)
