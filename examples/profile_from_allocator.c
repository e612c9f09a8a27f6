/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_from_allocator.c - writes what an allocator sampled as a file for `go tool pprof`.
 *
 *     cc profile_from_allocator.c $(pkg-config --cflags --libs kymo-profile)
 *     ./a.out heap.pb.gz && go tool pprof -raw heap.pb.gz
 *
 * The data is made up: an allocator would have it from dl_iterate_phdr and from its own table of
 * stacks. Names are left to pprof, which finds the file by its build-id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/encode.h>
#include <kymo/profile.h>

static void must(kymo_err err)
{
    if (err == KYMO_OK)
        return;
    fprintf(stderr, "profile_from_allocator: %s\n", kymo_err_text(err));
    exit(1);
}

static void must_say(kymo_err err, const kymo_error *detail)
{
    if (err == KYMO_OK)
        return;
    fprintf(stderr, "profile_from_allocator: %s\n", detail->message);
    exit(1);
}

/* The sampling began at 22:13:20 on 2023-11-14 and took 60 s. */
static void set_times(kymo_profile *profile)
{
    const kymo_meta meta = {.size = sizeof meta,
                            .product = "server",
                            .origin_realtime_ns = 1700000000000000000,
                            .end_ns = 60000000000};
    must(kymo_profile_set_meta(profile, &meta));
}

/* Two values a sample: how many allocations, and how many bytes they asked for. */
static void set_types(kymo_profile *profile)
{
    const kymo_sample_type types[] = {
        {.size = sizeof *types, .name = "allocations", .unit = "count"},
        {.size = sizeof *types,
         .name = "allocated",
         .unit = "bytes",
         .period_name = "space",
         .period = 524288,
         .is_default = 1},
    };
    kymo_error detail;
    must_say(kymo_profile_set_sample_types(profile, types, 2, &detail), &detail);
}

static void add_mappings(kymo_profile *profile, uint32_t process)
{
    uint32_t id;
    kymo_module program = {.size = sizeof program,
                           .process = process,
                           .path = "/usr/bin/server",
                           .build_id = {0xa0, 0xa1, 0xa2, 0xa3},
                           .build_id_len = 4,
                           .is_main = 1,
                           .start = 0x555500001000,
                           .end = 0x555500005000,
                           .file_offset = 0x1000,
                           .load_bias = 0x555500000000};
    kymo_module libc = {.size = sizeof libc,
                        .process = process,
                        .path = "/lib/libc.so.6",
                        .build_id = {0xb0, 0xb1, 0xb2, 0xb3},
                        .build_id_len = 4,
                        .start = 0x7f0000001000,
                        .end = 0x7f0000009000,
                        .file_offset = 0x1000,
                        .load_bias = 0x7f0000000000};
    must(kymo_profile_add_module(profile, &program, &id));
    must(kymo_profile_add_module(profile, &libc, &id));
}

static uint32_t add_label(kymo_profile *profile, const char *key, uint64_t number)
{
    kymo_label label = {.value = {.kind = KYMO_VALUE_U64, .as.u64 = number}};
    uint32_t set;
    must(kymo_profile_add_string(profile, key, strlen(key), &label.key));
    must(kymo_profile_add_label_set(profile, &label, 1, &set));
    return set;
}

static void add_sample(kymo_profile *profile, uint32_t thread, const uint64_t *addresses,
                       size_t depth, uint32_t labels, uint64_t allocations, uint64_t bytes)
{
    const uint64_t values[] = {allocations, bytes};
    kymo_sample sample = {.size = sizeof sample,
                          .thread = thread,
                          .labels = labels,
                          .type = KYMO_SAMPLE_EACH,
                          .values = values,
                          .value_count = 2};
    uint32_t process = kymo_profile_thread(profile, thread)->process;
    kymo_error detail;
    must(kymo_profile_add_address_stack(profile, process, addresses, depth, &sample.stack));
    must_say(kymo_profile_add_sample_values(profile, &sample, &detail), &detail);
}

int main(int argc, char **argv)
{
    const kymo_process process = {.size = sizeof process, .pid = 100, .name = "server"};
    kymo_thread thread = {.size = sizeof thread, .tid = 100, .name = "worker"};
    /* Innermost first; of callers, the return address - 1. */
    const uint64_t parse[] = {0x7f0000001234, 0x555500002000, 0x555500001100};
    const uint64_t reply[] = {0x7f0000001234, 0x555500003000, 0x555500001100};
    kymo_profile *profile;
    uint32_t id;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE.pb.gz\n", argv[0]);
        return 2;
    }
    must(kymo_profile_create(&profile));
    set_times(profile);
    set_types(profile);
    must(kymo_profile_add_process(profile, &process, &thread.process));
    must(kymo_profile_add_thread(profile, &thread, &id));
    add_mappings(profile, thread.process);
    add_sample(profile, id, parse, 3, add_label(profile, "request", 17), 3, 1536);
    add_sample(profile, id, reply, 3, KYMO_NONE, 2, 1048576);
    must(kymo_profile_finish(profile));

    const kymo_encode_options options = {
        .size = sizeof options, .replace = 1, .kind = KYMO_SAMPLE_DEFAULT};
    kymo_error detail;
    must_say(kymo_encode_file(profile, argv[1], &options, &detail), &detail);
    kymo_profile_destroy(profile);
    return 0;
}
