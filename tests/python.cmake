# SPDX-License-Identifier: Apache-2.0
# Python frames, from the interpreter's memory to the recording.
kymo_unit_test(python_lines kymo_recorder)
