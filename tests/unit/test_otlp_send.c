/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/otlp_send.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/metadata.h"
#include "base/wire.h"
#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static struct kymo_metadata metadata;
static struct kymo_agent_identity who = {
    .program = "prog\xff", .host = "box", .pid = 42, .metadata = &metadata};

static int profile_of(const void *data, size_t len, struct kymo_interval_profile *profile)
{
    *profile = (struct kymo_interval_profile){
        .fd = memfd_create("profile", MFD_CLOEXEC), .bytes = len, .who = &who};
    assert_int_equal(write(profile->fd, data, len), len);
    return profile->fd;
}

/* resource_profiles { resource { "old" } scope_profiles "x" } dictionary "yz" */
static const char file[] = "\x0a\x0a\x0a\x05\x0a\x03old\x12\x01x\x12\x02yz";

static void next(kymo_reader *r, uint64_t number, kymo_wire_field *field)
{
    assert_true(kymo_wire_next(r, field));
    assert_int_equal(field->number, number);
    assert_int_equal(field->type, KYMO_WIRE_BYTES);
}

static void assert_bytes(const kymo_reader *bytes, const char *text)
{
    assert_int_equal(bytes->end - bytes->at, strlen(text));
    assert_memory_equal(bytes->at, text, strlen(text));
}

/* An attribute; value NULL: a number. */
static void assert_attribute(kymo_reader *resource, const char *name, const char *value)
{
    kymo_wire_field attribute;
    kymo_wire_field key;
    kymo_wire_field any;
    kymo_wire_field inner;
    next(resource, 1, &attribute);
    next(&attribute.bytes, 1, &key);
    assert_bytes(&key.bytes, name);
    next(&attribute.bytes, 2, &any);
    assert_true(kymo_wire_next(&any.bytes, &inner));
    assert_int_equal(inner.number, value ? 1 : 3);
    if (value)
        assert_bytes(&inner.bytes, value);
    else
        assert_int_equal(inner.value, 42);
}

static void the_resource_is_what_the_agent_knows(void **state)
{
    (void)state;
    struct kymo_interval_profile profile;
    kymo_bytes body;
    kymo_wire_field outer;
    kymo_wire_field field;
    OK(kymo_metadata_put(&metadata, "service.name", "shop"));
    OK(kymo_metadata_put(&metadata, "k8s.pod.name", "pod-1"));
    kymo_bytes_init(&body, SIZE_MAX);
    int fd = profile_of(file, sizeof file - 1, &profile);
    OK(kymo_otlp_put_request(&body, &profile, NULL));
    close(fd);
    kymo_reader r = kymo_reader_of(body.data, body.len);
    next(&r, 1, &outer);
    next(&outer.bytes, 1, &field);
    assert_attribute(&field.bytes, "process.executable.name", "prog\xef\xbf\xbd");
    assert_attribute(&field.bytes, "host.name", "box");
    assert_attribute(&field.bytes, "os.type", "linux");
    assert_attribute(&field.bytes, "process.pid", NULL);
    assert_attribute(&field.bytes, "service.name", "shop");
    assert_attribute(&field.bytes, "k8s.pod.name", "pod-1");
    assert_ptr_equal(field.bytes.at, field.bytes.end);
    next(&outer.bytes, 2, &field);
    assert_bytes(&field.bytes, "x");
    assert_ptr_equal(outer.bytes.at, outer.bytes.end);
    next(&r, 2, &field);
    assert_bytes(&field.bytes, "yz");
    assert_ptr_equal(r.at, r.end);
    kymo_bytes_deinit(&body);
}

static void a_file_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "\x12\x02yz",
                                        "\x0a\x02\x12\x00",
                                        "\x0a\x7fx",
                                        "\x0a\x03\x0a\x05x",
                                        "\x0a\x04\x0a\x03xx",
                                        "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x0a\x01x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct kymo_interval_profile profile;
        kymo_bytes body;
        kymo_bytes_init(&body, SIZE_MAX);
        int fd = profile_of(wrong[i], strlen(wrong[i]), &profile);
        assert_int_equal(kymo_otlp_put_request(&body, &profile, NULL), KYMO_E_CORRUPT);
        close(fd);
        kymo_bytes_deinit(&body);
    }
}

static void answers_are_read_and_bounded(void **state)
{
    (void)state;
    static const char partial[] = "\x0a\x0b\x08\x02\x12\x07too old";
    static const char status[] = "\x08\x03\x12\x03no\n\x1a\x02xx";
    kymo_str text = {0};
    assert_int_equal(kymo_otlp_take_answer(partial, sizeof partial - 1, &text), 2);
    assert_string_equal(kymo_str_cstr(&text), "too old");
    text.len = 0;
    assert_int_equal(kymo_otlp_take_answer("", 0, &text), 0);
    assert_int_equal(kymo_otlp_take_answer("\x0a\x7f\x08", 3, &text), 0);
    assert_int_equal(text.len, 0);
    kymo_otlp_take_status(status, sizeof status - 1, &text);
    assert_int_equal(text.len > 0 && text.len < 8, 1);
    assert_memory_equal(text.data, "no", 2);
    assert_null(strchr(kymo_str_cstr(&text), '\n'));
    kymo_str_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_resource_is_what_the_agent_knows),
        cmocka_unit_test(a_file_that_is_none_is_refused),
        cmocka_unit_test(answers_are_read_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
