# SPDX-License-Identifier: Apache-2.0
# The agent: intervals, deliveries, reporters.
foreach(t agent agent_settings agent_status change listen metadata metadata_find pull pull_request reporter_local reporter_target schedule url)
    kymo_unit_test(${t} kymo_agent)
endforeach()
