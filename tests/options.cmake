# SPDX-License-Identifier: Apache-2.0
foreach(t options args suggest)
    kymo_unit_test(${t} kymo_options)
endforeach()
kymo_fuzz_target(options kymo_options)
