# SPDX-License-Identifier: Apache-2.0
foreach(t estimate allocation_table mapping_table heap_table ledger_table
        ingest_heap)
    kymo_unit_test(${t} kymo_profile)
endforeach()
