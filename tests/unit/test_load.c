/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kymo/recording.h"
#include "recording/sample_recording.h"

static kymo_bytes file;
static char path[64];

static int write_file(void **state)
{
    (void)state;
    kymo_bytes_init(&file, 1u << 20);
    if (sample_recording_write(0, &file) != KYMO_OK)
        return -1;
    snprintf(path, sizeof path, "/tmp/kymo-load-XXXXXX");
    int fd = mkstemp(path);
    int ok = fd >= 0 && write(fd, file.data, file.len) == (ssize_t)file.len;
    close(fd);
    return ok ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    kymo_bytes_deinit(&file);
    return 0;
}

static void check_sample(const kymo_profile *profile, const kymo_recording_info *info)
{
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_PROCESSES), 2);
    assert_int_equal(kymo_profile_sample_count(profile), 25);
    assert_non_null(kymo_profile_thread_order(profile)); /* finished */
    assert_int_equal(info->size, sizeof *info);
    assert_int_equal(info->major, 1);
    assert_int_equal(info->whole, 1);
    assert_int_equal(info->clean, 1);
    assert_int_equal(info->size_bytes, file.len);
    assert_string_equal(info->damage, "");
    assert_int_equal(info->hz, 250);
    assert_string_equal(info->options, "cpu=1ms");
    assert_string_equal(info->engine_reason, "perf_event_open: permission denied");
    assert_int_equal(info->note_count, 2 + 2); /* and of markers of two names that were lost */
    assert_int_equal(info->notes[0].severity, KYMO_RECORDING_WARNING);
    assert_int_equal(info->notes[0].process, 0);
    assert_int_equal(info->image_count, 1);
    assert_int_equal(info->images[0].len, 6000);
    assert_int_equal(info->images[0].module, 3);
}

static void a_file_is_loaded(void **state)
{
    (void)state;
    kymo_profile *profile = NULL;
    kymo_recording_info info = {.size = sizeof info};
    kymo_error detail;
    assert_int_equal(kymo_recording_load(path, &profile, &info, &detail), KYMO_OK);
    check_sample(profile, &info);
    kymo_recording_info_deinit(&info);
    kymo_recording_info_deinit(&info); /* deinit'ed is empty */
    kymo_profile_destroy(profile);
    /* Who does not ask for the rest gets the profile. */
    assert_int_equal(kymo_recording_load(path, &profile, NULL, NULL), KYMO_OK);
    assert_int_equal(kymo_profile_sample_count(profile), 25);
    kymo_profile_destroy(profile);
}

static void standard_input_is_loaded(void **state)
{
    (void)state;
    kymo_profile *profile = NULL;
    kymo_recording_info info = {.size = sizeof info};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(kymo_recording_load("-", &profile, &info, NULL), KYMO_OK);
    check_sample(profile, &info);
    kymo_recording_info_deinit(&info);
    kymo_profile_destroy(profile);
    close(fd);
}

static void a_profile_outlives_its_file(void **state)
{
    (void)state;
    kymo_profile *profile = NULL;
    kymo_recording_info info = {.size = sizeof info};
    unsigned char *copy = malloc(file.len);
    memcpy(copy, file.data, file.len);
    assert_int_equal(kymo_recording_load_memory(copy, file.len, &profile, &info, NULL), KYMO_OK);
    memset(copy, 0xff, file.len);
    free(copy);
    check_sample(profile, &info);
    assert_string_equal(kymo_profile_meta(profile)->hostname, "box");
    kymo_recording_info_deinit(&info);
    kymo_profile_destroy(profile);
}

/* Each cut gives a profile whose weights are at most the whole one's, and says that it was cut. */
static void a_cut_file_gives_a_profile(void **state)
{
    (void)state;
    uint64_t samples = 0;
    size_t loaded = 0;
    for (size_t cut = 0; cut < file.len; cut += 8) {
        kymo_profile *profile = NULL;
        kymo_recording_info info = {.size = sizeof info};
        kymo_error detail = {.code = KYMO_OK};
        kymo_err err = kymo_recording_load_memory(file.data, cut, &profile, &info, &detail);
        if (err != KYMO_OK) {
            assert_int_equal(err, KYMO_E_TRUNCATED);
            assert_int_equal(detail.code, KYMO_E_TRUNCATED);
            assert_null(profile);
            assert_int_equal(samples, 0);
            continue;
        }
        loaded++;
        assert_int_equal(info.whole, 0);
        assert_int_equal(info.clean, 0);
        assert_int_equal(info.size_bytes, cut);
        assert_non_null(strstr(info.damage, "at byte"));
        assert_true(kymo_profile_sample_count(profile) >= samples);
        samples = kymo_profile_sample_count(profile);
        kymo_recording_info_deinit(&info);
        kymo_profile_destroy(profile);
    }
    assert_true(loaded > 100);
    assert_int_equal(samples, 25); /* only the end was missing at last */
}

static void what_cannot_be_loaded_says_why(void **state)
{
    (void)state;
    kymo_profile *profile = NULL;
    kymo_error detail;
    assert_int_equal(kymo_recording_load("/nonexistent.kymo", &profile, NULL, &detail),
                     KYMO_E_NOT_FOUND);
    assert_string_equal(detail.message, "/nonexistent.kymo: No such file or directory");
    assert_int_not_equal(kymo_recording_load("/tmp", &profile, NULL, &detail), KYMO_OK);
    assert_non_null(strstr(detail.message, "Is a directory"));
    assert_int_equal(kymo_recording_load("/proc/self/exe", &profile, NULL, &detail),
                     KYMO_E_CORRUPT);
    assert_string_equal(detail.message, "not a Kymo recording");
    kymo_recording_info old = {.size = 8};
    assert_int_equal(kymo_recording_load(path, &profile, &old, &detail), KYMO_E_INVALID);
    assert_null(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_loaded),
        cmocka_unit_test(standard_input_is_loaded),
        cmocka_unit_test(a_profile_outlives_its_file),
        cmocka_unit_test(a_cut_file_gives_a_profile),
        cmocka_unit_test(what_cannot_be_loaded_says_why),
    };
    return cmocka_run_group_tests(tests, write_file, remove_file);
}
