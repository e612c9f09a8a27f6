# SPDX-License-Identifier: Apache-2.0
# What a program sees of being recorded: programs that look, run by a recorder without a command line.
add_executable(record_run ${CMAKE_SOURCE_DIR}/tests/integration/record_run.c)
target_link_libraries(record_run PRIVATE kymo_launch)
target_compile_definitions(record_run PRIVATE KYMO_TEST_PRELOAD="$<TARGET_FILE:kymo-preload>")
kymo_sanitize(record_run)
add_dependencies(record_run kymo-preload)

# kymo_looker(NAME): tests/integration/NAME.c, which knows nothing of Kymo.
function(kymo_looker name)
    add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/integration/${name}.c)
    target_link_libraries(${name} PRIVATE Threads::Threads)
endfunction()
# kymo_seen_test(NAME OPTIONS LOOKER [ARGUMENT...]): the program is content, alone and recorded.
function(kymo_seen_test name options looker)
    add_test(NAME integration.seen.${name}.alone COMMAND ${looker} ${ARGN})
    add_test(NAME integration.seen.${name}
        COMMAND record_run "${options}" $<TARGET_FILE:${looker}> ${ARGN})
    set_tests_properties(integration.seen.${name}.alone integration.seen.${name}
        PROPERTIES TIMEOUT ${KYMO_HANGS_S})
endfunction()

find_package(Threads REQUIRED)
kymo_looker(own_action)
kymo_seen_test(own_action "" own_action semantics)
kymo_seen_test(own_action.storm "" own_action storm)
kymo_seen_test(own_action.number "" own_action number)
kymo_seen_test(own_action.late.perf "duration=200ms" own_action late)
kymo_seen_test(own_action.late.timer "duration=200ms,engine=timer" own_action late)
kymo_seen_test(own_action.late.dispatch "duration=200ms,engine=dispatch" own_action late)
kymo_seen_test(own_action.storm.dispatch "engine=dispatch" own_action storm)

kymo_looker(own_masks)
kymo_seen_test(own_masks "" own_masks)
kymo_seen_test(own_masks.timer "engine=timer" own_masks)

add_library(environment_setter SHARED ${CMAKE_SOURCE_DIR}/tests/integration/environment_setter.c)
kymo_looker(environment)
target_link_libraries(environment PRIVATE environment_setter)
kymo_seen_test(environment "" environment)
# A preload of the program's own: any library that is there.
kymo_seen_test(environment.preload "" environment)
set_tests_properties(integration.seen.environment.preload integration.seen.environment.preload.alone
    PROPERTIES ENVIRONMENT
    "ASAN_OPTIONS=verify_asan_link_order=0;LD_PRELOAD=$<TARGET_FILE:environment_setter>;KYMO_TEST_PRELOAD_OWN=$<TARGET_FILE:environment_setter>")

kymo_looker(left_alone)
kymo_seen_test(left_alone.raw "" left_alone raw)
kymo_seen_test(left_alone.exec "" left_alone exec)

kymo_unit_test(drain_hostile kymo_buffer)

add_executable(recorded_name ${CMAKE_SOURCE_DIR}/tests/integration/recorded_name.c)
target_link_libraries(recorded_name PRIVATE kymo_launch)
target_compile_definitions(recorded_name PRIVATE KYMO_TEST_PRELOAD="$<TARGET_FILE:kymo-preload>")
kymo_sanitize(recorded_name)
add_dependencies(recorded_name kymo-preload)
kymo_looker(late_name)
add_test(NAME integration.recorded_name COMMAND recorded_name $<TARGET_FILE:late_name> late-name)
add_executable(late_list ${CMAKE_SOURCE_DIR}/tests/integration/late_list.c)
target_link_libraries(late_list PRIVATE kymo_recorder)
target_compile_definitions(late_list PRIVATE KYMO_TEST_PRELOAD="$<TARGET_FILE:kymo-preload>")
kymo_sanitize(late_list)
add_dependencies(late_list kymo-preload)
add_test(NAME integration.late_list COMMAND late_list)
set_tests_properties(integration.recorded_name integration.late_list PROPERTIES TIMEOUT ${KYMO_HANGS_S})

kymo_looker(no_queue)
foreach(signal auto RTMAX-3)
    kymo_seen_test(no_queue.${signal} "signal=${signal}" no_queue)
endforeach()

kymo_looker(small_altstack)
foreach(bytes 2048 4096 6144 8192)
    kymo_seen_test(small_altstack.${bytes} "" small_altstack ${bytes})
endforeach()
kymo_seen_test(small_altstack.raw "" small_altstack 0 raw)
foreach(how early forked)
    kymo_seen_test(small_altstack.${how} "" small_altstack 2048 ${how})
endforeach()

# No recorder listens there. The program that was launched says so, what it starts does not.
foreach(whose "" ",child")
    add_test(NAME integration.no_recorder${whose} COMMAND ${CMAKE_COMMAND} -E env
        LD_PRELOAD=$<TARGET_FILE:kymo-preload> KYMO_ATTACH=kymo-nobody${whose} /bin/true)
endforeach()
set_tests_properties(integration.no_recorder PROPERTIES
    PASS_REGULAR_EXPRESSION "kymo: this process is not recorded: the recorder cannot be reached")
set_tests_properties(integration.no_recorder,child PROPERTIES FAIL_REGULAR_EXPRESSION ".")

kymo_looker(children)
add_test(NAME integration.seen.children.ways.alone COMMAND children ways)
add_test(NAME integration.seen.children.ways
    COMMAND record_run "" $<TARGET_FILE:children> ways with)
foreach(what failures large threads)
    kymo_seen_test(children.${what} "" children ${what})
endforeach()

kymo_looker(environment_changes)
kymo_seen_test(environment_changes "" environment_changes)

# Files of the hot half, each alone: what it calls of others is in its test.
kymo_unit_test(exec_target kymo_sys)
target_sources(test_exec_target PRIVATE
    ${CMAKE_SOURCE_DIR}/src/capture/exec_target.c ${CMAKE_SOURCE_DIR}/src/capture/family.c
    ${CMAKE_SOURCE_DIR}/src/capture/recorder_stopped.c)
kymo_unit_test(connect kymo_buffer kymo_base)
target_sources(test_connect PRIVATE
    ${CMAKE_SOURCE_DIR}/src/capture/connect.c ${CMAKE_SOURCE_DIR}/src/capture/recorder_stopped.c)
kymo_unit_test(seccomp_filter kymo_sys)
kymo_unit_test(own_maps kymo_sys)
kymo_unit_test(network kymo_sys)
kymo_unit_test(own_math kymo_sys m)
kymo_fuzz_target(seccomp_filter kymo_sys)
kymo_unit_test(mark_select)
target_sources(test_mark_select PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/mark_select.c)
kymo_unit_test(signal_move kymo_base Threads::Threads)
target_sources(test_signal_move PRIVATE
    ${CMAKE_SOURCE_DIR}/src/capture/signal_move.c ${CMAKE_SOURCE_DIR}/src/capture/own_signals.c
    ${CMAKE_SOURCE_DIR}/src/capture/reals.c ${CMAKE_SOURCE_DIR}/src/capture/thread_pointer.c)
# These hooks stand in front of functions that a sanitizer's runtime has its own of; and it has
# thread-local storage.
if(NOT KYMO_SANITIZE)
    kymo_unit_test(thread_pointer Threads::Threads)
    target_sources(test_thread_pointer PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/thread_pointer.c)
    kymo_unit_test(mask_hooks kymo_base Threads::Threads)
    target_sources(test_mask_hooks PRIVATE
        ${CMAKE_SOURCE_DIR}/src/capture/mask_hooks.c ${CMAKE_SOURCE_DIR}/src/capture/own_signals.c
        ${CMAKE_SOURCE_DIR}/src/capture/reals.c ${CMAKE_SOURCE_DIR}/src/capture/thread_pointer.c)
    target_link_libraries(test_mask_hooks PRIVATE ${CMAKE_DL_LIBS})
    kymo_unit_test(signal_hooks kymo_base Threads::Threads)
    target_sources(test_signal_hooks PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/signal_hooks.c
        ${CMAKE_SOURCE_DIR}/src/capture/reals.c ${CMAKE_SOURCE_DIR}/src/capture/thread_pointer.c)
    target_link_libraries(test_signal_hooks PRIVATE ${CMAKE_DL_LIBS})
endif()

kymo_looker(own_environment)
target_link_options(own_environment PRIVATE -static)
kymo_looker(spawn_folder)
kymo_seen_test(spawn_folder "" spawn_folder $<TARGET_FILE:own_environment>)

kymo_looker(vfork_filter)
add_test(NAME integration.seen.vfork_filter.alone COMMAND vfork_filter)
add_test(NAME integration.seen.vfork_filter
    COMMAND record_run "" $<TARGET_FILE:vfork_filter> with)

kymo_looker(bad_pointers)
kymo_seen_test(bad_pointers "" bad_pointers)

# Beside no other library it does nothing; beside the preloaded one it is that one.
if(NOT KYMO_SANITIZE)
    add_executable(linked_library ${CMAKE_SOURCE_DIR}/tests/integration/linked_library.c)
    target_link_libraries(linked_library PRIVATE ${CMAKE_DL_LIBS})
    add_dependencies(linked_library kymo-library kymo-preload)
    foreach(how alone preloaded)
        add_test(NAME integration.linked_library.${how}
            COMMAND linked_library $<TARGET_FILE:kymo-library> ${how})
    endforeach()
    set_tests_properties(integration.linked_library.preloaded PROPERTIES
        ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:kymo-preload>)
endif()
