# SPDX-License-Identifier: Apache-2.0
foreach(t estimate allocation_table mapping_table heap_table ledger_table ledger_make
        ingest_heap ingest_thin ingest_mappings ingest_memory ingest_heap_nomem)
    kymo_unit_test(${t} kymo_profile)
endforeach()
target_link_options(test_ingest_heap_nomem PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
