# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(unwind_step kymo_unwind m dl)
kymo_unit_test(unwind_registers kymo_unwind)
kymo_unit_test(row_table kymo_unwind)
