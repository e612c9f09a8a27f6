# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(row_tables kymo_recorder kymo_symbolize kymo_unwind)
