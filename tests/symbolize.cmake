# SPDX-License-Identifier: Apache-2.0
add_executable(symbolize_tool ${CMAKE_SOURCE_DIR}/tests/integration/symbolize_tool.c)
target_link_libraries(symbolize_tool PRIVATE kymo_symbolize)
kymo_sanitize(symbolize_tool)
