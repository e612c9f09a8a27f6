/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/wall_find.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "observe/task.h"

/* Of stacks that are kept: some 100 MiB with their index. A program that waits at ever new depths
 * of a recursion would fill the memory; so at a limit all are forgotten, and told anew when they
 * come again. */
#define PCS_MAX (8u << 20)
#define STACKS_MAX (1u << 20)
#define IDS_MAX (KYMO_EVENT_NONE - KYMO_WALL_FIRST)

/* ---- what threads wait in ---- */

/* Made when the build is configured, from <sys/syscall.h>: KYMO_CALL(name) for each. */
static const char *const call_names[] = {
#define KYMO_CALL(name) [SYS_##name] = #name,
#include <kymo_syscall_names.inc>
#undef KYMO_CALL
};

#define STOPPED KYMO_ARRAY_LEN(call_names)

struct kymo_wait_names {
    const kymo_event_handler *events;
    void *context;
    uint8_t told[KYMO_ARRAY_LEN(call_names) + 1];
};

kymo_err kymo_wait_names_create(const kymo_event_handler *events, void *context,
                                kymo_wait_names **out)
{
    kymo_wait_names *names = calloc(1, sizeof *names);
    if (!names)
        return KYMO_E_NOMEM;
    names->events = events;
    names->context = context;
    *out = names;
    return KYMO_OK;
}

void kymo_wait_names_destroy(kymo_wait_names *names)
{
    free(names);
}

kymo_err kymo_wait_names_get(kymo_wait_names *names, int call, uint32_t *wait)
{
    size_t at = call == KYMO_WAIT_STOPPED ? STOPPED : (size_t)call;
    *wait = 0;
    if (call == KYMO_WAIT_NONE || at > STOPPED || (at < STOPPED && !call_names[at]))
        return KYMO_OK;
    *wait = (uint32_t)at + 1;
    if (names->told[at])
        return KYMO_OK;
    names->told[at] = 1;
    kymo_event_wait e = {*wait, at == STOPPED ? "stopped" : call_names[at]};
    return names->events->wait(names->context, &e);
}

/* ---- modules ---- */

static kymo_err announce_module(struct kymo_wall_stacks *s, struct kymo_remote_module *m)
{
    m->number = s->next_module++;
    kymo_event_module e = {
        .module = KYMO_WALL_FIRST + m->number,
        .process = s->process,
        .start = m->text_start,
        .end = m->text_end,
        .load_bias = m->bias,
        .file_offset = m->text_offset,
        .path = m->path,
        .build_id = m->build_id,
        .build_id_len = m->build_id_len,
        .is_main = (uint32_t)kymo_remote_is_program(s->remote, m),
    };
    KYMO_TRY(s->events->module(s->context, &e));
    if (strcmp(m->path, "[vdso]") != 0)
        return KYMO_OK;
    /* It is the same in every process of this kernel, so ours will do. */
    uint32_t len;
    const void *image = kymo_task_vdso(&len);
    if (!image)
        return KYMO_OK;
    kymo_event_module_image bytes = {e.module, s->process, image, len};
    return s->events->module_image(s->context, &bytes);
}

/* ---- stacks ---- */

static kymo_err announce_stack(struct kymo_wall_stacks *s, const struct kymo_wall_stack *stack,
                               const struct kymo_walk_result *walk)
{
    const uint64_t *pcs = s->pcs.data + stack->first;
    s->frames.len = 0;
    KYMO_TRY(kymo_vec_reserve(&s->frames, stack->n));
    for (uint32_t i = 0; i < stack->n; i++) {
        if (s->python && pcs[i] & KYMO_PC_PYTHON) {
            s->frames.data[s->frames.len++] = kymo_remote_python_frame(s->python, pcs[i]);
            continue;
        }
        uint64_t pc = s->python ? pcs[i] & ~KYMO_PC_EXACT : pcs[i];
        int is_return = i > 0 && pc == pcs[i];
        for (uint32_t k = 0; k < walk->exact_count; k++)
            is_return &= walk->exact[k] != i;
        struct kymo_remote_module *m = kymo_remote_module_at(s->remote, pc - (uint64_t)is_return);
        if (m && m->number == UINT32_MAX)
            KYMO_TRY(announce_module(s, m));
        if (!m)
            KYMO_TRY(kymo_jit_code_hit(s->jit, pc - (uint64_t)is_return));
        /* What calls the evaluator is the interpreter, or code that it made (-X perf). */
        int is_caller =
            s->frames.len > 0 && s->frames.data[s->frames.len - 1].flags & KYMO_EVENT_FRAME_SCRIPT;
        int is_interpreter =
            s->python && (kymo_remote_python_has(s->python, pc) || (!m && is_caller));
        s->frames.data[s->frames.len++] = (kymo_event_frame){
            .address = m ? pc - m->bias : pc,
            .module = m ? KYMO_WALL_FIRST + m->number : KYMO_EVENT_NONE,
            .flags = (is_return ? KYMO_EVENT_FRAME_RETURN : 0) |
                     (is_interpreter ? KYMO_EVENT_FRAME_INTERPRETER : 0),
        };
    }
    kymo_event_stack e = {
        .process = s->process,
        .stack = stack->id,
        .flags = (walk->end == KYMO_WALK_COMPLETE ? KYMO_EVENT_STACK_COMPLETE : 0) |
                 (walk->end == KYMO_WALK_DEPTH ? KYMO_EVENT_STACK_TRUNCATED : 0) |
                 (walk->notes & KYMO_WALK_BY_FRAME_POINTER ? KYMO_EVENT_STACK_FRAME_POINTER : 0),
        .end = walk->end,
        .depth = stack->n,
        .frames = s->frames.data,
    };
    return s->events->stack(s->context, &e);
}

kymo_err kymo_wall_stacks_get(struct kymo_wall_stacks *s, const uint64_t *pcs, size_t n,
                              const struct kymo_walk_result *walk, uint32_t *id)
{
    uint64_t generation = kymo_remote_generation(s->remote);
    uint64_t hash = kymo_hash_words(pcs, n, generation << 8 | (uint64_t)walk->end);
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&s->index, hash, &probe, &at)) {
        const struct kymo_wall_stack *k = &s->stacks.data[at];
        if (k->n == n && k->flags == (uint32_t)walk->end && k->generation == generation &&
            memcmp(s->pcs.data + k->first, pcs, n * sizeof *pcs) == 0) {
            *id = k->id;
            return KYMO_OK;
        }
    }
    if (s->next_stack == IDS_MAX) {
        *id = KYMO_EVENT_NONE;
        return KYMO_OK;
    }
    if (s->pcs.len + n > (s->pcs_most ? s->pcs_most : PCS_MAX) || s->stacks.len == STACKS_MAX) {
        kymo_index_deinit(&s->index);
        s->stacks.len = s->pcs.len = 0;
    }
    at = (uint32_t)s->stacks.len;
    struct kymo_wall_stack stack = {
        .id = KYMO_WALL_FIRST + s->next_stack++,
        .first = (uint32_t)s->pcs.len,
        .n = (uint32_t)n,
        .flags = (uint32_t)walk->end,
        .generation = generation,
    };
    KYMO_TRY(kymo_vec_reserve(&s->pcs, n));
    memcpy(s->pcs.data + s->pcs.len, pcs, n * sizeof *pcs);
    s->pcs.len += n;
    KYMO_TRY(kymo_vec_push(&s->stacks, stack));
    KYMO_TRY(kymo_index_put(&s->index, hash, at));
    *id = stack.id;
    return announce_stack(s, &stack, walk);
}

kymo_err kymo_wall_stacks_use(const struct kymo_wall_stacks *s, kymo_key_map *used)
{
    for (size_t i = 0; i < s->stacks.len; i++)
        KYMO_TRY(kymo_key_map_add(used, s->stacks.data[i].id));
    return KYMO_OK;
}

void kymo_wall_stacks_deinit(struct kymo_wall_stacks *s)
{
    kymo_remote_destroy(s->remote);
    kymo_remote_python_destroy(s->python);
    kymo_vec_deinit(&s->stacks);
    kymo_vec_deinit(&s->pcs);
    kymo_vec_deinit(&s->frames);
    kymo_index_deinit(&s->index);
}
