# SPDX-License-Identifier: Apache-2.0
# What the reporters on the network are made of, where libcurl and libzip are.
if(NOT TARGET kymo_remote)
    return()
endif()
foreach(t cloud credentials otlp_send pack pyroscope s3_key sha256 sigv4)
    kymo_unit_test(${t} kymo_remote)
endforeach()
kymo_fuzz_target(reporters kymo_remote)
