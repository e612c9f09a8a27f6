# SPDX-License-Identifier: Apache-2.0
# What stands in front of the program's allocator.
kymo_unit_test(next_symbol ${CMAKE_DL_LIBS})
target_sources(test_next_symbol PRIVATE ${CMAKE_SOURCE_DIR}/src/capture/next_symbol.c)

# The hooks in an executable, which stand in front of the C library's functions there; a sanitizer's
# would stand there, too.
if(NOT KYMO_SANITIZE)
    kymo_unit_test(alloc_hooks ${CMAKE_DL_LIBS})
    set(kymo_alloc_sources alloc_hooks.c alloc_operators.c map_hooks.c alloc_next.c next_symbol.c
        thread_pointer.c)
    list(TRANSFORM kymo_alloc_sources PREPEND ${CMAKE_SOURCE_DIR}/src/capture/)
    target_sources(test_alloc_hooks PRIVATE ${kymo_alloc_sources})
    # libc's headers promise of its functions that they call no function here, and ours do: no optimizing.
    target_compile_options(test_alloc_hooks PRIVATE -O0 -fno-builtin)
endif()
