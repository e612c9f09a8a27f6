/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/row_tables.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/vec.h"
#include "recorder/shared_memory.h"
#include "symbolize/elf_file.h"
#include "unwind/row_table.h"

#define FILE_MAX (1ull << 30)
#define FILES_MAX 4096u

enum file_state { WAITING, QUEUED, HERE, NEVER };

/* Identity of a file as the kernel reports it. The build-id alone is not enough: a process could
 * make a file with libc's build-id and so give all other processes wrong rows. */
struct identity {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct file {
    char *path;
    struct identity identity;
    uint32_t build_id_len;
    uint8_t build_id[KYMO_SESSION_BUILD_ID_MAX];
    enum file_state state;
    uint64_t samples;
    uint64_t at, size_bytes, base; /* HERE */
};

struct kymo_row_tables {
    int memory;
    char *map;
    uint64_t size;
    uint64_t used; /* bytes of the memory in use; the builder thread's */
    int has_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    KYMO_VEC(struct file) files;
    KYMO_VEC(uint32_t) queue;
    int stop;
};

static struct identity identity_of(const struct stat *st)
{
    return (struct identity){st->st_dev, st->st_ino, st->st_size, st->st_mtim};
}

static int is_same(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Reads the whole file into memory from malloc, if it is still the wanted file. It is not
 * mapped: another process could truncate it. */
static unsigned char *read_file(const char *path, const struct identity *wanted, size_t *size)
{
    struct stat st;
    unsigned char *data = NULL;
    size_t have = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct identity found = {0};
    if (fstat(fd, &st) == 0)
        found = identity_of(&st);
    if (is_same(&found, wanted) && S_ISREG(st.st_mode) && st.st_size > 0 &&
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

static int is_the_file(const void *data, size_t size, const struct file *job)
{
    kymo_elf_file *file;
    if (kymo_elf_open_image(data, size, &file) != KYMO_OK)
        return 0;
    int same = file->build_id_len == job->build_id_len &&
               memcmp(file->build_id, job->build_id, job->build_id_len) == 0;
    kymo_elf_close(file);
    return same;
}

/* Appends the table to the shared memory. */
static void keep(kymo_row_tables *t, struct file *job, const kymo_bytes *table)
{
    uint64_t at = (t->used + 63) & ~63ull;
    if (at > t->size || table->len > t->size - at)
        return;
    memcpy(t->map + at, table->data, table->len);
    t->used = at + table->len;
    job->state = HERE;
    job->at = at;
    job->size_bytes = table->len;
    job->base = kymo_row_table_base(t->map + at);
}

static void build(kymo_row_tables *t, struct file *job)
{
    size_t size;
    kymo_error why = {0};
    job->state = NEVER;
    unsigned char *data = read_file(job->path, &job->identity, &size);
    if (!data)
        return;
    kymo_bytes table;
    kymo_bytes_init(&table, t->size - t->used);
    if (!is_the_file(data, size, job)) {
        kymo_debug("no rows of %s: it is not the file that is mapped", job->path);
    } else if (kymo_row_table_build(data, size, &table.sink, NULL, &why) != KYMO_OK) {
        kymo_debug("no rows of %s: %s", job->path, why.message);
    } else {
        kymo_debug("rows of %s: %zu bytes", job->path, table.len);
        keep(t, job, &table);
    }
    kymo_bytes_deinit(&table);
    free(data);
}

static void *work(void *argument)
{
    kymo_row_tables *t = argument;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        if (t->queue.len == 0) {
            pthread_cond_wait(&t->wake, &t->lock);
            continue;
        }
        uint32_t number = t->queue.data[0];
        memmove(t->queue.data, t->queue.data + 1, --t->queue.len * sizeof number);
        struct file job = t->files.data[number];
        pthread_mutex_unlock(&t->lock);
        build(t, &job);
        pthread_mutex_lock(&t->lock);
        t->files.data[number] = job;
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Started with the first table: most recordings are too short for any. Call with the lock held. */
static int start_thread(kymo_row_tables *t)
{
    if (t->has_thread)
        return 1;
    /* signals are handled by the main thread */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    t->has_thread = pthread_create(&t->thread, NULL, work, t) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return t->has_thread;
}

kymo_err kymo_row_tables_create(uint64_t size_bytes, kymo_row_tables **out)
{
    kymo_row_tables *t = calloc(1, sizeof *t);
    if (!t)
        return KYMO_E_NOMEM;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    t->size = size_bytes;
    t->memory = kymo_shared_memory_make("kymo-rows", size_bytes);
    void *map = t->memory < 0
                    ? MAP_FAILED
                    : mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->memory, 0);
    t->map = map == MAP_FAILED ? NULL : map;
    /* From now on no process can map it writable: else one process could change the tables of
     * all others. Linux before 5.1 lacks this seal. */
    if (!t->map || fcntl(t->memory, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
        kymo_row_tables_destroy(t);
        return KYMO_E_SYSTEM;
    }
    *out = t;
    return KYMO_OK;
}

void kymo_row_tables_destroy(kymo_row_tables *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = 1;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    if (t->has_thread)
        pthread_join(t->thread, NULL);
    for (size_t i = 0; i < t->files.len; i++)
        free(t->files.data[i].path);
    kymo_vec_deinit(&t->files);
    kymo_vec_deinit(&t->queue);
    if (t->map)
        munmap(t->map, t->size);
    if (t->memory >= 0)
        close(t->memory);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

int kymo_row_tables_memory(const kymo_row_tables *t)
{
    return t->memory;
}

uint64_t kymo_row_tables_bytes(const kymo_row_tables *t)
{
    return t->size;
}

static uint32_t find_file(const kymo_row_tables *t, const struct identity *identity,
                          const uint8_t *build_id, uint32_t len)
{
    for (uint32_t i = 0; i < t->files.len; i++)
        if (t->files.data[i].build_id_len == len &&
            memcmp(t->files.data[i].build_id, build_id, len) == 0 &&
            is_same(&t->files.data[i].identity, identity))
            return i;
    return UINT32_MAX;
}

uint32_t kymo_row_tables_file(kymo_row_tables *t, const char *path, const uint8_t *build_id,
                              uint32_t build_id_len)
{
    if (path[0] != '/' || build_id_len == 0 || build_id_len > KYMO_SESSION_BUILD_ID_MAX)
        return UINT32_MAX;
    struct stat st;
    if (stat(path, &st) != 0)
        return UINT32_MAX;
    struct file file = {.identity = identity_of(&st), .build_id_len = build_id_len};
    pthread_mutex_lock(&t->lock);
    uint32_t number = find_file(t, &file.identity, build_id, build_id_len);
    if (number == UINT32_MAX && t->files.len < FILES_MAX && (file.path = strdup(path))) {
        memcpy(file.build_id, build_id, build_id_len);
        if (kymo_vec_push(&t->files, file) == KYMO_OK)
            number = (uint32_t)t->files.len - 1;
        else
            free(file.path);
    }
    pthread_mutex_unlock(&t->lock);
    return number;
}

void kymo_row_tables_count(kymo_row_tables *t, uint32_t number, uint64_t samples)
{
    pthread_mutex_lock(&t->lock);
    struct file *file = &t->files.data[number];
    file->samples += samples;
    if (file->state == WAITING && file->samples >= KYMO_ROW_TABLES_SAMPLES && start_thread(t) &&
        kymo_vec_push(&t->queue, number) == KYMO_OK) {
        file->state = QUEUED;
        pthread_cond_signal(&t->wake);
    }
    pthread_mutex_unlock(&t->lock);
}

enum kymo_row_tables_answer kymo_row_tables_find(kymo_row_tables *t, uint32_t number,
                                                 struct kymo_table_entry *place)
{
    pthread_mutex_lock(&t->lock);
    const struct file *file = &t->files.data[number];
    enum kymo_row_tables_answer answer = file->state == HERE    ? KYMO_ROW_TABLE_HERE
                                         : file->state == NEVER ? KYMO_ROW_TABLE_NEVER
                                                                : KYMO_ROW_TABLE_LATER;
    place->at = file->at;
    place->size_bytes = file->size_bytes;
    place->base = file->base;
    pthread_mutex_unlock(&t->lock);
    return answer;
}
