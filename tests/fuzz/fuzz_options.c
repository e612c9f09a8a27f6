/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a list of options. Any text is accepted or refused with a message; what is accepted
 * is printed as a list that means the same; what is refused changes nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "options/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char *list = malloc(len + 1);
    if (!list)
        return 0;
    memcpy(list, data, len);
    list[len] = '\0';

    kymo_options first;
    kymo_options before;
    kymo_error detail;
    kymo_options_init(&first);
    before = first;
    memset(&detail, 'x', sizeof detail);
    if (kymo_options_parse(&first, list, &detail) != KYMO_OK) {
        check(memchr(detail.message, '\0', sizeof detail.message) != NULL);
        check(detail.position <= len);
        check(memcmp(&first, &before, sizeof first) == 0);
    } else {
        char text[KYMO_OPTIONS_FORMAT_MAX];
        kymo_options again;
        kymo_options_init(&again);
        check(kymo_options_format(&first, text, sizeof text) < sizeof text);
        check(kymo_options_parse(&again, text, NULL) == KYMO_OK);
        check(memcmp(&first, &again, sizeof first) == 0);
    }
    free(list);
    return 0;
}
