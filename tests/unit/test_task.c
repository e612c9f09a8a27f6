/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/task.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* A child that gives back a byte itself, and all that follow as `cat`. */
struct child {
    pid_t pid;
    int in;
    int out;
};

static struct child start(void)
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    struct child c = {.pid = fork(), .in = in[1], .out = out[0]};
    if (c.pid == 0) {
        char byte;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(in[0], 0) == 0 && dup2(out[1], 1) == 1 && read(0, &byte, 1) == 1 &&
            write(1, &byte, 1) == 1)
            execl("/bin/cat", "cat", (char *)NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    return c;
}

static void ask(const struct child *c, char what)
{
    char back;
    assert_int_equal(write(c->in, &what, 1), 1);
    assert_int_equal(read(c->out, &back, 1), 1);
    assert_int_equal(back, what);
}

static void an_image_lives_until_exec_or_end(void **state)
{
    (void)state;
    struct child c = start();
    int forked = kymo_task_open_image(c.pid, 1);
    assert_true(forked >= 0);
    assert_int_equal(kymo_task_image_lives(forked), 1);
    ask(&c, 'a');
    ask(&c, 'b'); /* cat does: the exec is behind it */
    assert_int_equal(kymo_task_image_lives(forked), 0);

    int cat = kymo_task_open_image(c.pid, 1);
    assert_int_equal(kymo_task_image_lives(cat), 1);
    close(c.in);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(kymo_task_image_lives(cat), 0); /* of a zombie */
    assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
    assert_int_equal(kymo_task_image_lives(cat), 0);
    close(c.out);
    close(forked);
    close(cat);
}

static void what_cannot_be_known_lives(void **state)
{
    (void)state;
    assert_int_equal(kymo_task_open_image(0, 1), -1);
    assert_int_equal(kymo_task_image_lives(-1), 1);
}

static void children_begin_later(void **state)
{
    (void)state;
    struct child c = start();
    uint64_t own = kymo_task_start_ticks(getpid());
    uint64_t forked = kymo_task_start_ticks(c.pid);
    assert_true(own != 0 && forked >= own);
    ask(&c, 'x');
    ask(&c, 'y'); /* cat's by now */
    assert_int_equal(kymo_task_start_ticks(c.pid), forked);
    assert_int_equal(kymo_task_start_ticks(1) <= own, 1);
    assert_int_equal(close(c.in), 0);
    assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
    assert_int_equal(kymo_task_start_ticks(c.pid), 0);
    close(c.out);
}

/* ---- the main thread, of which the kernel has two folders ---- */

static pid_t second_tid;

static void *second(void *unused)
{
    uint64_t used_ns = 0;
    (void)unused;
    second_tid = (pid_t)syscall(SYS_gettid);
    (void)prctl(PR_SET_NAME, "second");
    while (used_ns < 50000000 && kymo_task_cpu_ns(getpid(), second_tid, &used_ns))
        continue;
    char name[16];
    assert_true(kymo_task_name(getpid(), second_tid, name));
    assert_string_equal(name, "second");
    return NULL;
}

static void the_main_thread_is_one_thread(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t before_ns, after_ns, process_ns;
    char name[16], before[16];
    struct kymo_task_status status;
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    assert_int_equal(prctl(PR_SET_NAME, "first"), 0);
    assert_true(kymo_task_cpu_ns(getpid(), getpid(), &before_ns));
    assert_int_equal(pthread_create(&thread, NULL, second, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(kymo_task_cpu_ns(getpid(), getpid(), &after_ns));
    assert_true(kymo_task_process_clock(getpid(), &process_ns));
    /* What the other one used is not its own. */
    assert_true(after_ns >= before_ns && after_ns + 50000000 <= process_ns);
    assert_true(kymo_task_name(getpid(), getpid(), name));
    assert_string_equal(name, "first");
    assert_true(kymo_task_read_status(getpid(), getpid(), &status));
    assert_false(status.is_dead);
    assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

static void who_slept_has_got_a_cpu_again(void **state)
{
    (void)state;
    enum { NAPS = 20 };
    struct kymo_task_times before, after;
    struct kymo_task_status slept_before, slept_after;
    const pid_t self = getpid();
    assert_true(kymo_task_read_times(self, self, &before));
    if (before.runs == 0) {
        print_message("not checked: this kernel does not count (CONFIG_SCHED_INFO)\n");
        skip();
    }
    assert_true(kymo_task_read_status(self, self, &slept_before));
    for (int i = 0; i < NAPS; i++)
        assert_int_equal(nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL), 0);
    assert_true(kymo_task_read_status(self, self, &slept_after));
    assert_true(kymo_task_read_times(self, self, &after));
    uint64_t naps = slept_after.voluntary_switches - slept_before.voluntary_switches;
    /* Whose time is over before it is off its CPU does not sleep. */
    assert_true(naps > 0);
    assert_true(after.runs - before.runs >= naps);
    assert_true(after.cpu_ns > before.cpu_ns);

    struct kymo_task_times kept;
    int fd = kymo_task_open_times(self, self);
    assert_true(kymo_task_read_open_times(fd, &kept));
    assert_true(kept.cpu_ns >= after.cpu_ns && kept.runs >= after.runs);
    do {
        assert_int_equal(nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL), 0);
        assert_true(kymo_task_read_open_times(fd, &after));
    } while (after.runs == kept.runs);
    assert_true(after.cpu_ns > kept.cpu_ns);
    close(fd);
    assert_false(kymo_task_read_open_times(-1, &after));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_lives_until_exec_or_end),
        cmocka_unit_test(what_cannot_be_known_lives),
        cmocka_unit_test(children_begin_later),
        cmocka_unit_test(the_main_thread_is_one_thread),
        cmocka_unit_test(who_slept_has_got_a_cpu_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
