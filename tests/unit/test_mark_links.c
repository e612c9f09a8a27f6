/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What switches categories on and off, without what writes markers: the calls that a link is given
 * are here, and do nothing. The session has a header alone, which is all that is looked at.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "arch/cpu.h"
#include "base/atomic.h"
#include "capture/family.h"
#include "capture/fork_child.h"
#include "capture/mark.h"
#include "own_process.h"
#include "unit.h"

/* ---- what mark_links.c asks of others ---- */

struct kymo_capture_process *kymo_process_state;
__thread struct kymo_capture_thread *kymo_thread_self KYMO_TLS_IE;
struct kymo_capture_thread kymo_thread_dead;
uint32_t kymo_quiet_here;
__thread uint32_t kymo_quiet_vfork KYMO_TLS_IE;
struct kymo_family kymo_family;

static int is_pending;
static void (*in_between)(void);
static struct kymo_mark_category registered = {.size = sizeof registered, .name = "run time"};
static int forks;

int kymo_fork_is_pending(void)
{
    return is_pending;
}

/* A switch asks for them last: there a handler may come. */
struct kymo_mark_category *kymo_mark_registered_category(const struct kymo_mark_category *after)
{
    void (*call)(void) = in_between;
    in_between = NULL;
    if (call)
        call();
    return after ? NULL : &registered;
}

void kymo_mark_register_after_fork(void)
{
    forks++;
}

/* Those that the session was told of, for which it has no room. */
static const struct kymo_mark_category *defined[8];
static uint32_t defined_count;

uint32_t kymo_mark_category_define(struct kymo_capture_process *p,
                                   const struct kymo_mark_category *category)
{
    (void)p;
    if (defined_count < 8)
        defined[defined_count++] = category;
    return 0;
}

void kymo_mark(struct kymo_mark_site *site, const void *payload)
{
    (void)site;
    (void)payload;
}

void kymo_mark_with(struct kymo_mark_site *site, const void *payload,
                    const struct kymo_mark_options *options)
{
    (void)site;
    (void)payload;
    (void)options;
}

void kymo_mark_scope_begin(struct kymo_mark_scope *scope, struct kymo_mark_site *site)
{
    (void)scope;
    (void)site;
}

void kymo_mark_scope_end(struct kymo_mark_scope *scope)
{
    (void)scope;
}

void kymo_mark_cells(struct kymo_mark_site *site, const struct kymo_mark_cell *cells,
                     uint32_t count, const struct kymo_mark_options *options)
{
    (void)site;
    (void)cells;
    (void)count;
    (void)options;
}

uint64_t kymo_mark_interval(void)
{
    return 1;
}

uint64_t kymo_mark_stack(void)
{
    return 0;
}

uint64_t kymo_mark_track(const char *name, size_t len)
{
    (void)name;
    (void)len;
    return 0;
}

uint64_t kymo_mark_now(void)
{
    return 0;
}

uint64_t kymo_mark_to_ns(uint64_t clock)
{
    return clock;
}

uint64_t kymo_mark_from_ns(uint64_t monotonic_ns)
{
    return monotonic_ns;
}

int kymo_mark_stats(struct kymo_mark_stats *stats)
{
    (void)stats;
    return 0;
}

uint32_t kymo_mark_label_push(const char *key, const struct kymo_mark_cell *value)
{
    (void)key;
    (void)value;
    return 0;
}

void kymo_mark_label_pop(uint32_t depth)
{
    (void)depth;
}

void kymo_mark_label_set(const char *key, const struct kymo_mark_cell *value)
{
    (void)key;
    (void)value;
}

void kymo_mark_count(struct kymo_mark_counter *counter, int64_t value, uint64_t operations)
{
    (void)counter;
    (void)value;
    (void)operations;
}

int kymo_mark_type_register(const struct kymo_mark_type *type, const struct kymo_mark_type **out,
                            char *why, size_t why_size)
{
    (void)type;
    (void)out;
    (void)why;
    (void)why_size;
    return 0;
}

int kymo_mark_category_register(const struct kymo_mark_category *category,
                                struct kymo_mark_category **out, char *why, size_t why_size)
{
    (void)category;
    (void)out;
    (void)why;
    (void)why_size;
    return 0;
}

int kymo_mark_site_register(const struct kymo_mark_site *site, struct kymo_mark_site **out,
                            char *why, size_t why_size)
{
    (void)site;
    (void)out;
    (void)why;
    (void)why_size;
    return 0;
}

/* ---- a program ---- */

static struct kymo_session session;
static struct kymo_capture_process process = {.mark_epoch = 1};

static struct kymo_mark_category net = {.size = sizeof net, .name = "net"};
static struct kymo_mark_category disk = {.size = sizeof disk, .name = "disk"};
static struct kymo_mark_category reading = {
    .size = sizeof reading, .name = "read", .parent = &disk};
static struct kymo_mark_category *const categories[] = {&net, NULL, &disk, &reading};
static struct kymo_mark_link link_of = {.size = sizeof link_of,
                                        .abi = KYMO_MARK_ABI,
                                        .categories = categories,
                                        .categories_end = categories + 4};

/* Which are on: net, disk, disk/read, the registered one, the link itself. */
static const char *on(void)
{
    static char out[6];
    out[0] = net.on ? 'n' : '.';
    out[1] = disk.on ? 'd' : '.';
    out[2] = reading.on ? 'r' : '.';
    out[3] = registered.on ? 'x' : '.';
    out[4] = link_of.on ? '!' : '.';
    return out;
}

#define EXPECT_ON(letters) EXPECT(strcmp(on(), letters) == 0)

static void begin_case(void)
{
}

static void control(const char *list)
{
    session.control_seq++;
    strcpy(session.control, list);
    session.control_seq++;
}

static void start(void)
{
    session.clock_kind = KYMO_CLOCK_MONOTONIC;
    session.heartbeat = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
    session.heartbeat_limit = 3600ull * 1000000000u;
    session.cookie = 77;
    session.pid = 5;
    process.session = &session;
    kymo_process_state = &process;
    kymo_family.header = &session;
    kymo_mark_links_start();
}

CASE(a_link_gets_its_calls)
{
    struct kymo_mark_link other = link_of;
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    EXPECT(link_of.mark == kymo_mark && link_of.mark_with == kymo_mark_with);
    EXPECT(link_of.count == kymo_mark_count && link_of.calls != NULL);
    EXPECT(link_of.calls->size == sizeof *link_of.calls && link_of.calls->abi == KYMO_MARK_ABI);
    /* Every one of them. */
    for (void *const *call = (void *const *)(const void *)&link_of.calls->detach;
         (const char *)call < (const char *)(link_of.calls + 1); call++)
        EXPECT(*call != NULL);
    other.abi++;
    EXPECT(kymo_mark_links_attach(&other) == KYMO_E_VERSION && other.calls == NULL);
    other = (struct kymo_mark_link){.size = sizeof other - 1, .abi = KYMO_MARK_ABI};
    EXPECT(kymo_mark_links_attach(&other) == KYMO_E_VERSION && other.calls == NULL);
}

CASE(nothing_is_on_until_somebody_records)
{
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    EXPECT_ON(".....");
    EXPECT(link_of.flow_seed == 0);
    EXPECT(defined_count == 0);
    control("none");
    start();
    EXPECT_ON("....!");
    /* The recorder knows of those that are off, too. */
    EXPECT(defined_count == 4 && defined[0] == &net && defined[3] == &registered);
    control("all");
    kymo_mark_links_look();
    EXPECT_ON("ndrx!");
    EXPECT(link_of.flow_seed != 0);
}

CASE(a_link_that_comes_later_is_as_the_others)
{
    control("-disk");
    start();
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    EXPECT_ON("n..x!");
    /* Twice is once: each file of a program asks. */
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK && link_of.next == NULL);
}

static char told[8];

static void note_recording(void *context, int is_recorded)
{
    size_t len = strlen(told);
    EXPECT(context == &session && len + 1 < sizeof told);
    told[len] = is_recorded ? '1' : '0';
}

CASE(an_object_is_told_when_its_recording_begins_and_stops)
{
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    link_of.calls->on_recording(&link_of, note_recording, &session);
    EXPECT(strcmp(told, "") == 0);
    start();
    EXPECT(strcmp(told, "1") == 0);
    /* Other categories are no other recording. */
    control("none");
    kymo_mark_links_look();
    EXPECT(strcmp(told, "1") == 0);
    session.stopped = 1;
    kymo_mark_links_look();
    EXPECT(strcmp(told, "10") == 0);
    session.stopped = 0;
    kymo_mark_links_look();
    EXPECT(strcmp(told, "101") == 0);
    /* Who comes while there is one is told at once, and again if it comes anew. */
    link_of.calls->on_recording(&link_of, note_recording, &session);
    EXPECT(strcmp(told, "1011") == 0);
    link_of.calls->on_recording(&link_of, NULL, NULL);
    session.stopped = 1;
    kymo_mark_links_look();
    EXPECT(strcmp(told, "1011") == 0);
    session.stopped = 0;
    link_of.calls->on_recording(&link_of, note_recording, &session);
    kymo_mark_links_detach(&link_of);
    EXPECT(strcmp(told, "101110") == 0);
}

CASE(the_recorder_changes_its_list)
{
    control("net");
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    EXPECT_ON("n...!");
    control("none");
    kymo_mark_links_look();
    EXPECT_ON("....!");
    control("disk/read:run time");
    EXPECT_ON("....!");
    EXPECT(session.control_seen == session.control_seq - 2);
    kymo_mark_links_look();
    EXPECT_ON("..rx!");
    EXPECT(session.control_seen == session.control_seq);
}

/* The recorder is in the middle of writing it. */
CASE(half_a_list_changes_nothing)
{
    control("net");
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    EXPECT(kymo_mark_links_select("disk") == KYMO_OK);
    session.control_seq++;
    strcpy(session.control, "no");
    kymo_mark_links_look();
    EXPECT_ON(".dr.!");
    strcpy(session.control, "none");
    session.control_seq++;
    kymo_mark_links_look();
    EXPECT_ON("....!");
    session.control_seq++;
    session.stopped = 1;
    kymo_mark_links_look();
    EXPECT_ON(".....");
}

CASE(the_last_one_who_chooses_counts)
{
    control("net");
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    EXPECT(kymo_mark_links_select("disk") == KYMO_OK);
    EXPECT_ON(".dr.!");
    EXPECT(kymo_mark_links_select("disk:-disk/read") == KYMO_OK);
    EXPECT_ON(".d..!");
    kymo_mark_links_look();
    EXPECT_ON(".d..!");
    control("all");
    kymo_mark_links_look();
    EXPECT_ON("ndrx!");
    EXPECT(kymo_mark_links_select("none") == KYMO_OK);
    EXPECT_ON("....!");
    EXPECT(kymo_mark_links_select("") == KYMO_OK);
    EXPECT_ON("ndrx!");
}

CASE(what_is_no_list_changes_nothing)
{
    char longer[KYMO_CONTROL_BYTES + 1];
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    EXPECT(kymo_mark_links_select("net") == KYMO_OK);
    EXPECT(kymo_mark_links_select("net:") == KYMO_E_INVALID);
    EXPECT(kymo_mark_links_select("disk,net") == KYMO_E_INVALID);
    EXPECT(kymo_mark_links_select("disk\n") == KYMO_E_INVALID);
    EXPECT(kymo_mark_links_select(NULL) == KYMO_E_INVALID);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    EXPECT(kymo_mark_links_select(longer) == KYMO_E_TOO_BIG);
    EXPECT_ON("n...!");
    longer[sizeof longer - 2] = '\0';
    EXPECT(kymo_mark_links_select(longer) == KYMO_OK);
    EXPECT_ON("....!");
}

/* A choice that is made before there is a session holds when there is one. */
CASE(a_program_may_choose_before_it_is_recorded)
{
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    EXPECT(kymo_mark_links_select("net") == KYMO_OK);
    EXPECT_ON(".....");
    control("all");
    start();
    EXPECT_ON("n...!");
}

CASE(all_is_off_once_nobody_listens)
{
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    kymo_mark_links_look();
    EXPECT_ON("ndrx!");
    session.stopped = 1;
    kymo_mark_links_look();
    EXPECT_ON(".....");
    session.stopped = 0;
    kymo_mark_links_look();
    EXPECT_ON("ndrx!");
    session.heartbeat_limit = 1;
    session.heartbeat -= 1000000000u;
    kymo_mark_links_look();
    EXPECT_ON(".....");
}

CASE(off_is_off_until_a_session_comes)
{
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    kymo_mark_links_off();
    EXPECT_ON(".....");
    kymo_mark_links_look();
    EXPECT(kymo_mark_links_select("all") == KYMO_OK);
    EXPECT_ON(".....");
    kymo_mark_links_start();
    EXPECT_ON("ndrx!");
}

/* What a forked child finds: the state wiped, the header of its parent's session still there. */
CASE(a_forked_child_waits_with_what_its_parent_had)
{
    static struct kymo_session other;
    control("-net");
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    uint64_t seed = link_of.flow_seed;
    process.session = NULL;
    is_pending = 1;
    kymo_mark_links_after_fork();
    EXPECT(forks == 1);
    kymo_mark_links_reseed();
    /* Its own from the fork on: what it makes of a pointer then is the same when it has attached.
     */
    EXPECT(link_of.flow_seed != seed);
    seed = link_of.flow_seed;
    kymo_mark_links_update();
    EXPECT_ON(".drx!");
    EXPECT(link_of.flow_seed == seed);
    EXPECT(kymo_mark_links_select("disk") == KYMO_OK);
    EXPECT_ON(".dr.!");
    /* It attaches: another session, with another count of changes; its own choice stays. */
    other = session;
    other.pid = 99;
    other.control_seq = 40;
    process.session = &other;
    process.mark_epoch = 2;
    is_pending = 0;
    kymo_mark_links_start();
    EXPECT_ON(".dr.!");
    EXPECT(link_of.flow_seed == seed);
    other.control_seq += 2;
    kymo_mark_links_look();
    EXPECT_ON(".drx!");
}

CASE(a_child_that_is_not_recorded_has_all_off)
{
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    process.session = NULL;
    kymo_mark_links_off();
    EXPECT_ON(".....");
}

CASE(what_is_detached_is_off_and_left_alone)
{
    static struct kymo_mark_category own = {.size = sizeof own, .name = "own"};
    static struct kymo_mark_category *const one[] = {&own};
    static struct kymo_mark_link plugin[3];
    for (int i = 0; i < 3; i++) {
        plugin[i] = (struct kymo_mark_link){.size = sizeof plugin[i],
                                            .abi = KYMO_MARK_ABI,
                                            .categories = one,
                                            .categories_end = one + 1};
        EXPECT(kymo_mark_links_attach(&plugin[i]) == KYMO_OK);
    }
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    EXPECT(own.on && plugin[1].on);
    plugin[1].calls->detach(&plugin[1]);
    EXPECT(!own.on && !plugin[1].on);
    /* Calls stay: a scope of another thread may be open yet. */
    EXPECT(plugin[1].calls && plugin[1].scope_end);
    kymo_mark_links_update();
    EXPECT(!plugin[1].on && plugin[0].on && plugin[2].on);
    plugin[1].calls->detach(&plugin[1]);
    plugin[0].calls->detach(&plugin[0]);
    plugin[2].calls->detach(&plugin[2]);
    own.on = 0;
    kymo_mark_links_update();
    EXPECT(!own.on);
    EXPECT_ON("ndrx!");
    /* The same memory is another object's. */
    EXPECT(kymo_mark_links_attach(&plugin[1]) == KYMO_OK);
    EXPECT(own.on && plugin[1].on);
}

static void change_in_between(void)
{
    control("disk");
    kymo_mark_links_look();
}

CASE(a_handler_that_comes_in_between_is_heard)
{
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    control("net");
    in_between = change_in_between;
    kymo_mark_links_look();
    EXPECT_ON(".dr.!");
}

static sigjmp_buf outside;

static void leave(int number)
{
    (void)number;
    siglongjmp(outside, 1);
}

static void be_struck(void)
{
    (void)raise(SIGUSR1);
}

CASE(a_handler_that_leaves_does_so_after_an_update)
{
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    EXPECT(signal(SIGUSR1, leave) != SIG_ERR);
    control("net");
    in_between = be_struck;
    if (sigsetjmp(outside, 1) == 0) {
        kymo_mark_links_look();
        EXPECT(0); /* it has left */
    }
    EXPECT_ON("n...!");
    control("none");
    kymo_mark_links_look();
    EXPECT_ON("....!");
}

/* A library whose memory was let go without a word, and is another's now. */
CASE(a_link_in_the_place_of_another_gets_its_calls)
{
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    link_of.calls = NULL;
    link_of.mark = NULL;
    link_of.on = 0;
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    EXPECT(link_of.calls && link_of.mark == kymo_mark);
    EXPECT_ON("ndrx!");
    EXPECT(kymo_mark_links_attach(NULL) == KYMO_E_VERSION);
}

/* ---- threads ---- */

static uint32_t lock;

static void *hold_for_a_while(void *unused)
{
    (void)unused;
    while (kymo_clock_thread_cpu() < 100000000u)
        ;
    kymo_mark_unlock(&lock);
    return NULL;
}

static long sleeps_so_far(void)
{
    struct rusage usage;
    EXPECT(getrusage(RUSAGE_THREAD, &usage) == 0);
    return usage.ru_nvcsw;
}

/* One that only yields may be of a higher priority than the holder, on the same CPU. */
CASE(who_waits_for_a_lock_sleeps)
{
    pthread_t holder;
    kymo_mark_lock(&lock);
    EXPECT(pthread_create(&holder, NULL, hold_for_a_while, NULL) == 0);
    long before = sleeps_so_far();
    kymo_mark_lock(&lock);
    EXPECT(sleeps_so_far() - before >= 10);
    EXPECT(pthread_join(holder, NULL) == 0);
}

enum { ROUNDS = 20000 };
static int done;

enum { CHOICES = 20000, MOST_YIELDS = 2000, LINKS = 5000 };
static uint32_t round_begun, round_ended;
#define LAST_ROUND UINT32_MAX

/* Both run at once, where there are CPUs for that. Returns the round, and adds how often the CPU
 * had to be given away for it: where others have it then, that takes milliseconds. */
static uint32_t wait_for(const uint32_t *round, uint32_t number, uint32_t *yields)
{
    for (uint32_t turns = 0;; turns++) {
        uint32_t now = kymo_load_acquire(round);
        if (now == number || now == LAST_ROUND)
            return now;
        if (turns < 1000) {
            kymo_cpu_relax();
        } else {
            sched_yield();
            ++*yields;
        }
    }
}

static void *select_each_round(void *unused)
{
    (void)unused;
    uint32_t yields = 0;
    for (uint32_t i = 1; wait_for(&round_begun, i, &yields) != LAST_ROUND; i++) {
        EXPECT(kymo_mark_links_select("net") == KYMO_OK);
        kymo_store_release(&round_ended, i);
    }
    return NULL;
}

/* It comes after the recorder's, which another thread is about to look at. */
CASE(a_choice_of_this_moment_is_kept)
{
    pthread_t selecter;
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    uint32_t yields = 0;
    EXPECT(pthread_create(&selecter, NULL, select_each_round, NULL) == 0);
    for (uint32_t i = 1; i <= CHOICES && yields < MOST_YIELDS; i++) {
        control("disk");
        kymo_store_release(&round_begun, i);
        for (uint32_t wait = i % 64; wait > 0; wait--)
            kymo_signal_fence();
        kymo_mark_links_look();
        (void)wait_for(&round_ended, i, &yields);
        kymo_mark_links_look();
        EXPECT_ON("n...!");
    }
    kymo_store_release(&round_begun, LAST_ROUND);
    EXPECT(pthread_join(selecter, NULL) == 0);
}

static void *switch_on_and_off(void *unused)
{
    (void)unused;
    for (int i = 0; !kymo_load_acquire(&done); i++) {
        EXPECT(kymo_mark_links_select(i % 2 ? "all" : "none") == KYMO_OK);
        kymo_mark_links_update();
    }
    return NULL;
}

/* Links come and go while others switch them; one that has gone is not written to. */
static void *come_and_go(void *unused)
{
    (void)unused;
    for (int i = 0; i < LINKS; i++) {
        struct kymo_mark_category own = {.size = sizeof own, .name = "own"};
        struct kymo_mark_category *const one[] = {&own};
        struct kymo_mark_link mine = {.size = sizeof mine,
                                      .abi = KYMO_MARK_ABI,
                                      .categories = one,
                                      .categories_end = one + 1};
        EXPECT(kymo_mark_links_attach(&mine) == KYMO_OK);
        mine.calls->detach(&mine);
        EXPECT(!kymo_load_relaxed(&own.on) && !kymo_load_relaxed(&mine.on));
    }
    return NULL;
}

CASE(threads_attach_and_switch_at_once)
{
    pthread_t switcher, comers[2];
    EXPECT(kymo_mark_links_attach(&link_of) == KYMO_OK);
    start();
    EXPECT(pthread_create(&switcher, NULL, switch_on_and_off, NULL) == 0);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_create(&comers[i], NULL, come_and_go, NULL) == 0);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_join(comers[i], NULL) == 0);
    kymo_store_release(&done, 1);
    EXPECT(pthread_join(switcher, NULL) == 0);
    EXPECT(kymo_mark_links_select("all") == KYMO_OK);
    EXPECT_ON("ndrx!");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_gets_its_calls),
        cmocka_unit_test(nothing_is_on_until_somebody_records),
        cmocka_unit_test(a_link_that_comes_later_is_as_the_others),
        cmocka_unit_test(an_object_is_told_when_its_recording_begins_and_stops),
        cmocka_unit_test(the_recorder_changes_its_list),
        cmocka_unit_test(half_a_list_changes_nothing),
        cmocka_unit_test(the_last_one_who_chooses_counts),
        cmocka_unit_test(what_is_no_list_changes_nothing),
        cmocka_unit_test(a_program_may_choose_before_it_is_recorded),
        cmocka_unit_test(all_is_off_once_nobody_listens),
        cmocka_unit_test(off_is_off_until_a_session_comes),
        cmocka_unit_test(a_forked_child_waits_with_what_its_parent_had),
        cmocka_unit_test(a_child_that_is_not_recorded_has_all_off),
        cmocka_unit_test(what_is_detached_is_off_and_left_alone),
        cmocka_unit_test(a_handler_that_comes_in_between_is_heard),
        cmocka_unit_test(a_handler_that_leaves_does_so_after_an_update),
        cmocka_unit_test(a_link_in_the_place_of_another_gets_its_calls),
        cmocka_unit_test(who_waits_for_a_lock_sleeps),
        cmocka_unit_test(a_choice_of_this_moment_is_kept),
        cmocka_unit_test(threads_attach_and_switch_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
