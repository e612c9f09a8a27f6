/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_names.c - names of processes in the viewer.
 *
 * The viewer shows the name of the main thread, which is the same for ten runs of gzip. So if
 * several processes have the same name, the arguments that distinguish them are appended: the
 * command without the words that all of them begin with or end with. processName has the whole
 * command.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "encode/firefox/firefox.h"

enum {
    COMMAND_MAX = 240, /* bytes of a command line */
    LABEL_MAX = 64,    /* bytes of a name with its arguments */
    WORD_MAX = 40,     /* of an argument; of a longer one the end is shown */
};

/* ---- distinguishing arguments ---- */

static int compare_names(const void *a, const void *b, void *profile)
{
    const kymo_profile *p = profile;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int order = strcmp(p->processes.data[x].name, p->processes.data[y].name);
    return order ? order : (x > y) - (x < y);
}

static uint32_t same_at_front(const kymo_process *a, const kymo_process *b, uint32_t most)
{
    uint32_t n = 1;
    while (n < most && n < a->argc && n < b->argc && strcmp(a->argv[n], b->argv[n]) == 0)
        n++;
    return n;
}

static uint32_t same_at_end(const kymo_process *a, const kymo_process *b, uint32_t most)
{
    uint32_t n = 0;
    while (n < most && n < a->argc && n < b->argc &&
           strcmp(a->argv[a->argc - 1 - n], b->argv[b->argc - 1 - n]) == 0)
        n++;
    return n;
}

/* The processes of the same name. */
static void name_group(kymo_firefox *w, const uint32_t *list, size_t count)
{
    const kymo_process *first = &w->p->processes.data[list[0]];
    uint32_t front = first->argc;
    uint32_t end = first->argc;
    uint32_t least = first->argc;
    for (size_t i = 1; i < count; i++) {
        const kymo_process *p = &w->p->processes.data[list[i]];
        front = same_at_front(first, p, front);
        end = same_at_end(first, p, end);
        least = p->argc < least ? p->argc : least;
    }
    /* a word counts only once, in front or at the end */
    if (front + end > least)
        end = least > front ? least - front : 0;
    for (size_t i = 0; count > 1 && i < count; i++) {
        uint32_t argc = w->p->processes.data[list[i]].argc;
        w->told_from[list[i]] = front ? front : 1;
        w->told_to[list[i]] = argc > end ? argc - end : 0;
    }
}

kymo_err kymo_firefox_number_names(kymo_firefox *w)
{
    size_t count = w->p->processes.len;
    uint32_t *list = malloc((count + 1) * sizeof *list);
    if (!list)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        list[i] = i;
    if (count > 1)
        qsort_r(list, count, sizeof *list, compare_names, (void *)w->p);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && strcmp(w->p->processes.data[list[i]].name,
                                                  w->p->processes.data[list[next]].name) == 0;)
            next++;
        name_group(w, list + i, next - i);
    }
    free(list);
    return KYMO_OK;
}

/* ---- text ---- */

static void put_cut(kymo_json *j, const char *key, kymo_str *text, size_t most)
{
    const char *cstr = kymo_str_cstr(text);
    int is_cut = text->len > most;
    size_t len = is_cut ? kymo_utf8_valid_prefix(cstr, most) : text->len;
    kymo_json_key(j, key);
    kymo_json_string_begin(j);
    kymo_json_string_part(j, cstr, len);
    if (is_cut)
        kymo_json_string_part(j, "...", 3);
    kymo_json_string_end(j);
    if (text->failed && j->err == KYMO_OK)
        j->err = KYMO_E_NOMEM;
    kymo_str_deinit(text);
}

void kymo_firefox_key_process_name(kymo_firefox *w, const kymo_process *process)
{
    kymo_str text = {0};
    kymo_str_puts(&text, process->name);
    for (uint32_t i = 1; i < process->argc && text.len <= COMMAND_MAX; i++)
        kymo_str_printf(&text, " %s", process->argv[i]);
    put_cut(w->json, "processName", &text, COMMAND_MAX);
}

/* The end of a long path is more useful than its begin. */
static void add_word(kymo_str *text, const char *word)
{
    size_t len = strlen(word);
    const char *from = len > WORD_MAX ? word + len - (WORD_MAX - 3) : word;
    while ((*from & 0xc0) == 0x80)
        from++;
    kymo_str_printf(text, " %s%s", from > word ? "..." : "", from);
}

void kymo_firefox_key_main_name(kymo_firefox *w, uint32_t process, const char *thread_name)
{
    const kymo_process *p = &w->p->processes.data[process];
    kymo_str text = {0};
    size_t len = strlen(thread_name);
    kymo_str_puts(&text, thread_name);
    /* a name set by the program is better than the kernel's, which is cut */
    if (len > 0 && strncmp(p->name, thread_name, len) == 0)
        for (uint32_t i = w->told_from[process]; i < w->told_to[process] && text.len <= LABEL_MAX;
             i++)
            add_word(&text, p->argv[i]);
    put_cut(w->json, "name", &text, LABEL_MAX);
}
