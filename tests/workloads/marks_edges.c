/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_edges.c - markers across exec and vfork, past the end of the recording, and at more places
 * than a session has room for.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "marks.h"

static void number(uint32_t stream, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        KYMO_MARKER_T(plain, "numbered", numbered, .stream = stream, .number = i,
                      .check = NUMBERED_CHECK(stream, i));
}

static void become(uint32_t stream, uint32_t count)
{
    char texts[2][16];
    snprintf(texts[0], sizeof(texts[0]), "%u", count);
    snprintf(texts[1], sizeof(texts[1]), "%u", stream);
    execl("/proc/self/exe", "marks", "stream", texts[0], texts[1], (char *)NULL);
    _exit(127);
}

/* ---- stream: what an exec below leads to ---- */

void marks_stream(uint32_t count, uint32_t stream)
{
    number(stream, 0, count);
}

/* ---- exec: with a scope open ---- */

void marks_exec(uint32_t count)
{
    printf("{\"streams\":[%u,%u],\"open\":[\"to the end\"]}\n", count, count);
    fflush(stdout);
    KYMO_SCOPE(plain, "to the end");
    number(0, 0, count);
    become(1, count);
}

/* ---- vfork: the child's markers are its parent's, whose memory and thread it uses, until it calls
 * exec ---- */

void marks_vfork(uint32_t count)
{
    int status;
    number(0, 0, count);
    pid_t child = vfork();
    must(child >= 0, "vfork");
    if (child == 0) {
        number(0, count, 2 * count);
        become(1, count);
    }
    number(0, 2 * count, 3 * count);
    must(waitpid(child, &status, 0) == child && status == 0, "child");
    printf("{\"streams\":[%u,%u]}\n", 3 * count, count);
}

/* ---- past the end: until markers are off; then PATH has how many there were ---- */

static void count_recordings(void *context, int is_recorded)
{
    __atomic_fetch_add((uint32_t *)context + !is_recorded, 1, __ATOMIC_RELAXED);
}

void marks_past_end(const char *path)
{
    enum { MOST = 20000 };
    static uint32_t told[2]; /* that it begins, that it stops */
    uint32_t made = 0;
    must(kymo_on_recording(count_recordings, told) == 0, "kymo_on_recording");
    while (KYMO_IS_ON(plain) && made < MOST) {
        number(0, made, made + 1);
        made++;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    char text[64], part[4096];
    snprintf(part, sizeof(part), "%s.part", path);
    int len = snprintf(text, sizeof(text), "{\"made\":%u,\"on\":%d,\"begun\":%u,\"stopped\":%u}\n",
                       made, KYMO_IS_ON(plain), told[0], told[1]);
    FILE *file = fopen(part, "w");
    must(file && fwrite(text, 1, (size_t)len, file) == (size_t)len && fclose(file) == 0, part);
    must(rename(part, path) == 0, path);
}

/* ---- sites: one marker at each of COUNT places ---- */

void marks_sites(uint32_t count)
{
    struct place {
        struct kymo_mark_site site;
        char name[32];
    } *places = calloc(count, sizeof(*places));
    must(places != NULL, "calloc");
    for (uint32_t i = 0; i < count; i++) {
        struct kymo_mark_site *site = &places[i].site;
        snprintf(places[i].name, sizeof(places[i].name), "place %u", i);
        *site = (struct kymo_mark_site){.size = sizeof(*site),
                                        .category = &kymo_category_plain,
                                        .name = places[i].name,
                                        .file = __FILE__,
                                        .function = __func__,
                                        .line = i + 1,
                                        .kind = KYMO_SITE_MARKER};
        if (KYMO_IS_ON(plain))
            KYMO_MARK_LINK_->mark(site, NULL);
    }
    free(places);
    printf("{\"places\":%u}\n", count);
}
