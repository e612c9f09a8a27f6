# SPDX-License-Identifier: Apache-2.0
# The command line, and the recorder's parts that serve it.
foreach(t elf_target precheck report_json)
    kymo_unit_test(${t} kymo_recorder)
endforeach()
kymo_unit_test(aggregate kymo_profile m)
kymo_fuzz_target(elf_target kymo_recorder)
