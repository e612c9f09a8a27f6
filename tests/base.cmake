# SPDX-License-Identifier: Apache-2.0
foreach(t sort_keys folder arena vec hash search str word_list bytes reader json_read elf_notes error)
    kymo_unit_test(${t} kymo_base)
endforeach()
