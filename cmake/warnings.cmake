# SPDX-License-Identifier: Apache-2.0
# The warning set of the style guide, for every target of the project.
add_compile_options(
    -Wall -Wextra -Wshadow -Wconversion -Wvla -Wundef -fno-common
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
# What C++20 forbids, and newer clangs warn of in C: flags that are made of two enumerations, and
# limits that are enumerators and compared with estimates.
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    add_compile_options(-Wno-enum-enum-conversion -Wno-enum-float-conversion)
endif()
# The size of each frame, in a .su file beside the object, for tools/check-signal-path.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:C>:-fstack-usage>)
endif()
if(KYMO_WERROR)
    add_compile_options(-Werror)
endif()

# kymo_sanitize(target): the sanitizers that KYMO_SANITIZE names. Never used for
# libkymo-preload.so, which lives in programs that have no sanitizer's runtime.
function(kymo_sanitize target)
    if(KYMO_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${KYMO_SANITIZE}
            -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE -fsanitize=${KYMO_SANITIZE})
        # As gcc has it.
        if(KYMO_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
            target_compile_definitions(${target} PRIVATE __SANITIZE_ADDRESS__)
        endif()
        # gcc warns of every fence, which the thread sanitizer does not follow. What the tests run
        # in threads under it has none.
        if(KYMO_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${target} PRIVATE -Wno-tsan)
        endif()
    endif()
    if(KYMO_FUZZ)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
endfunction()

# What libkymo-preload.so is made of: optimized in every preset (a tail call in hooks.c must be one,
# and the handler's stack is bounded), without anything that calls into a runtime.
set(KYMO_HOT_OPTIONS -DKYMO_HOT -O2 -g -fno-stack-protector -fno-lto -fno-builtin-malloc)
