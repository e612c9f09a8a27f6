/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#define PID 4711

static char root[] = "/tmp/kymo-watch-XXXXXX";

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* What /proc would say of a thread. Numbers have all their digits, so that files keep their length:
 * some filesystems take long for a file that is cut off and written anew. */
static void set_thread(int tid, uint64_t run_ns, uint64_t arrivals, char state, uint64_t voluntary,
                       uint64_t nonvoluntary)
{
    char path[128];
    char text[256];
    snprintf(path, sizeof path, "%s/%d/task/%d", root, PID, tid);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%d/task/%d/schedstat", root, PID, tid);
    snprintf(text, sizeof text, "%020lu 77 %020lu\n", (unsigned long)run_ns,
             (unsigned long)arrivals);
    write_text(path, text);
    snprintf(path, sizeof path, "%s/%d/task/%d/status", root, PID, tid);
    snprintf(text, sizeof text,
             "Name:\tx\nState:\t%c (any)\nTgid:\t1\nvoluntary_ctxt_switches:\t%020lu\n"
             "nonvoluntary_ctxt_switches:\t%020lu\n",
             state, (unsigned long)voluntary, (unsigned long)nonvoluntary);
    write_text(path, text);
    snprintf(path, sizeof path, "%s/%d/task/%d/stat", root, PID, tid);
    snprintf(text, sizeof text, "%d (x) R) %c 1 1\n", tid, state);
    write_text(path, text);
}

static kymo_watch *make_watch(void)
{
    kymo_watch *w;
    assert_int_equal(kymo_watch_create(root, PID, &w), KYMO_OK);
    return w;
}

static struct kymo_watch_look look_at(kymo_watch *w, uint32_t entry)
{
    struct kymo_watch_look look;
    assert_int_equal(kymo_watch_look(w, entry, &look), 1);
    return look;
}

static void the_two_files(void **state)
{
    (void)state;
    uint64_t run_ns = 5;
    uint64_t arrivals = 6;
    assert_true(kymo_watch_parse_schedstat("123456789 42 7\n", &run_ns, &arrivals));
    assert_int_equal(run_ns, 123456789);
    assert_int_equal(arrivals, 7);
    static const char *const broken[] = {"",
                                         "\n",
                                         "1",
                                         "1 2",
                                         "1 2 3",
                                         "1 2 3 4\n",
                                         "-1 2 3\n",
                                         "1  2 3\n",
                                         "x 2 3\n",
                                         "18446744073709551616 0 0\n",
                                         "1 2 99999999999999999999999\n",
                                         "1 2 0x3\n"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_false(kymo_watch_parse_schedstat(broken[i], &run_ns, &arrivals));
    assert_int_equal(run_ns, 123456789); /* as it was */

    struct kymo_watch_look look = {0};
    assert_true(kymo_watch_parse_status("Name:\ta\\nvoluntary_ctxt_switches:\t9\n"
                                        "State:\tD (disk sleep)\n"
                                        "voluntary_ctxt_switches:\t3\n"
                                        "nonvoluntary_ctxt_switches:\t4\n",
                                        &look));
    assert_int_equal(look.state, 'D');
    assert_int_equal(look.voluntary, 3);
    assert_int_equal(look.nonvoluntary, 4);
    assert_false(kymo_watch_parse_status("Name:\tx\nState:\t", &look));
    assert_false(
        kymo_watch_parse_status("Name:\tx\nState:\tR\nvoluntary_ctxt_switches:\t3\n", &look));
    assert_false(kymo_watch_parse_status("Name:\tx\nState:\tR\nvoluntary_ctxt_switches:\t\n"
                                         "nonvoluntary_ctxt_switches:\t4\n",
                                         &look));
    assert_false(kymo_watch_parse_status("Name:\tx\nState:\tR\nvoluntary_ctxt_switches:\t3\n"
                                         "nonvoluntary_ctxt_switches:\t4", /* cut */
                                         &look));
    assert_int_equal(look.nonvoluntary, 4);
}

static void a_cpu(void **state)
{
    (void)state;
    static const char fields[] =
        " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
        "27 28 29 30 31 32 33 34 35 ";
    char text[256];
    snprintf(text, sizeof text, "17 (a) b)%s5 0 0\n", fields);
    assert_int_equal(kymo_watch_parse_cpu(text), 5);
    snprintf(text, sizeof text, "17 (a)%s", fields);
    assert_int_equal(kymo_watch_parse_cpu(text), -1);
    snprintf(text, sizeof text, "17 (a)%s99999999999 0\n", fields);
    assert_int_equal(kymo_watch_parse_cpu(text), -1);
    assert_int_equal(kymo_watch_parse_cpu(""), -1);
    assert_int_equal(kymo_watch_parse_cpu("1 (x) S 1 2"), -1);
}

static void places(void **state)
{
    (void)state;
    kymo_watch *w = make_watch();
    uint32_t entry;
    set_thread(1, 100, 8, 'R', 4, 3);
    assert_int_equal(kymo_watch_add(w, 1, NULL, &entry), KYMO_OK);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_ON);
    assert_false(look_at(w, entry).changed);

    set_thread(1, 200, 8, 'R', 4, 4); /* it left its CPU, and did not go to sleep */
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_PREEMPTED);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_PREEMPTED);
    set_thread(1, 300, 9, 'R', 4, 4);
    assert_true(look_at(w, entry).changed);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_ON);

    set_thread(1, 400, 9, 'S', 5, 4); /* asleep */
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_OFF);
    set_thread(1, 400, 9, 'R', 5, 4); /* woken */
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_OFF);
    set_thread(1, 500, 10, 'R', 5, 5); /* it ran, and was preempted */
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_PREEMPTED);
    set_thread(1, 600, 12, 'R', 6, 6); /* slept since: whether it ran after that is not known */
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_OFF);
    set_thread(1, 700, 13, 'S', 6, 6); /* on its way to sleep, but on its CPU still */
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_ON);
    assert_int_equal(look_at(w, entry).state, 'S');

    assert_int_equal(kymo_watch_add(w, 99, NULL, &entry), KYMO_E_NOT_FOUND);
    kymo_watch_destroy(w);
}

/* The kernel does not count the arrival of a thread that was preempted on its way to sleep. */
static void arrivals_not_counted(void **state)
{
    (void)state;
    kymo_watch *w = make_watch();
    uint32_t entry;
    set_thread(1, 100, 20, 'S', 15, 5);
    assert_int_equal(kymo_watch_add(w, 1, NULL, &entry), KYMO_OK);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_OFF);
    set_thread(1, 200, 21, 'S', 15, 6); /* preempted */
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_OFF);
    set_thread(1, 300, 21, 'S', 16, 6); /* back, and asleep */
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_OFF);
    set_thread(1, 300, 22, 'R', 16, 6);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_ON);
    set_thread(1, 400, 22, 'R', 16, 7);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_PREEMPTED);

    /* It comes back uncounted, and goes on: seen when its CPU time grows. */
    set_thread(1, 500, 22, 'R', 16, 8);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_PREEMPTED);
    set_thread(1, 600, 22, 'R', 16, 8);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_ON);
    set_thread(1, 700, 22, 'R', 16, 9);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_PREEMPTED);
    set_thread(1, 700, 23, 'R', 16, 9);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_ON);
    kymo_watch_remove(w, entry);

    /* Of one that is new to us nothing is known. */
    assert_int_equal(kymo_watch_add(w, 1, NULL, &entry), KYMO_OK);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_OFF);
    set_thread(1, 900, 23, 'R', 16, 9);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_ON);
    set_thread(1, 950, 23, 'S', 17, 9);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_OFF);
    kymo_watch_destroy(w);
}

struct found {
    unsigned times;
    struct kymo_watch_look look;
};

static void keep(void *context, void *user, const struct kymo_watch_look *look)
{
    struct found *f = context;
    (void)user;
    f->times++;
    f->look = *look;
}

/* On its way to sleep and on its CPU still, for a whole round: so it sleeps, and the figures were
 * understood wrongly. */
static void asleep_whatever_the_figures(void **state)
{
    (void)state;
    kymo_watch *w = make_watch();
    struct found f = {0};
    uint32_t entry;
    set_thread(1, 100, 20, 'S', 20, 0);
    assert_int_equal(kymo_watch_add(w, 1, NULL, &entry), KYMO_OK);
    set_thread(1, 200, 21, 'S', 20, 0);
    kymo_watch_round(w, keep, &f);
    assert_int_equal(f.look.place, KYMO_WATCH_ON);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_ON);
    kymo_watch_round(w, keep, &f);
    assert_int_equal(f.look.place, KYMO_WATCH_OFF);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_OFF);
    set_thread(1, 200, 22, 'R', 20, 0);
    assert_int_equal(look_at(w, entry).place, KYMO_WATCH_ON);

    /* Not so one that did not go to sleep after all. */
    set_thread(1, 300, 22, 'S', 20, 0);
    kymo_watch_round(w, keep, &f);
    set_thread(1, 300, 22, 'R', 20, 0);
    kymo_watch_round(w, keep, &f);
    assert_int_equal(f.look.place, KYMO_WATCH_ON);
    assert_int_equal(f.look.state, 'R');
    assert_int_equal(f.times, 4);
    kymo_watch_destroy(w);
}

#define LIGHT 64 /* more than a round looks at */

struct seen {
    unsigned times[LIGHT + 1];
    unsigned all;
    double drawn; /* of the last look */
};

static void count(void *context, void *user, const struct kymo_watch_look *look)
{
    struct seen *s = context;
    s->drawn = look->drawn;
    s->times[(uintptr_t)user]++;
    s->all++;
}

/* Those that rest are not looked at each time, and found again when they run. */
static void idle_threads(void **state)
{
    (void)state;
    kymo_watch *w = make_watch();
    uint32_t entries[40];
    struct seen s = {0};
    for (int tid = 0; tid < 40; tid++) {
        set_thread(100 + tid, 100, 1, 'S', 1, 0);
        assert_int_equal(kymo_watch_add(w, 100 + tid, (void *)(uintptr_t)tid, &entries[tid]),
                         KYMO_OK);
    }
    for (int i = 0; i < 200; i++)
        kymo_watch_round(w, count, &s);
    assert_false(kymo_watch_is_active(w));
    unsigned before = s.all;
    for (int i = 0; i < 100; i++) {
        set_thread(117, 1000 + (unsigned)i, 2, 'R', 1, 0);
        kymo_watch_round(w, count, &s);
    }
    assert_true(kymo_watch_is_active(w));
    /* All are asked in turn: this process is a folder, and has no clock. */
    assert_true(s.times[17] > 90);
    assert_int_equal(s.all, before + s.times[17] - s.times[16]);
    kymo_watch_remove(w, entries[17]);
    kymo_watch_remove(w, entries[3]);
    before = s.all;
    for (int i = 0; i < 100; i++)
        kymo_watch_round(w, count, &s);
    assert_int_equal(s.all, before);
    uint32_t again;
    assert_int_equal(kymo_watch_add(w, 117, NULL, &again), KYMO_OK);
    assert_true(again == entries[17] || again == entries[3]);
    kymo_watch_destroy(w);
}

/* In each round, one in eight of the light threads has run for a little and sleeps again, and those
 * from busy on have worked all the time. */
static void run_rounds(kymo_watch *w, unsigned from, unsigned to, int busy, struct seen *s)
{
    for (unsigned round = from; round < to; round++) {
        for (int i = (int)round % 8; i < busy; i += 8)
            set_thread(200 + i, 1000 * round, round, 'S', round, 0);
        for (int i = busy; i <= LIGHT; i++)
            set_thread(200 + i, 1000000 * round, 8, 'R', 4, 3);
        kymo_watch_round(w, count, s);
    }
}

/* Many threads that use little are looked at by lot: each at its share of rounds, and for the cost
 * of those looks. One that gets busy is looked at in each round again. */
static void light_threads(void **state)
{
    (void)state;
    enum { ROUNDS = 400, LOOKS = 16, EXPECTED = ROUNDS * LOOKS / LIGHT };
    kymo_watch *w = make_watch();
    uint32_t entry;
    uint32_t first = 0;
    struct seen s = {0};
    kymo_watch_draw_lots(w, 1000000, 7);
    for (int i = 0; i <= LIGHT; i++) {
        set_thread(200 + i, 100, 1, 'S', 1, 0);
        assert_int_equal(kymo_watch_add(w, 200 + i, (void *)(uintptr_t)i, &entry), KYMO_OK);
        first = i == 0 ? entry : first;
    }
    run_rounds(w, 1, 100, LIGHT, &s); /* until it is known what each uses */
    memset(&s, 0, sizeof s);
    uint64_t before = kymo_watch_reads(w);
    run_rounds(w, 100, 100 + ROUNDS, LIGHT, &s);
    uint64_t reads = kymo_watch_reads(w) - before;
    assert_int_equal(s.times[LIGHT], ROUNDS);
    assert_int_equal(s.all, ROUNDS + ROUNDS * LOOKS);
    for (int i = 0; i < LIGHT; i++) /* six standard deviations */
        assert_in_range(s.times[i], EXPECTED - 52, EXPECTED + 52);
    /* Of the light ones, schedstat, and stat of those that moved, which is fewer than half; of the
     * busy one, schedstat, status, schedstat. */
    assert_in_range(reads, ROUNDS * (LOOKS + 3), ROUNDS * (LOOKS + LOOKS / 2 + 3));

    kymo_watch_attend(w, first);
    memset(&s, 0, sizeof s);
    run_rounds(w, 500, 530, LIGHT, &s);
    assert_int_equal(s.times[0], 30);
    run_rounds(w, 530, 1200, LIGHT - 1, &s);
    assert_in_range(s.times[0], 64, 64 + 600 / 2); /* by lot again */
    memset(&s, 0, sizeof s);
    run_rounds(w, 1200, 1300, LIGHT - 1, &s);
    assert_int_equal(s.times[LIGHT - 1], 100);
    assert_int_equal(s.times[LIGHT], 100);
    kymo_watch_destroy(w);
}

/* One that sleeps is asked for its state only; when it is ready to run, all is read. */
static void a_light_thread_at_work(void **state)
{
    (void)state;
    kymo_watch *w = make_watch();
    struct seen s = {0};
    kymo_watch_draw_lots(w, 1000000, 7);
    for (int i = 0; i < LIGHT; i++) {
        uint32_t entry;
        set_thread(300 + i, 100, 1, 'S', 1, 0);
        assert_int_equal(kymo_watch_add(w, 300 + i, (void *)(uintptr_t)i, &entry), KYMO_OK);
    }
    for (unsigned round = 1; round < 100; round++) {
        for (int i = 0; i < LIGHT; i++)
            set_thread(300 + i, 1000 * round, round, 'S', round, 0);
        kymo_watch_round(w, count, &s);
    }
    assert_true(s.drawn > 0.24 && s.drawn < 0.26);
    uint64_t before = kymo_watch_reads(w);
    kymo_watch_round(w, count, &s);
    uint64_t asleep = kymo_watch_reads(w) - before;
    for (int i = 0; i < LIGHT; i++)
        set_thread(300 + i, 200000, 200, 'R', 150, 49);
    before = kymo_watch_reads(w);
    kymo_watch_round(w, count, &s);
    uint64_t awake = kymo_watch_reads(w) - before;
    assert_in_range(asleep, 16,
                    32);         /* schedstat, and stat of those that were not drawn last time */
    assert_int_equal(awake, 64); /* schedstat, stat, status, schedstat */
    kymo_watch_destroy(w);
}

/* Wall mode's looks are all like that. */
static void looks_in_short(void **state)
{
    (void)state;
    kymo_watch *w = make_watch();
    struct kymo_watch_look look;
    uint32_t entry;
    kymo_watch_in_short(w);
    set_thread(400, 100, 1, 'S', 1, 0);
    assert_int_equal(kymo_watch_add(w, 400, NULL, &entry), KYMO_OK);
    set_thread(400, 200, 2, 'D', 2, 0);
    uint64_t before = kymo_watch_reads(w);
    assert_int_equal(kymo_watch_look(w, entry, &look), 1);
    assert_int_equal(kymo_watch_reads(w) - before, 2); /* schedstat, stat */
    assert_int_equal(look.changed, 1);
    assert_int_equal(look.place, KYMO_WATCH_OFF);
    assert_int_equal(look.state, 'D');
    set_thread(400, 300, 4, 'R', 3, 0);
    assert_int_equal(kymo_watch_look(w, entry, &look), 1);
    assert_int_equal(look.place, KYMO_WATCH_ON);

    /* Now and then the switches of one that sleeps are read, too: an arrival was not counted. */
    before = kymo_watch_reads(w);
    for (unsigned i = 0; i < 66; i++) {
        set_thread(400, 400 + i, 5 + i, 'S', 6 + i, 0);
        assert_int_equal(kymo_watch_look(w, entry, &look), 1);
        assert_int_equal(look.place, KYMO_WATCH_OFF);
    }
    assert_int_equal(kymo_watch_reads(w) - before, 64 * 2 + 2 * 3);
    set_thread(400, 500, 71, 'R', 71, 0);
    assert_int_equal(kymo_watch_look(w, entry, &look), 1);
    assert_int_equal(look.place, KYMO_WATCH_ON);
    kymo_watch_destroy(w);
}

static void count_seen(void *context, void *user, const struct kymo_watch_look *look)
{
    (void)user;
    (void)look;
    ++*(unsigned *)context;
}

/* A thread that cannot be looked at for want of a descriptor has not gone. */
static void no_descriptors(void **state)
{
    (void)state;
    struct rlimit usual, none, few;
    uint32_t entry, other;
    unsigned seen = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(next >= 0);
    close(next);
    none = few = usual;
    none.rlim_cur = (rlim_t)next;
    few.rlim_cur = (rlim_t)next + 1;
    set_thread(61, 100, 8, 'S', 5, 3);
    set_thread(62, 100, 8, 'S', 5, 3);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    kymo_watch *w = make_watch(); /* it keeps none */
    assert_int_equal(kymo_watch_add(w, 61, NULL, &entry), KYMO_OK);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    kymo_err err = kymo_watch_add(w, 62, NULL, &other);
    for (int i = 0; i < 100; i++)
        kymo_watch_round(w, count_seen, &seen);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(err, KYMO_E_IO);
    assert_int_equal(seen, 0);
    set_thread(61, 200, 9, 'S', 6, 3);
    kymo_watch_round(w, count_seen, &seen);
    assert_int_equal(seen, 1);
    assert_int_equal(kymo_watch_add(w, 62, NULL, &other), KYMO_OK);
    kymo_watch_destroy(w);
}

static int make_root(void **state)
{
    (void)state;
    char path[128];
    if (!mkdtemp(root))
        return -1;
    snprintf(path, sizeof path, "%s/%d", root, PID);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%d/task", root, PID);
    return mkdir(path, 0700);
}

static int remove_root(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_two_files),
        cmocka_unit_test(a_cpu),
        cmocka_unit_test(places),
        cmocka_unit_test(arrivals_not_counted),
        cmocka_unit_test(asleep_whatever_the_figures),
        cmocka_unit_test(idle_threads),
        cmocka_unit_test(light_threads),
        cmocka_unit_test(a_light_thread_at_work),
        cmocka_unit_test(looks_in_short),
        cmocka_unit_test(no_descriptors),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
