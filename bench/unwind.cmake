# SPDX-License-Identifier: Apache-2.0
# ns per frame against libunwind and glibc, where libunwind is installed.
find_path(KYMO_LIBUNWIND_INCLUDE libunwind.h)
find_library(KYMO_LIBUNWIND unwind)
mark_as_advanced(KYMO_LIBUNWIND_INCLUDE KYMO_LIBUNWIND)
if(KYMO_LIBUNWIND AND KYMO_LIBUNWIND_INCLUDE)
    add_executable(unwind_bench unwind_bench.c)
    target_include_directories(unwind_bench PRIVATE ${KYMO_LIBUNWIND_INCLUDE})
    # The walker as the preloaded library has it; the builder, and what it needs, from the other one.
    target_link_libraries(unwind_bench PRIVATE kymo_unwind_hot kymo_unwind ${KYMO_LIBUNWIND}
                                               ${CMAKE_DL_LIBS})
    target_compile_options(unwind_bench PRIVATE -O2 -fomit-frame-pointer)
endif()
