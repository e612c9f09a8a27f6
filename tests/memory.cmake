# SPDX-License-Identifier: Apache-2.0
# Memory telemetry: what is read, and what is written of it.
kymo_unit_test(memory_figures kymo_memory)
kymo_unit_test(memory_parse kymo_memory)
kymo_unit_test(memory_cgroup kymo_memory)
kymo_unit_test(memory_process kymo_memory)
kymo_unit_test(memory_smaps kymo_memory)
kymo_unit_test(memory_write kymo_memory)
kymo_unit_test(memory_snapshot kymo_memory Threads::Threads)
kymo_unit_test(telemetry kymo_recorder)
kymo_unit_test(resident kymo_recorder)
kymo_unit_test(allocator_answer kymo_recorder)
kymo_unit_test(allocator_events kymo_recorder)

kymo_fuzz_target(memory kymo_memory)
kymo_fuzz_target(cgroup kymo_memory)
kymo_fuzz_target(smaps kymo_memory)
