/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <stdio.h>
#include <string.h>

const char *kymo_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

kymo_err kymo_profile_copy_argv(kymo_profile *profile, const char *const *argv, uint32_t argc,
                                const char *const **copy, uint32_t *count)
{
    uint32_t kept = argc <= KYMO_ARGS_MAX ? argc : KYMO_ARGS_MAX;
    const char **list =
        kymo_arena_alloc(&profile->arena, (kept + 1) * sizeof *list, sizeof(void *));
    if (!list)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < kept; i++) {
        char more[64];
        const char *text = argv[i];
        if (i + 1 == kept && kept < argc) {
            snprintf(more, sizeof more, "... (%u more arguments)", argc - kept + 1);
            text = more;
        }
        KYMO_TRY(kymo_profile_intern(profile, text, NULL, &list[i]));
    }
    list[kept] = NULL;
    *copy = list;
    *count = kept;
    return KYMO_OK;
}

/* A process is updated each time more is known of it, usually with the same arguments. Copying
 * them each time would only grow the arena. */
static int same_argv(const kymo_process *a, const kymo_process *b)
{
    if (a->argc != b->argc)
        return 0;
    for (uint32_t i = 0; i < a->argc; i++)
        if (strcmp(a->argv[i], b->argv[i]) != 0)
            return 0;
    return 1;
}

static kymo_err make_row(kymo_profile *p, const kymo_process *in, const kymo_process *old,
                         kymo_process *row)
{
    if (in->size < sizeof *in || (in->argc > 0 && !in->argv))
        return KYMO_E_INVALID;
    *row = *in;
    row->size = sizeof *row;
    row->is_main = in->is_main != 0;
    if (row->end_ns && row->end_ns < row->start_ns)
        row->end_ns = row->start_ns;
    if (old && same_argv(old, in))
        row->argv = old->argv;
    else
        KYMO_TRY(kymo_profile_copy_argv(p, in->argv, in->argc, &row->argv, &row->argc));
    char fallback[32];
    const char *name = in->name;
    if ((!name || !*name) && row->argc > 0)
        name = kymo_path_base(row->argv[0]);
    if (!name || !*name) {
        snprintf(fallback, sizeof fallback, "pid %d", (int)in->pid);
        name = fallback;
    }
    return kymo_profile_intern(p, name, NULL, &row->name);
}

kymo_err kymo_profile_add_process(kymo_profile *profile, const kymo_process *process, uint32_t *id)
{
    kymo_process row;
    if (profile->processes.len >= KYMO_PROCESSES_MAX)
        return KYMO_E_TOO_BIG;
    for (size_t i = 0; process->is_main && i < profile->processes.len; i++)
        if (profile->processes.data[i].is_main)
            return KYMO_E_INVALID;
    KYMO_TRY(make_row(profile, process, NULL, &row));
    KYMO_TRY(kymo_vec_push(&profile->processes, row));
    profile->finished = 0;
    *id = (uint32_t)profile->processes.len - 1;
    return KYMO_OK;
}

kymo_err kymo_profile_update_process(kymo_profile *profile, uint32_t id,
                                     const kymo_process *process)
{
    kymo_process row;
    if (id >= profile->processes.len)
        return KYMO_E_INVALID;
    kymo_process *old = &profile->processes.data[id];
    if (process->pid != old->pid || (process->is_main != 0) != (old->is_main != 0))
        return KYMO_E_INVALID;
    KYMO_TRY(make_row(profile, process, old, &row));
    *old = row;
    profile->finished = 0;
    return KYMO_OK;
}
