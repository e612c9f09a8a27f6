# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(tree kymo_recorder)
kymo_unit_test(refusals kymo_recorder)
kymo_unit_test(proc_file kymo_sys)
kymo_unit_test(task kymo_recorder)
kymo_unit_test(launch_choose kymo_recorder)
kymo_unit_test(mark_events kymo_recorder)
kymo_unit_test(control kymo_recorder Threads::Threads)
