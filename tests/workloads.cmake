# SPDX-License-Identifier: Apache-2.0
# The programs, and that each does what it says when nobody profiles it: what the integration tests
# compare with must hold by itself.
add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/workloads)

set(kymo_workloads ${CMAKE_CURRENT_BINARY_DIR}/workloads)
# kymo_workload_test(NAME EXPECTED COMMAND...): the output must match the regular expression.
function(kymo_workload_test name expected)
    add_test(NAME workload.${name} COMMAND ${ARGN})
    set_tests_properties(workload.${name} PROPERTIES TIMEOUT 60 PASS_REGULAR_EXPRESSION "${expected}")
endfunction()
function(kymo_hazard_test name expected)
    kymo_workload_test(hazards.${name} ${expected} ${kymo_workloads}/hazards ${name} ${ARGN})
endfunction()

kymo_workload_test(split "split-left.*split-right" ${kymo_workloads}/split 0.1)
kymo_workload_test(phases "phase_red.*phase_green.*phase_blue" ${kymo_workloads}/phases 3)
foreach(way poll epoll_wait nanosleep recv)
    kymo_workload_test(eventloop.${way} "\"calls\":[1-9]" ${kymo_workloads}/eventloop ${way} 0.1)
endforeach()
kymo_workload_test(manythreads "\"live\":50,\"short\":50," ${kymo_workloads}/manythreads 50 500 0.1)
kymo_workload_test(kernel_time "\"burn_random\":0[.][0-9]+,.*\"system\":0[.][0-9]+}" ${kymo_workloads}/kernel_time 0.1)
kymo_workload_test(c11threads "3 threads, 3 ended well" ${kymo_workloads}/c11threads 3)
# Fails where the plugins are not found, and they are found through plugin_host's RUNPATH alone.
kymo_workload_test(dlopenloop "\"rounds\":10," ${kymo_workloads}/dlopenloop 10)
kymo_workload_test(exits.pthread_exit "the last thread ends" ${kymo_workloads}/exits pthread_exit)
kymo_workload_test(exits.exec "another image" ${kymo_workloads}/exits exec)
if(TARGET workload_inlines)
    kymo_workload_test(inlines "^area fbaa080016c220e0 checksum 97dc3720" ${kymo_workloads}/inlines 10)
    kymo_workload_test(exceptions "^1000 throws, 1000 caught, 5000 destroyed"
        ${kymo_workloads}/exceptions 1000)
endif()
if(TARGET workload_inlines_rs)
    kymo_workload_test(inlines_rs "^area fbaa080016c220e0 checksum 97dc3720" ${kymo_workloads}/inlines_rs 10)
endif()

kymo_hazard_test(smallstack "^20 threads with 16 KiB of stack ended well")
kymo_hazard_test(coroutine "^10000 switches between coroutines")
kymo_hazard_test(longjmp "^1000 jumps, 100 of them out of a handler" 1000)
kymo_hazard_test(sigaltstack "stack: yes, elsewhere: 0")
kymo_hazard_test(privdrop "^now user 65534, group 65534.*Operation not permitted|^not root")
kymo_hazard_test(unshare "^in a user namespace|^no user namespace")
kymo_hazard_test(rlimit-fsize "^first byte written, second: File too large")
kymo_hazard_test(fork "^50 children, 0 ended wrongly")
kymo_hazard_test(lowmem "^8 MiB: there, 64 MiB: refused")
kymo_hazard_test(single "^{\"getc_ns\":[0-9.]+,\"malloc_ns\":[0-9.]+}" 3)
kymo_hazard_test(mallocthread "^4 threads, 0 blocks were changed")
kymo_hazard_test(maskall "ended well")
kymo_hazard_test(ownsignal "^SIGURG 100, SIGPROF 100, from elsewhere 0. the handler is ours")
