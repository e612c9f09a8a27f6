/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder reads of another process: lines of /proc, ELF headers and notes. The first byte
 * says which.
 */
#include <stdlib.h>
#include <string.h>

#include "observe/remote.h"
#include "sys/proc_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void headers(const uint8_t *data, size_t size)
{
    struct kymo_remote_module m = {0};
    struct kymo_address_range notes[KYMO_REMOTE_NOTES];
    struct kymo_remote_segment segment;
    if (kymo_remote_parse_headers(data, size, 0x7f0000000000, &m, notes, &segment) &&
        m.eh_frame_hdr && (m.eh_frame_hdr < segment.lo || m.eh_frame_hdr >= segment.hi))
        abort();
    kymo_remote_parse_note(data, size, &m);
    if (m.build_id_len > sizeof m.build_id)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kymo_remote_call call;
    struct kymo_proc_mapping mapping;
    if (size == 0)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] == 'c')
        (void)kymo_remote_parse_call(text, &call);
    else if (data[0] == 'm')
        (void)kymo_proc_mapping_parse(text, &mapping);
    else
        headers((const uint8_t *)text, size - 1);
    free(text);
    return 0;
}
