/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_walk.h - the frames that CPython keeps for a thread.
 *
 * Layer:    unwind; above base
 * Flow:     capture/python_stack.c, observe/remote_python.c -> [walk] -> runs of Python frames, one
 *           for each call of the evaluator on the native stack
 * Threads:  each walks its own; the interpreter's description does not change
 * Memory:   the caller's; nothing of the interpreter is kept, no reference is counted
 * Signals:  safe
 *
 * The interrupted thread may be anywhere in the interpreter, also between two stores that belong
 * together. So each pointer is checked before it is followed: it is aligned, its page can be read,
 * a code object's type is that of code objects, a run ends where a run may end. What fails a check
 * gives fewer frames and says so; it never gives wrong ones.
 *
 * From 3.11 on each call of the evaluator keeps a structure in its native frame, and the chain of
 * Python frames holds its address: the native frame that spans this address runs these frames. Up
 * to 3.10 one Python frame is one call of the evaluator, and they are counted from the outermost.
 */
#ifndef KYMO_UNWIND_PYTHON_WALK_H
#define KYMO_UNWIND_PYTHON_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "unwind/stack_window.h"

/* Where things are in the structures of one minor version, in bytes. */
struct kymo_python_offsets {
    uint16_t key;                    /* _PyRuntime: autoTSSkey */
    uint16_t thread_id;              /* PyThreadState */
    uint16_t frame;                  /* PyThreadState: frame, cframe or current_frame */
    uint16_t current, outer;         /* _PyCFrame: current_frame, previous */
    uint16_t code, back, at, owner;  /* a frame: its code, its caller, instruction, owner */
    uint16_t first_line, file, name; /* PyCodeObject: co_firstlineno, co_filename, co_qualname */
    uint16_t lines, instructions;    /* PyCodeObject: the line table; its bytecode begins */
    uint16_t text;                   /* PyASCIIObject: its characters */
    uint16_t locals;                 /* a frame: its first local variable */
    uint16_t task_name;              /* asyncio's Task in C: its name */
    uint16_t chunk; /* PyThreadState: its present chunk of frames, where the next one will be in it,
                     * and its end; 0: frames are objects */
};

/* Where the lists of interpreters and of their threads' states are. In a state, the next one is 8
 * bytes behind its begin. */
struct kymo_python_lists {
    uint16_t
        interpreters; /* _PyRuntime: the first one, and behind it the main one, which is last */
    uint16_t next;    /* an interpreter: the next one */
    uint16_t threads; /* an interpreter: its first thread's state */
};

#define KYMO_PYTHON_HANDLES 8u

/* CPython in this process. */
struct kymo_python {
    uint32_t minor;        /* of version 3 */
    uint64_t runtime;      /* _PyRuntime */
    uint64_t code_type;    /* PyCode_Type */
    uint64_t eval_lo;      /* _PyEval_EvalFrameDefault ... */
    uint64_t eval_hi;      /* ... and its end */
    uint64_t lo, hi;       /* the module that it is in, as mapped */
    uint64_t cold_lo;      /* learnt: where a compiler has put part of the evaluator ... */
    uint64_t cold_hi;      /* ... and its end; 0: not known. 3.11 and later */
    uint64_t cframe_below; /* learnt: how far below the end of the evaluator's native frame its
                            * _PyCFrame lies; 0: not known yet. 3.11 and 3.12 */
    /* Learnt: the code of asyncio's Handle._run, of each interpreter that has loaded it; the newest
     * ones. 0: none yet. handles: how many were learnt. */
    uint64_t handle_codes[KYMO_PYTHON_HANDLES];
    uint32_t handles;
    struct kymo_python_offsets offsets;
    struct kymo_python_lists lists;
};

/* The offsets of a minor version of CPython 3; false: not known. runtime: the bytes of
 * _PyRuntime, which has a table of its own from 3.13 on. */
bool kymo_python_offsets_of(uint32_t minor, const void *runtime, struct kymo_python_offsets *out);

/* Whether it says of itself that it is a build without the GIL, whose objects begin differently. */
bool kymo_python_is_free_threaded(uint32_t minor, const void *runtime);

/* The same for the lists. */
bool kymo_python_lists_of(uint32_t minor, const void *runtime, struct kymo_python_lists *out);

#define KYMO_PYTHON_FRAMES_MAX 512u
#define KYMO_PYTHON_PAGES 64u
#define KYMO_PYTHON_PAGE 4096u

/* How another process is read: by whole pages, which are copied here. */
struct kymo_python_outside {
    bool (*read_page)(void *context, uint64_t address, void *to); /* false: it cannot be read */
    void *context;
    unsigned char (*copies)[KYMO_PYTHON_PAGE]; /* KYMO_PYTHON_PAGES of them */
};

/* Pages that were found readable in this sample. */
struct kymo_python_pages {
    uint64_t page[KYMO_PYTHON_PAGES];
    /* The thread's present chunk of frames, which stays while it is interrupted: it is not looked
     * at. Of this process alone. */
    uint64_t own, own_bytes;
    const struct kymo_python_outside *outside; /* NULL: memory of this process */
};

/* Reads memory that may be gone: of a page that is not known to be readable, or from outside. */
KYMO_SIGNAL_SAFE bool kymo_python_load_anew(struct kymo_python_pages *pages, uint64_t address,
                                            uint64_t *value);

/* In libkymo-preload.so there is no other process to read, and no code for it. */
#ifdef KYMO_HOT
#define KYMO_PYTHON_OUTSIDE(pages) ((void)(pages), (const struct kymo_python_outside *)NULL)
#else
#define KYMO_PYTHON_OUTSIDE(pages) ((pages)->outside)
#endif

KYMO_SIGNAL_SAFE static inline bool kymo_python_is_known(const struct kymo_python_pages *pages,
                                                         uint64_t address)
{
    uint64_t page = address / KYMO_PYTHON_PAGE;
    return (page != 0 && pages->page[page % KYMO_PYTHON_PAGES] == page) ||
           address - pages->own < pages->own_bytes;
}

/* Reads memory that may be gone; false: it cannot be read. Some ten of these make a frame. */
KYMO_SIGNAL_SAFE static inline bool kymo_python_load(struct kymo_python_pages *pages,
                                                     uint64_t address, uint64_t *value)
{
    if (kymo_unlikely(KYMO_PYTHON_OUTSIDE(pages) != NULL || address % sizeof *value ||
                      !kymo_python_is_known(pages, address)))
        return kymo_python_load_anew(pages, address, value);
    *value = kymo_window_read(address);
    return true;
}

KYMO_SIGNAL_SAFE bool kymo_python_copy(struct kymo_python_pages *pages, uint64_t from, void *to,
                                       uint64_t bytes);

struct kymo_python_frame {
    uint64_t code;    /* PyCodeObject */
    uint64_t address; /* of the frame */
    uint32_t at;      /* bytes from the begin of its instructions */
};

struct kymo_python_run {
    uint64_t mark; /* an address within the evaluator's native frame; 0: not known, as up to 3.10 */
    uint16_t first, count;
};

enum kymo_python_fault {
    KYMO_PYTHON_BAD_FRAME = 1u << 0,
    KYMO_PYTHON_BAD_CODE = 1u << 1,
    KYMO_PYTHON_BAD_CFRAME = 1u << 2,
    KYMO_PYTHON_CUT = 1u << 3,        /* there were more frames than fit */
    KYMO_PYTHON_BAD_STATES = 1u << 4, /* in which interpreters the thread runs is not known */
};

struct kymo_python_stack {
    uint64_t cframe; /* where the walk began; 3.11 and 3.12 */
    uint32_t frames, runs;
    uint32_t states; /* of the thread that have runs: more than 1 with sub-interpreters */
    uint32_t faults; /* enum kymo_python_fault */
    struct kymo_python_frame frame[KYMO_PYTHON_FRAMES_MAX]; /* innermost first */
    struct kymo_python_run run[KYMO_PYTHON_FRAMES_MAX];     /* likewise */
};

/* The state of the calling thread; 0: it has none, or it is not what it should be. */
KYMO_SIGNAL_SAFE uint64_t kymo_python_thread_state(const struct kymo_python *python,
                                                   struct kymo_python_pages *pages);

/* Walks the frames of a thread's state. cframe: where to begin (3.11 and 3.12); 0: at the
 * innermost. */
KYMO_SIGNAL_SAFE void kymo_python_walk(const struct kymo_python *python, uint64_t state,
                                       uint64_t cframe, struct kymo_python_pages *pages,
                                       struct kymo_python_stack *out);

/* The same of all the thread's states, of which one is given: a thread that runs code in a
 * sub-interpreter has one in each. The runs come as their evaluators do, innermost first. */
KYMO_SIGNAL_SAFE void kymo_python_walk_thread(const struct kymo_python *python, uint64_t state,
                                              struct kymo_python_pages *pages,
                                              struct kymo_python_stack *out);

#endif
