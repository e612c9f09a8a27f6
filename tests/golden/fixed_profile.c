/* SPDX-License-Identifier: Apache-2.0 */
#include "fixed_profile.h"

#include "fixed_heap.h"
#include "fixed_must.h"

#include <math.h>

#define ORIGIN 5000000000ull
#define MS 1000000ull

static uint32_t source(kymo_profile *p, const char *path)
{
    uint32_t id;
    must(kymo_profile_add_source(p, path, strlen(path), &id));
    return id;
}

static uint32_t function(kymo_profile *p, const char *name, const char *system_name,
                         uint32_t in_source, uint32_t line, uint32_t module)
{
    uint32_t id;
    kymo_function f = {string(p, name), string(p, system_name), in_source, line, module};
    must(kymo_profile_add_function(p, &f, &id));
    return id;
}

static uint32_t module(kymo_profile *p, uint32_t process, const char *path, uint64_t start,
                       uint64_t size, uint64_t offset, uint64_t bias, uint8_t build_id, int is_main)
{
    uint32_t id;
    kymo_module m = {.size = sizeof m,
                     .process = process,
                     .path = path,
                     .build_id_len = build_id ? 20 : 0,
                     .is_main = (uint32_t)is_main,
                     .start = start,
                     .end = start + size,
                     .file_offset = offset,
                     .load_bias = bias};
    for (uint8_t i = 0; build_id && i < 20; i++)
        m.build_id[i] = (uint8_t)(build_id + i);
    must(kymo_profile_add_module(p, &m, &id));
    return id;
}

static uint32_t frame(kymo_profile *p, uint32_t in_module, uint64_t address)
{
    uint32_t id;
    must(kymo_profile_add_frame(p, in_module, address, KYMO_CATEGORY_AUTO, &id));
    return id;
}

static void lines(kymo_profile *p, uint32_t f, const kymo_line *list, uint32_t count,
                  uint32_t symbol)
{
    must(kymo_profile_frame_set_lines(p, f, list, count, symbol, 1));
}

static uint32_t symbol(kymo_profile *p, uint32_t in_module, const char *name, uint64_t address,
                       uint64_t size)
{
    uint32_t id;
    kymo_symbol s = {in_module, string(p, name), address, size};
    must(kymo_profile_add_symbol(p, &s, &id));
    return id;
}

static uint32_t stack(kymo_profile *p, const uint32_t *frames, size_t count)
{
    uint32_t id = KYMO_NONE;
    for (size_t i = 0; i < count; i++)
        must(kymo_profile_add_stack(p, id, frames[i], &id));
    return id;
}
#define STACK(p, ...)                           \
    stack((p), (const uint32_t[]){__VA_ARGS__}, \
          sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static uint32_t process(kymo_profile *p, int32_t pid, int32_t parent, uint64_t start, uint64_t end,
                        uint32_t argc, const char *const *argv, int is_main)
{
    uint32_t id;
    kymo_process row = {.size = sizeof row,
                        .pid = pid,
                        .parent_pid = parent,
                        .argc = argc,
                        .argv = argv,
                        .start_ns = ORIGIN + start,
                        .end_ns = end ? ORIGIN + end : 0,
                        .cpu_ns = 30 * MS,
                        .exit_status = 0,
                        .is_main = (uint32_t)is_main};
    must(kymo_profile_add_process(p, &row, &id));
    return id;
}

static uint32_t thread(kymo_profile *p, uint32_t in_process, int32_t tid, const char *name,
                       uint64_t start, uint64_t end)
{
    uint32_t id;
    kymo_thread row = {.size = sizeof row,
                       .process = in_process,
                       .tid = tid,
                       .name = name,
                       .start_ns = ORIGIN + start,
                       .end_ns = end ? ORIGIN + end : 0,
                       .cpu_ns = 10 * MS};
    must(kymo_profile_add_thread(p, &row, &id));
    return id;
}

static void sample(kymo_profile *p, uint32_t in_thread, uint64_t time, uint32_t in_stack,
                   uint64_t weight)
{
    must(kymo_profile_add_sample(p, in_thread, ORIGIN + time, in_stack, weight, KYMO_SAMPLE_CPU,
                                 KYMO_STATE_RUNNING));
}

static void set_meta(kymo_profile *p, uint32_t argc, const char *const *argv)
{
    must(kymo_profile_set_meta(p, &(kymo_meta){.size = sizeof(kymo_meta),
                                               .logical_cpus = 8,
                                               .physical_cpus = 4,
                                               .argc = argc,
                                               .argv = argv,
                                               .version = "0.1.0",
                                               .engine = "perf",
                                               .hostname = "box",
                                               .os = "Debian GNU/Linux 12 (bookworm)",
                                               .kernel = "Linux 6.1.0",
                                               .arch = "x86_64",
                                               .cpu_name = "A \"fast\" CPU",
                                               .memory_bytes = 16ull << 30,
                                               .origin_monotonic_ns = ORIGIN,
                                               .origin_realtime_ns = 1700000000123456789ull,
                                               .start_ns = ORIGIN + MS / 2,
                                               .end_ns = ORIGIN + 50 * MS,
                                               .period_ns = MS}));
    const kymo_lost lost[] = {{"no block", 3}, {"bad \xff kind", 0}};
    must(kymo_profile_set_quality(p, &(kymo_quality){.size = sizeof(kymo_quality),
                                                     .lost_count = 2,
                                                     .lost = lost,
                                                     .samples = 14,
                                                     .achieved = 0.9975,
                                                     .sampled_rate = NAN,
                                                     .stacks_complete = 1,
                                                     .frames_symbolized = 0.875,
                                                     .cpu_unsampled_ns = 1234567,
                                                     .disturbed = 1,
                                                     .handler_ns = 76543}));
}

kymo_profile *fixed_profile(void)
{
    kymo_profile *p;
    const char *argv[] = {"/usr/bin/prog", "--name", "caf\xc3\xa9 \xff", "a\nb"};
    const char *child_argv[] = {"/usr/bin/child"};
    must(kymo_profile_create(&p));
    set_meta(p, 4, argv);

    uint32_t child = process(p, 200, 100, 10 * MS, 40 * MS, 1, child_argv, 0);
    uint32_t parent = process(p, 100, 1, 0, 0, 4, argv, 1);
    uint32_t image = process(p, 200, 100, 40 * MS, 0, 1, child_argv, 0); /* the child's exec */

    /* A PIE, a library in both processes at other addresses, one that took its place, and the vdso.
     */
    uint32_t lib = module(p, parent, "/usr/lib/libwork.so.1", 0x7f0000401000, 0x2000, 0x1000,
                          0x7f0000400000, 0x10, 0);
    uint32_t prog =
        module(p, parent, "/usr/bin/prog", 0x555500001000, 0x3000, 0x1000, 0x555500000000, 0xa0, 1);
    uint32_t lib2 = module(p, child, "/usr/lib/libwork.so.1", 0x7f1111401000, 0x2000, 0x1000,
                           0x7f1111400000, 0x10, 0);
    uint32_t replaced = module(p, parent, "/usr/lib/libwork.so.1", 0x7f0000401000, 0x2000, 0x1000,
                               0x7f0000400000, 0x60, 0);
    uint32_t vdso = module(p, parent, "[vdso]", 0x7fff00001000, 0x1000, 0, 0x7fff00001000, 0, 0);
    must(kymo_profile_set_module_unload(p, lib, ORIGIN + 20 * MS));

    uint32_t main_c = source(p, "/src/main.c");
    uint32_t work_h = source(p, "/src/include/w\xff\"ork.h");
    uint32_t f_main = function(p, "main", "main", main_c, 10, prog);
    uint32_t f_loop = function(p, "loop", "loop", main_c, 30, prog);
    uint32_t f_inner = function(p, "std::vector<int>::at(unsigned long)",
                                "_ZNSt6vectorIiSaIiEE2atEm", work_h, 7, prog);
    uint32_t f_clone1 = function(p, "Thing::Thing()", "_ZN5ThingC1Ev", work_h, 20, lib);
    uint32_t f_clone2 = function(p, "Thing::Thing()", "_ZN5ThingC2Ev", work_h, 20, lib);
    uint32_t f_slice = function(p, "sum::<[u8; 4]>", "_RINvsum", KYMO_NONE, 0, lib);
    uint32_t f_bad = function(p, "na\xe9me \xf0\x9f\x99\x82\n", "", KYMO_NONE, 0, replaced);
    uint32_t f_label = function(p, "[truncated stack]", "", KYMO_NONE, 0, KYMO_NONE);

    uint32_t s_main = symbol(p, prog, "main", 0x1100, 0x80);
    uint32_t s_loop = symbol(p, prog, "loop", 0x1200, 0x100);
    uint32_t s_thing = symbol(p, lib, "Thing::Thing()", 0x1300, 0);

    uint32_t fr_main = frame(p, prog, 0x1123);
    uint32_t fr_loop = frame(p, prog, 0x1250);
    uint32_t fr_thing1 = frame(p, lib, 0x1310);
    uint32_t fr_thing2 = frame(p, lib2, 0x1310);
    uint32_t fr_clone = frame(p, lib, 0x1390);
    uint32_t fr_slice = frame(p, lib, 0x1400);
    uint32_t fr_bad = frame(p, replaced, 0x1310);
    uint32_t fr_unnamed = frame(p, lib, 0x1fff);
    uint32_t fr_beyond = frame(p, prog, 0x9000); /* not in the executable segment */
    uint32_t fr_vdso = frame(p, vdso, 0x123);
    uint32_t fr_jit = frame(p, KYMO_NONE, 0x7f2200000042);
    uint32_t fr_far = frame(p, KYMO_NONE, 0xffffffff81000000);
    uint32_t fr_label;
    must(kymo_profile_add_label_frame(p, f_label, KYMO_CATEGORY_AUTO, &fr_label));
    lines(p, fr_main, (kymo_line[]){{f_main, 12, 3}}, 1, s_main);
    lines(p, fr_loop, (kymo_line[]){{f_inner, 8, 0}, {f_loop, 33, 9}}, 2, s_loop);
    lines(p, fr_thing1, (kymo_line[]){{f_clone1, 21, 0}}, 1, s_thing);
    lines(p, fr_thing2, (kymo_line[]){{f_clone1, 21, 0}}, 1, s_thing);
    lines(p, fr_clone, (kymo_line[]){{f_clone2, 22, 0}}, 1, KYMO_NONE);
    lines(p, fr_slice, (kymo_line[]){{f_slice, 0, 0}}, 1, KYMO_NONE);
    lines(p, fr_bad, (kymo_line[]){{f_bad, 0, 0}}, 1, KYMO_NONE);

    uint32_t st_loop = STACK(p, fr_main, fr_loop);
    uint32_t st_thing = STACK(p, fr_main, fr_loop, fr_thing1);
    uint32_t st_clone = STACK(p, fr_main, fr_loop, fr_clone);
    uint32_t st_unnamed = STACK(p, fr_main, fr_unnamed);
    uint32_t st_bad = STACK(p, fr_label, fr_bad, fr_slice);
    uint32_t st_jit = STACK(p, fr_main, fr_jit, fr_far);
    uint32_t st_beyond = STACK(p, fr_beyond, fr_vdso);
    uint32_t st_child = STACK(p, fr_thing2);

    uint32_t worker = thread(p, parent, 102, "worker", 5 * MS, 30 * MS);
    uint32_t leader = thread(p, parent, 100, "prog", 0, 0);
    uint32_t idle = thread(p, parent, 101, "idle", 2 * MS, 3 * MS);
    uint32_t twin = thread(p, parent, 103, "worker", 6 * MS, 0);
    uint32_t other = thread(p, child, 200, "child\xff;x", 10 * MS, 40 * MS);
    thread(p, image, 200, "image", 40 * MS, 0);
    (void)idle;

    sample(p, leader, 3 * MS, st_loop, MS); /* not in order */
    sample(p, leader, 1 * MS, st_loop, MS + 1);
    sample(p, leader, 2 * MS + 500, st_thing, 999999);
    sample(p, leader, 4 * MS, st_clone, 1500000);
    sample(p, leader, 9 * MS, KYMO_NONE, 250000);
    sample(p, leader, 10 * MS, st_unnamed, MS);
    sample(p, leader, 11 * MS, st_beyond, MS);
    sample(p, worker, 7 * MS, st_bad, 2 * MS);
    sample(p, worker, 8 * MS, st_jit, MS / 2);
    sample(p, worker, 8 * MS, st_jit, 0);
    sample(p, twin, 9 * MS, st_bad, 3 * MS);
    sample(p, twin, 12 * MS, st_clone, 7);
    sample(p, other, 11 * MS, st_child, 4 * MS);
    sample(p, other, 60 * MS, st_child, 1); /* after what meta calls the end */
    fixed_owners owners = {.origin_ns = ORIGIN,
                           .parent = parent,
                           .child = child,
                           .leader = leader,
                           .worker = worker,
                           .twin = twin,
                           .other = other,
                           .stack = st_thing};
    fixed_marks(p, &owners);
    fixed_heap(p, &owners, st_loop);
    must(kymo_profile_finish(p));
    return p;
}
