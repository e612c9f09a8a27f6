/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_steps.c - a program that does with its heap what each line of its standard input says, and
 * answers each with a line: the time of CLOCK_MONOTONIC, in nanoseconds, and "ok" or an error.
 *
 *   give SITE COUNT BYTES           blocks from site_a, site_b or site_c
 *   free SITE COUNT                 the oldest ones of that site, by the main thread
 *   grow SITE COUNT BYTES           the oldest ones of that site, by site_grown
 *   thread NAME SITE COUNT BYTES    as give, by a thread of that name, which then ends
 *   map BYTES                       a mapping, by site_mapping
 *   unmap                           the last one
 *   profile FORMAT FILE             kymo_heap_profile, by its number
 *
 * Nothing but what is asked for is taken from malloc, until the profile's answer is read.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocs.h"
#include "kymo/memory.h"

enum { MOST_BLOCKS = 1 << 20 };

DEFINE_SITE(site_a)
DEFINE_SITE(site_b)
DEFINE_SITE(site_c)

static KEPT void *site_mapping(size_t bytes)
{
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLD(mapped, site_mapping);
    must(mapped != MAP_FAILED, "mmap");
    return mapped;
}

static KEPT void *site_grown(void *block, size_t bytes)
{
    void *grown = realloc(block, bytes);
    HOLD(grown, site_grown);
    must(grown != NULL, "realloc");
    return grown;
}

static void *area;
static size_t area_bytes;

static struct site {
    const char *name;
    void *(*ask)(size_t);
    void *blocks[MOST_BLOCKS];
    size_t first, end; /* those that are there */
} sites[] = {{.name = "site_a", .ask = site_a},
             {.name = "site_b", .ask = site_b},
             {.name = "site_c", .ask = site_c}};

static struct site *site_of(const char *name)
{
    for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
        if (strcmp(sites[i].name, name) == 0)
            return &sites[i];
    must(0, "no such site");
    return NULL;
}

static KEPT void give_back(void *block)
{
    free(block);
    __asm__ volatile("" : : : "memory"); /* no tail call */
}

struct wish {
    const char *name;
    struct site *site;
    size_t count, bytes;
};

static void give(const struct wish *wish)
{
    must(wish->site->end + wish->count <= MOST_BLOCKS, "too many blocks");
    for (size_t i = 0; i < wish->count; i++)
        wish->site->blocks[wish->site->end++] = wish->site->ask(wish->bytes);
}

static void *give_as(void *argument)
{
    const struct wish *wish = argument;
    must(pthread_setname_np(pthread_self(), wish->name) == 0, "pthread_setname_np");
    give(wish);
    return NULL;
}

static void take_back(struct site *site, size_t count)
{
    must(site->first + count <= site->end, "too few blocks");
    for (size_t i = 0; i < count; i++)
        give_back(site->blocks[site->first++]);
}

static void grow(struct site *site, size_t count, size_t bytes)
{
    must(site->first + count <= site->end, "too few blocks");
    for (void **block = &site->blocks[site->first]; count-- > 0; block++)
        *block = site_grown(*block, bytes);
}

struct file_sink {
    kymo_sink sink;
    int fd;
};

static kymo_err write_to_file(kymo_sink *sink, const void *data, size_t len)
{
    const struct file_sink *file = (const struct file_sink *)sink;
    return write(file->fd, data, len) == (ssize_t)len ? KYMO_OK : KYMO_E_IO;
}

static const char *profile(unsigned format, const char *path)
{
    struct file_sink file = {{write_to_file},
                             open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    must(file.fd >= 0, "open");
    kymo_err err = kymo_heap_profile((kymo_heap_profile_format)format, &file.sink);
    close(file.fd);
    return err == KYMO_OK ? "ok" : kymo_err_name(err);
}

static const char *obey(const char *line)
{
    char name[16];
    char site[16];
    char path[512];
    size_t count;
    size_t bytes;
    unsigned format;
    pthread_t thread;
    if (sscanf(line, "give %15s %zu %zu", site, &count, &bytes) == 3) {
        give(&(struct wish){NULL, site_of(site), count, bytes});
    } else if (sscanf(line, "free %15s %zu", site, &count) == 2) {
        take_back(site_of(site), count);
    } else if (sscanf(line, "thread %15s %15s %zu %zu", name, site, &count, &bytes) == 4) {
        struct wish wish = {name, site_of(site), count, bytes};
        must(pthread_create(&thread, NULL, give_as, &wish) == 0, "pthread_create");
        must(pthread_join(thread, NULL) == 0, "pthread_join");
    } else if (sscanf(line, "map %zu", &bytes) == 1) {
        area = site_mapping(bytes);
        area_bytes = bytes;
    } else if (strcmp(line, "unmap") == 0) {
        must(munmap(area, area_bytes) == 0, "munmap");
    } else if (sscanf(line, "grow %15s %zu %zu", site, &count, &bytes) == 3) {
        grow(site_of(site), count, bytes);
    } else if (sscanf(line, "profile %u %511s", &format, path) == 2) {
        return profile(format, path);
    } else {
        return "what?";
    }
    return "ok";
}

/* A line without its end; 0: there is none. */
static int next_line(char *line, size_t room)
{
    for (size_t n = 0; n + 1 < room; n++) {
        if (read(STDIN_FILENO, line + n, 1) != 1)
            return 0;
        if (line[n] == '\n') {
            line[n] = '\0';
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    char line[1024];
    while (next_line(line, sizeof line)) {
        const char *answer = obey(line);
        int len = snprintf(line, sizeof line, "%llu %s\n",
                           (unsigned long long)clock_ns(CLOCK_MONOTONIC), answer);
        must(write(STDOUT_FILENO, line, (size_t)len) == len, "write");
    }
    return 0;
}
