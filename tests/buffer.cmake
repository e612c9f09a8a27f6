# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(session kymo_buffer)
kymo_unit_test(refusal kymo_buffer)
kymo_unit_test(stream kymo_buffer)
kymo_unit_test(definition kymo_buffer Threads::Threads)
kymo_unit_test(depot kymo_buffer)
kymo_unit_test(drain kymo_buffer)
kymo_unit_test(drain_marks kymo_buffer)
kymo_unit_test(drain_clock kymo_buffer)
