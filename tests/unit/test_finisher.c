/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is the recorder: it starts a finisher, says so by the pipe `told`, and is killed, or
 * ends in order. Its finisher is a child of this test then, which waits for it.
 */
#include "cli/finisher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "empty_folder.h"

enum ending {
    IS_KILLED,
    STOPS_FIRST,
    KILLS_IT_AND_EXITS, /* as a signal handler does */
    HAS_NO_SPOOL_LEFT,
    ENDING_COUNT
};

static int told[2];

/* Whether it has nothing of the recorder's but what it needs. */
static int is_alone(void)
{
    struct stat null, st;
    if (fcntl(told[1], F_GETFD) >= 0 || getsid(0) != getpid() || stat("/dev/null", &null) != 0)
        return 0;
    for (int fd = 0; fd <= 2; fd++)
        if (fstat(fd, &st) != 0 || st.st_rdev != null.st_rdev)
            return 0;
    return 1;
}

static void finish(void *context)
{
    char text[64];
    snprintf(text, sizeof text, "%s, %s", (const char *)context,
             is_alone() ? "alone" : "not alone");
    FILE *f = fopen("finished", "w");
    if (f && fputs(text, f) >= 0)
        fclose(f);
}

static _Noreturn void be_recorder(enum ending how)
{
    kymo_spool spool;
    static char context[] = "with its memory";
    struct kymo_finisher f = {&spool, finish, context, -1, {0, NULL}};
    if (kymo_spool_create(&spool, ".", "prog", NULL) != KYMO_OK ||
        kymo_finisher_start(&f) != KYMO_OK)
        _exit(1);
    if (how == HAS_NO_SPOOL_LEFT)
        kymo_spool_unlink(&spool);
    if (how == STOPS_FIRST)
        kymo_finisher_stop(&f);
    if (write(told[1], "x", 1) != 1)
        _exit(1);
    if (how == KILLS_IT_AND_EXITS)
        kymo_finisher_kill(&f);
    if (how == STOPS_FIRST || how == KILLS_IT_AND_EXITS)
        _exit(0);
    for (;;)
        pause();
}

/* Returns how many processes ended beside the recorder. */
static int run(enum ending how)
{
    char byte;
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t recorder = fork();
    if (recorder == 0)
        be_recorder(how);
    close(told[1]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    if (how == IS_KILLED || how == HAS_NO_SPOOL_LEFT) {
        assert_int_not_equal(access("finished", F_OK), 0);
        assert_int_equal(kill(recorder, SIGKILL), 0);
    }
    close(told[0]);
    int others = 0;
    for (pid_t ended; (ended = waitpid(-1, NULL, 0)) > 0;)
        others += ended != recorder;
    assert_int_equal(errno, ECHILD);
    return others;
}

static void works_for_one_that_was_killed(void **state)
{
    (void)state;
    assert_int_equal(run(IS_KILLED), 1);
    has("finished", "with its memory, alone");
}

static void does_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(run(STOPS_FIRST), 0);
    assert_int_equal(run(KILLS_IT_AND_EXITS), 0);
    assert_int_equal(run(HAS_NO_SPOOL_LEFT), 1);
    assert_int_not_equal(access("finished", F_OK), 0);
}

static void one_that_was_not_started_is_left_alone(void **state)
{
    (void)state;
    struct kymo_finisher f = {0};
    kymo_finisher_kill(&f); /* a signal to process 0 would end this test */
    kymo_finisher_stop(&f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        T(works_for_one_that_was_killed),
        T(does_nothing_else),
        T(one_that_was_not_started_is_left_alone),
    };
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
