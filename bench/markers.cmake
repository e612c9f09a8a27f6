# SPDX-License-Identifier: Apache-2.0
# Markers, ours and those of others, in the same loops. Optimized whatever the build type, as a
# program that has markers is.
add_library(marker_loop OBJECT marker_loop.c marker_floor.c)
target_compile_options(marker_loop PRIVATE -O2 -g)
target_include_directories(marker_loop PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})

add_executable(marker_bench marker_bench.c)
target_compile_options(marker_bench PRIVATE -O2 -g)
target_link_libraries(marker_bench PRIVATE marker_loop Threads::Threads)
# The same kinds in a session of its own, for callgrind, under which nothing is preloaded.
add_executable(marker_count marker_bench.c marker_session.c)
target_compile_options(marker_count PRIVATE -O2 -g)
target_link_libraries(marker_count PRIVATE marker_loop kymo_capture_hot kymo_unwind_hot kymo_buffer_hot
    kymo_sys_hot kymo_base_hot gcc_s Threads::Threads)

# A peer is built where its headers are installed (tools/install-deps bench). What those expand to is
# not ours: no warnings.
function(kymo_marker_peer name)
    add_executable(${name}_bench peers/${name}_bench.c)
    target_compile_options(${name}_bench PRIVATE -O2 -g -w)
    target_link_libraries(${name}_bench PRIVATE marker_loop Threads::Threads ${ARGN})
endfunction()

kymo_marker_peer(ftrace)

find_path(KYMO_LTTNG_INCLUDE lttng/tracepoint.h)
find_library(KYMO_LTTNG_LIBRARY lttng-ust)
if(KYMO_LTTNG_INCLUDE AND KYMO_LTTNG_LIBRARY)
    kymo_marker_peer(lttng ${KYMO_LTTNG_LIBRARY} ${CMAKE_DL_LIBS})
endif()

find_path(KYMO_SDT_INCLUDE sys/sdt.h)
if(KYMO_SDT_INCLUDE)
    kymo_marker_peer(sdt)
endif()

find_path(KYMO_FXT_INCLUDE fxt/fut.h)
find_library(KYMO_FXT_LIBRARY fxt)
if(KYMO_FXT_INCLUDE AND KYMO_FXT_LIBRARY)
    kymo_marker_peer(fxt ${KYMO_FXT_LIBRARY})
endif()

find_program(KYMO_BARECTF barectf)
if(KYMO_BARECTF)
    set(tracer ${CMAKE_CURRENT_BINARY_DIR}/barectf)
    add_custom_command(
        OUTPUT ${tracer}/tracer.c ${tracer}/tracer.h
        COMMAND ${CMAKE_COMMAND} -E make_directory ${tracer}
        COMMAND ${KYMO_BARECTF} generate --code-dir=${tracer} --headers-dir=${tracer}
            --metadata-dir=${tracer} ${CMAKE_CURRENT_SOURCE_DIR}/peers/barectf.yaml
        DEPENDS peers/barectf.yaml)
    kymo_marker_peer(barectf)
    target_sources(barectf_bench PRIVATE ${tracer}/tracer.c)
    target_include_directories(barectf_bench PRIVATE ${tracer})
endif()
mark_as_advanced(KYMO_LTTNG_INCLUDE KYMO_LTTNG_LIBRARY KYMO_SDT_INCLUDE KYMO_FXT_INCLUDE
    KYMO_FXT_LIBRARY KYMO_BARECTF)
