# SPDX-License-Identifier: Apache-2.0
# The command line's side of the recorder, and the commands themselves.
foreach(t elf_target precheck)
    kymo_unit_test(${t} kymo_recorder)
endforeach()
kymo_fuzz_target(elf_target kymo_recorder)
kymo_unit_test(aggregate kymo_profile m)
