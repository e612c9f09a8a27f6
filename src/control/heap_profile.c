/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_profile.c - kymo_heap_profile: the recorder makes the file, and hands over its descriptor.
 * In the program there is nothing but a buffer.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "control/control.h"
#include "kymo/memory.h"

static const char *const endings[] = {
    [KYMO_HEAP_PROFILE_PPROF] = ".pb.gz",
    [KYMO_HEAP_PROFILE_COLLAPSED] = ".folded",
    [KYMO_HEAP_PROFILE_JSON] = KYMO_CONTROL_REPORT,
};

static kymo_err copy(int file, kymo_sink *sink)
{
    char bytes[16384];
    for (;;) {
        ssize_t n = read(file, bytes, sizeof bytes);
        if (n == 0)
            return KYMO_OK;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kymo_err_from_errno(errno);
        KYMO_TRY(sink->write(sink, bytes, (size_t)n));
    }
}

kymo_err kymo_heap_profile(kymo_heap_profile_format format, kymo_sink *sink)
{
    struct kymo_control_request request = {.what = KYMO_CONTROL_HEAP, .pid = getpid()};
    struct kymo_control_answer answer;
    int file = -1;
    if ((unsigned)format >= KYMO_ARRAY_LEN(endings) || !sink)
        return KYMO_E_INVALID;
    strcpy(request.format, endings[format]);
    kymo_err err = kymo_control_ask(request.pid, &request, &answer, &file, NULL);
    if (err == KYMO_E_NOT_FOUND)
        return KYMO_E_UNSUPPORTED;
    KYMO_TRY(err);
    err = copy(file, sink);
    close(file);
    return err;
}
