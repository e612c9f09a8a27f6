/* SPDX-License-Identifier: Apache-2.0 */
#include "kymo/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "memory/write.h"
#include "unit.h"

#define LIMIT (1u << 20)

static void the_parts_are_those_asked_for(void **state)
{
    (void)state;
    kymo_bytes out;
    kymo_bytes_init(&out, LIMIT);
    assert_int_equal(kymo_memory_snapshot(KYMO_MEMORY_JSON, KYMO_MEMORY_PROCESS, &out.sink),
                     KYMO_OK);
    assert_int_equal(kymo_bytes_append(&out, "", 1), KYMO_OK);
    const char *text = (const char *)out.data;
    assert_non_null(strstr(text, "\"process\": {"));
    assert_non_null(strstr(text, "\"rss_bytes\": "));
    assert_null(strstr(text, "\"maps\""));
    assert_null(strstr(text, "\"threads\": ["));
    kymo_bytes_clear(&out);
    assert_int_equal(kymo_memory_snapshot(KYMO_MEMORY_PROMETHEUS,
                                          KYMO_MEMORY_THREADS | KYMO_MEMORY_ALLOCATOR, &out.sink),
                     KYMO_OK);
    assert_int_equal(kymo_bytes_append(&out, "", 1), KYMO_OK);
    text = (const char *)out.data;
    assert_non_null(strstr(text, "kymo_thread_cpu_seconds_total{tid=\""));
    assert_null(strstr(text, "process_resident_memory_bytes"));
    kymo_bytes_deinit(&out);
}

static void what_is_unknown_is_refused(void **state)
{
    (void)state;
    kymo_bytes out;
    kymo_bytes_init(&out, LIMIT);
    assert_int_equal(kymo_memory_snapshot((kymo_memory_format)2, KYMO_MEMORY_ALL, &out.sink),
                     KYMO_E_INVALID);
    assert_int_equal(kymo_memory_snapshot(KYMO_MEMORY_JSON, KYMO_MEMORY_ALL + 1, &out.sink),
                     KYMO_E_INVALID);
    assert_int_equal(kymo_memory_snapshot(KYMO_MEMORY_JSON, 0, NULL), KYMO_E_INVALID);
    assert_int_equal(out.len, 0);
    kymo_bytes_deinit(&out);
}

static void the_sinks_error_is_passed_on(void **state)
{
    (void)state;
    kymo_bytes out;
    kymo_bytes_init(&out, 16);
    assert_int_equal(kymo_memory_snapshot(KYMO_MEMORY_JSON, KYMO_MEMORY_ALL, &out.sink),
                     KYMO_E_TOO_BIG);
    kymo_bytes_deinit(&out);
}

static int next_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static void *take_some(void *context)
{
    kymo_err *err = context;
    kymo_bytes out;
    kymo_bytes_init(&out, LIMIT);
    for (int i = 0; i < 50 && *err == KYMO_OK; i++) {
        kymo_bytes_clear(&out);
        *err = kymo_memory_snapshot(i % 2 ? KYMO_MEMORY_JSON : KYMO_MEMORY_PROMETHEUS,
                                    KYMO_MEMORY_ALL, &out.sink);
    }
    kymo_bytes_deinit(&out);
    return NULL;
}

static void many_of_them_leave_no_descriptor(void **state)
{
    (void)state;
    kymo_err err = KYMO_OK;
    int fd = next_descriptor();
    take_some(&err);
    assert_int_equal(err, KYMO_OK);
    assert_int_equal(next_descriptor(), fd);
}

static void threads_take_them_at_the_same_time(void **state)
{
    (void)state;
    pthread_t threads[4];
    kymo_err err[4] = {KYMO_OK, KYMO_OK, KYMO_OK, KYMO_OK};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_some, &err[i]), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(err[i], KYMO_OK);
    }
}

/* Of another process, what the kernel lets us read. */
static void another_process_is_read_from_outside(void **state)
{
    struct kymo_memory_view *view = calloc(1, sizeof *view);
    char process[16];
    int pipes[2];
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)!prctl(PR_SET_NAME, "the child");
        (void)!write(pipes[1], "", 1);
        pause();
        _exit(0);
    }
    char byte;
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    snprintf(process, sizeof process, "%d", (int)child);
    assert_int_equal(
        kymo_memory_view_read(view, process, KYMO_MEMORY_PROCESS | KYMO_MEMORY_THREADS), KYMO_OK);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_string_equal(view->name, "the child");
    assert_true(view->figures.is_known[KYMO_FIGURE_RSS]);
    assert_true(view->figures.value[KYMO_FIGURE_RSS] > 0);
    assert_int_equal(view->threads.list.len, 1);
    assert_int_equal(view->threads.list.data[0].tid, child);
    kymo_memory_threads_deinit(&view->threads);
    free(view);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_are_those_asked_for),
        cmocka_unit_test(what_is_unknown_is_refused),
        cmocka_unit_test(the_sinks_error_is_passed_on),
        cmocka_unit_test(many_of_them_leave_no_descriptor),
        cmocka_unit_test(threads_take_them_at_the_same_time),
        cmocka_unit_test(another_process_is_read_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
