# SPDX-License-Identifier: Apache-2.0
foreach(t estimate)
    kymo_unit_test(${t} kymo_profile)
endforeach()
