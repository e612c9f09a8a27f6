/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.h - writes a profile as a file that other programs read.
 *
 * Flow:     profile.h -> [encode] -> Firefox Profiler, go tool pprof, JFR tools, flame graphs
 * Threads:  the owner of the profile; nothing is kept between calls
 * Memory:   a few words per stack, frame and string while a call lasts; never the output itself,
 * but that of OpenTelemetry Signals:  not for handlers
 *
 * Weights are the same in each format, and those of CPU samples add up to the CPU time:
 * milliseconds with nanosecond digits in the Firefox file, nanoseconds in pprof and in collapsed
 * stacks. doc/encodings.md says
 * what each part of a profile becomes.
 */
#ifndef KYMO_ENCODE_H
#define KYMO_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "kymo/error.h"
#include "kymo/profile.h"
#include "kymo/sink.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kind of file, chosen by how its name ends. Static storage. */
typedef struct kymo_format {
    const char *name;      /* "firefox", "pprof", "otlp", "jfr", "collapsed", ... */
    const char *extension; /* ".json.gz" */
    const char *reader;    /* who reads it, for people */
} kymo_format;

/* The row of the table from 0 on, NULL beyond its end. */
KYMO_API const kymo_format *kymo_format_at(size_t index);
/* The row whose extension the path ends in (the longest of several), NULL if none. */
KYMO_API const kymo_format *kymo_format_for_path(const char *path);

/* What of a profile a format shows that has room for one kind of thing (pprof, collapsed stacks).
 */
typedef enum kymo_encode_show {
    KYMO_ENCODE_AUTO = 0, /* time, if there are samples of it; else what lives */
    KYMO_ENCODE_TIME,
    KYMO_ENCODE_ALLOC,  /* all allocations */
    KYMO_ENCODE_LIVE,   /* allocations that live at the end, or at at_ns */
    KYMO_ENCODE_PEAK,   /* when most bytes lived, in all processes together */
    KYMO_ENCODE_LEAKS,  /* as KYMO_HEAP_LEAKS of report.h has it */
    KYMO_ENCODE_MAPPED, /* not allocations, but large mappings of the program's own, as LIVE */
    KYMO_ENCODE_GROWTH, /* what lives at at_ns, less what lived at from_ns; pprof alone */
    KYMO_ENCODE_COUNT
} kymo_encode_show;

/* Bits of kymo_encode_options.flags. */
enum {
    /* In a Firefox file, all counters of the system and of allocators that changed; without it, one
     * track of memory for each process that lived for a second. */
    KYMO_ENCODE_ALL_COUNTERS = 1,
    /* A Firefox file holds no text of source files. */
    KYMO_ENCODE_NO_SOURCE = 2,
    /* A pprof file of the heap has no sample types of what was allocated: of a profile that has
     * what lives alone. */
    KYMO_ENCODE_INUSE_ALONE = 4,
    /* A pprof file of time has the sample type `kind` alone, also where there are no samples of
     * it. */
    KYMO_ENCODE_KIND_ALONE = 8,
};

typedef struct kymo_encode_options {
    uint32_t size;    /* sizeof(kymo_encode_options) */
    int32_t level;    /* of compression, 1 to 9; 0: the format's own choice */
    uint32_t replace; /* kymo_encode_file: an existing file may be replaced */
    uint32_t kind;    /* sample type that a format with one weight shows, or KYMO_SAMPLE_DEFAULT */
    /* Called now and then, and at the end with fraction 1; NULL: never. bytes: written to the sink
     * so far. Returning non-zero stops the encoder with KYMO_E_INTERRUPTED. */
    int (*progress)(void *progress_data, uint64_t bytes, double fraction);
    void *progress_data;
    uint32_t show;       /* kymo_encode_show */
    uint32_t process;    /* of the heap: id + 1 of that process alone; 0: of all */
    uint64_t at_ns;      /* since the profile's zero; 0: the end */
    uint64_t from_ns;    /* of GROWTH: as at_ns */
    uint64_t min_age_ns; /* of LEAKS; 0: as KYMO_HEAP_AUTO has it */
    /* Of LEAKS: the youngest percentage of live allocations, which is left out. */
    uint32_t youngest_percent;
    uint32_t flags;
    /* Of a flame graph; of collapsed stacks, whose lines then have two weights; of pprof, where its
     * values are negative: what it is compared with, finished; NULL: nothing. Of its heap,
     * allocations are those at from_ns. */
    const kymo_profile *before;
    /* The sample type of before that is compared with kind, plus 1; 0: the one of the same name. */
    uint32_t before_kind;
    uint32_t reserved;
} kymo_encode_options;

/* Writes a finished profile in the format to the sink, compressed if the extension says so. options
 * (NULL: the defaults, with the default sample type) and detail may be NULL. KYMO_E_INVALID: the
 * profile is not finished; else NOMEM, INTERRUPTED, TOO_BIG (a table outgrew the format), or the
 * sink's error. The sink then holds a part of the output. */
KYMO_API kymo_err kymo_encode(const kymo_profile *profile, const kymo_format *format,
                              kymo_sink *sink, const kymo_encode_options *options,
                              kymo_error *detail);

/* The same into memory: on success *data is *len bytes that the caller frees with free(); on
 * failure neither is touched. */
KYMO_API kymo_err kymo_encode_memory(const kymo_profile *profile, const kymo_format *format,
                                     const kymo_encode_options *options, void **data, size_t *len,
                                     kymo_error *detail);

/* The same to a descriptor, which stays open: a file at its offset, a pipe, a socket. Errors of
 * write as the system says, with errno's text in detail. */
KYMO_API kymo_err kymo_encode_fd(const kymo_profile *profile, const kymo_format *format, int fd,
                                 const kymo_encode_options *options, kymo_error *detail);

/* The same into a file, in the format that its name tells. The output grows under a temporary name
 * in the same folder and gets its own when it is complete; after an error there is neither a
 * temporary file nor a part of the output, and a file that was there before is unchanged. A pipe or
 * a device is written directly. KYMO_E_UNSUPPORTED: no format has this extension; KYMO_E_EXISTS:
 * there is such a file and replace is not set; else as above or as the system says, with errno's
 * text in detail. */
KYMO_API kymo_err kymo_encode_file(const kymo_profile *profile, const char *path,
                                   const kymo_encode_options *options, kymo_error *detail);

#ifdef __cplusplus
}
#endif

#endif
