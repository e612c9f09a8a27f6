# SPDX-License-Identifier: Apache-2.0
# The agent: intervals, deliveries, reporters.
foreach(t agent agent_settings reporter_local schedule)
    kymo_unit_test(${t} kymo_agent)
endforeach()
