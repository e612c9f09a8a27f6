/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.c FILE - a program with something private in every text that it makes: s3cret-KIND, or
 * s3cret@kind. FILE is mapped. Its other arguments are private, too. Prints "done".
 *
 * The word s3cret-source is in this text alone.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kymo/marker.h"
#include "workload.h"

KYMO_CATEGORY(plain, "Plain", BLUE);
#define FIELDS(F) F(str, url, "URL", URL, 0)
KYMO_TYPE(visit, "Visit", FIELDS, KYMO_ALL_LABELS(visit, "", url, ""));

DEFINE_BURN(burn_plain, 3)

enum { BURN_NS = 60000000, GENERATED_BYTES = 4096 };

static void mark(const char *who)
{
    KYMO_MARKER_TEXT(plain, "text", "s3cret-text");
    KYMO_MARKER_TEXT(plain, "link", "https://ann:s3cret-url@example.org/?token=1");
    KYMO_MARKER_FMT(plain, "format", "hello %s", who);
    KYMO_MARKER_T(plain, "visit", visit, .url = "http://example.org/s3cret-field");
    KYMO_MARKER_OPT(plain, "named", KYMO_OPTIONS(.name = "GET /users/s3cret-name"));
    KYMO_MARKER_OPT(plain, "tracked", KYMO_OPTIONS(.track = kymo_track("of s3cret@track")));
}

/* Code whose maker calls it by its script's path and URL, as interpreters do. */
static void run_generated(void)
{
    static const unsigned char loop[] = {0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3};
    char path[64];
    unsigned char *code = mmap(NULL, GENERATED_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(code != MAP_FAILED, "mmap");
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    must(map != NULL, "the map of generated code");
    for (unsigned i = 0; i < 2; i++)
        memcpy(code + 64 * i, loop, sizeof loop);
    fprintf(map, "%lx 40 py::f:/home/s3cret-home/x.py\n", (unsigned long)(uintptr_t)code);
    fprintf(map, "%lx 40 js:g https://s3cret-script.example.org/y.js\n",
            (unsigned long)(uintptr_t)code + 64);
    fclose(map);
    for (unsigned i = 0; i < 2; i++) {
        burn_function *burn = (burn_function *)(uintptr_t)(code + 64 * i);
        burn_ns(burn, BURN_NS);
    }
}

static void *work(void *unused)
{
    KYMO_LABEL_SCOPE("user", "s3cret-label");
    must(pthread_setname_np(pthread_self(), "s3cret@thread") == 0, "pthread_setname_np");
    mark("s3cret-argument-of-a-format");
    burn_ns(burn_plain, BURN_NS);
    return unused;
}

static void map_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    off_t size = lseek(fd, 0, SEEK_END);
    must(fd >= 0 && size > 0, path);
    const char *data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    must(data != MAP_FAILED, path);
    burnt += (unsigned char)data[size - 1];
    close(fd);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    must(argc > 1, "usage: secrets FILE");
    map_file(argv[1]);
    must(pthread_create(&thread, NULL, work, NULL) == 0, "pthread_create");
    run_generated();
    pthread_join(thread, NULL);
    must(malloc(100000) != NULL, "malloc"); /* it lives at the end */
    puts("done");
    return 0;
}
