/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_payload.c - checks payloads of markers once for all later stages.
 */
#include <string.h>

#include "recording/recording_decode_event.h"

void kymo_decoder_marks_deinit(struct kymo_decoder_marks *m)
{
    kymo_id_map_deinit(&m->categories);
    kymo_id_map_deinit(&m->types);
    kymo_id_map_deinit(&m->sites);
    kymo_id_map_deinit(&m->literals);
    kymo_id_map_deinit(&m->tracks);
    kymo_id_map_deinit(&m->counters);
    kymo_vec_free_all(m->places.data, m->images.data, m->carried.data, m->fields.data, m->rows.data,
                      m->graphs.data, m->payload.data);
}

kymo_err kymo_decoder_add_image(struct kymo_decoder_marks *m, const kymo_event_marker_type *e,
                                int *fits)
{
    struct kymo_mark_layout layout = KYMO_MARK_LAYOUT_BEGIN;
    struct kymo_payload_image image = {.bytes = e->payload_bytes, .first = (uint32_t)m->places.len};
    for (uint32_t i = 0; i < e->field_count; i++)
        KYMO_TRY(kymo_payload_add_field(&m->places, &image, &layout, e->fields[i].kind));
    *fits = layout.at <= e->payload_bytes && e->payload_bytes <= KYMO_FILE_PAYLOAD_MAX;
    if (*fits)
        return kymo_vec_push(&m->images, image);
    m->places.len = image.first;
    return KYMO_OK;
}

struct literals {
    kymo_id_map *map;
    uint32_t process;
};

static kymo_err find_literal(void *context, uint32_t *number, int *is_known)
{
    const struct literals *l = context;
    *is_known = kymo_id_map_find(l->map, l->process, *number, number);
    return KYMO_OK;
}

kymo_err kymo_decoder_take_payload(kymo_decoder *d, uint32_t process, uint32_t site,
                                   kymo_event_marker *e, int *fits)
{
    struct kymo_decoder_marks *m = &d->marks;
    const struct kymo_decoder_site *carried = &m->carried.data[site];
    struct literals literals = {&m->literals, process};
    struct kymo_payload_image image;
    if (e->payload_bytes == 0 || e->payload_bytes > KYMO_FILE_PAYLOAD_MAX) {
        *fits = e->payload_bytes == 0 && e->cells == 0;
        return KYMO_OK;
    }
    *fits = kymo_payload_image_of(
        carried->kind, carried->type == KYMO_EVENT_NONE ? NULL : &m->images.data[carried->type],
        e->cells, &image);
    if (!*fits)
        return KYMO_OK;
    m->payload.len = 0;
    KYMO_TRY(kymo_vec_reserve(&m->payload, e->payload_bytes / sizeof(uint64_t) + 1));
    memcpy(m->payload.data, e->payload, e->payload_bytes);
    struct kymo_payload p = {
        .bytes = (unsigned char *)m->payload.data,
        .len = e->payload_bytes,
        .places = &m->places,
        .context = &literals,
        .literal = find_literal,
    };
    e->payload = p.bytes;
    KYMO_TRY(kymo_payload_check(&p, &image, fits));
    d->damage.values += p.values;
    d->damage.references += p.references;
    return KYMO_OK;
}
