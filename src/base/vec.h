/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - growable arrays of any one element type.
 *
 * Layer:    base (cold half only)
 * Threads:  one owner at a time
 * Memory:   from realloc; freed by kymo_vec_deinit
 * Signals:  not for handlers
 *
 * Use:  KYMO_VEC(uint32_t) ids = {0};
 *       KYMO_TRY(kymo_vec_push(&ids, 7u));
 *       for (size_t i = 0; i < ids.len; i++) use(ids.data[i]);
 *       kymo_vec_deinit(&ids);
 */
#ifndef KYMO_BASE_VEC_H
#define KYMO_BASE_VEC_H

#include <stddef.h>

#include "base/error.h"

#define KYMO_VEC(type) \
    struct {           \
        type *data;    \
        size_t len;    \
        size_t cap;    \
    }

/* Makes room for `extra` more elements. */
#define kymo_vec_reserve(v, extra)                                                    \
    kymo_vec_reserve_bytes((void **)(void *)&(v)->data, &(v)->cap, (v)->len, (extra), \
                           sizeof *(v)->data)

/* Appends one element; KYMO_E_NOMEM leaves the vector as it was. */
#define kymo_vec_push(v, ...)                                                              \
    ({                                                                                     \
        kymo_err kymo_vec_err_ = (v)->len < (v)->cap ? KYMO_OK : kymo_vec_reserve((v), 1); \
        if (kymo_vec_err_ == KYMO_OK)                                                      \
            (v)->data[(v)->len++] = (__VA_ARGS__);                                         \
        kymo_vec_err_;                                                                     \
    })

/* Frees the storage; the vector is empty afterwards. */
#define kymo_vec_deinit(v)        \
    do {                          \
        kymo_vec_free((v)->data); \
        (v)->data = NULL;         \
        (v)->len = (v)->cap = 0;  \
    } while (0)

/* Frees what vectors point to (v.data, ...), which nothing uses afterwards. */
#define kymo_vec_free_all(...)                                                \
    do {                                                                      \
        void *const kymo_vec_all_[] = {__VA_ARGS__};                          \
        for (size_t i_ = 0; i_ < sizeof kymo_vec_all_ / sizeof(void *); i_++) \
            kymo_vec_free(kymo_vec_all_[i_]);                                 \
    } while (0)

/* Behind the macros. */
KYMO_NODISCARD
kymo_err kymo_vec_reserve_bytes(void **data, size_t *cap, size_t len, size_t extra,
                                size_t element_size);
void kymo_vec_free(void *data);

#endif
