# SPDX-License-Identifier: Apache-2.0
# The kernel's part of stacks.
kymo_unit_test(kallsyms kymo_recorder)
kymo_unit_test(kernel_ring kymo_recorder)
kymo_unit_test(kernel_stacks recording_helpers)
kymo_fuzz_target(kallsyms kymo_recorder)
kymo_fuzz_target(kallsyms_pack kymo_recorder)
kymo_fuzz_target(kernel_ring kymo_recorder)
