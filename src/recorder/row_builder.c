/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/row_builder.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/vec.h"
#include "symbolize/elf_file.h"
#include "unwind/row_table.h"

#define FILE_MAX (1ull << 30)

struct kymo_row_builder {
    struct kymo_table_area *area;
    uint64_t size;
    uint64_t used; /* bytes of the area */
    pthread_t thread;
    pthread_mutex_t lock; /* of the two below */
    pthread_cond_t wake;
    KYMO_VEC(struct kymo_row_job) jobs;
    int stop;
};

/* The whole file in memory from malloc. It is read, not mapped: somebody may cut it meanwhile. */
static unsigned char *read_file(const char *path, size_t *size)
{
    struct stat st;
    unsigned char *data = NULL;
    size_t have = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (uint64_t)st.st_size <= FILE_MAX && (data = malloc((size_t)st.st_size))) {
        while (have < (size_t)st.st_size) {
            ssize_t n = read(fd, data + have, (size_t)st.st_size - have);
            if (n <= 0)
                break;
            have += (size_t)n;
        }
    }
    close(fd);
    *size = have;
    return data;
}

static int is_the_file(const void *data, size_t size, const struct kymo_row_job *job)
{
    kymo_elf_file *file;
    if (kymo_elf_open_image(data, size, &file) != KYMO_OK)
        return 0;
    int same = file->build_id_len == job->build_id_len &&
               memcmp(file->build_id, job->build_id, job->build_id_len) == 0;
    kymo_elf_close(file);
    return same;
}

/* Appends the table to the area and makes it known. */
static void publish(kymo_row_builder *b, const struct kymo_row_job *job, const kymo_bytes *table)
{
    uint32_t count = b->area->count;
    uint64_t at = (b->used + 63) & ~63ull;
    if (count == KYMO_TABLE_AREA_ENTRIES || table->len > b->size - at)
        return;
    memcpy((char *)b->area + at, table->data, table->len);
    b->used = at + table->len;
    b->area->entries[count] = (struct kymo_table_entry){
        .map_start = job->map_start,
        .map_end = job->map_end,
        .base = job->bias + kymo_row_table_base((const char *)b->area + at),
        .at = at,
        .size_bytes = table->len,
        .bias = job->bias,
    };
    /* Pairs with the acquire in capture/tables.c: entry and table are whole. */
    kymo_store_release(&b->area->count, count + 1);
}

static void build(kymo_row_builder *b, const struct kymo_row_job *job)
{
    size_t size;
    kymo_error why = {0};
    unsigned char *data = read_file(job->path, &size);
    if (!data)
        return;
    kymo_bytes table;
    kymo_bytes_init(&table, b->size - b->used);
    if (!is_the_file(data, size, job)) {
        kymo_debug("no rows of %s: it is not the file that is mapped", job->path);
    } else if (kymo_row_table_build(data, size, &table.sink, NULL, &why) != KYMO_OK) {
        kymo_debug("no rows of %s: %s", job->path, why.message);
    } else {
        kymo_debug("rows of %s: %zu bytes", job->path, table.len);
        publish(b, job, &table);
    }
    kymo_bytes_deinit(&table);
    free(data);
}

static void *work(void *argument)
{
    kymo_row_builder *b = argument;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
    pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        if (b->jobs.len == 0) {
            pthread_cond_wait(&b->wake, &b->lock);
            continue;
        }
        struct kymo_row_job job = b->jobs.data[0];
        memmove(b->jobs.data, b->jobs.data + 1, --b->jobs.len * sizeof job);
        pthread_mutex_unlock(&b->lock);
        build(b, &job);
        free(job.path);
        pthread_mutex_lock(&b->lock);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

kymo_err kymo_row_builder_create(struct kymo_table_area *area, uint64_t size,
                                 kymo_row_builder **out)
{
    kymo_row_builder *b = calloc(1, sizeof *b);
    if (!b)
        return KYMO_E_NOMEM;
    b->area = area;
    b->size = size;
    b->used = sizeof *area;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->wake, NULL);
    /* Signals are for the recorder's own thread. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&b->thread, NULL, work, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        pthread_cond_destroy(&b->wake);
        pthread_mutex_destroy(&b->lock);
        free(b);
        return KYMO_E_SYSTEM;
    }
    *out = b;
    return KYMO_OK;
}

void kymo_row_builder_destroy(kymo_row_builder *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->stop = 1;
    pthread_cond_signal(&b->wake);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    for (size_t i = 0; i < b->jobs.len; i++)
        free(b->jobs.data[i].path);
    kymo_vec_deinit(&b->jobs);
    pthread_cond_destroy(&b->wake);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void kymo_row_builder_add(kymo_row_builder *b, const struct kymo_row_job *job)
{
    pthread_mutex_lock(&b->lock);
    kymo_err err = kymo_vec_push(&b->jobs, *job);
    pthread_cond_signal(&b->wake);
    pthread_mutex_unlock(&b->lock);
    if (err != KYMO_OK)
        free(job->path);
}
