/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metadata_find.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void a_container_is_found_by_its_id(void **state)
{
    (void)state;
    static const char *const found[][2] = {
        {"0::/docker/" ID "\n", ""},
        {"12:memory:/kubepods/besteffort/pod-x/" ID "\n1:name=systemd:/\n", ""},
        {"0::/system.slice/docker-" ID ".scope\n", ""},
        {"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n", ""},
        {"0::/\n", "1 2 0:3 /var/lib/docker/overlay2/" OTHER "/x / rw\n"
                   "9 8 0:1 /var/lib/docker/containers/" ID "/hostname /etc/hostname rw - ext4\n"},
    };
    static const char *const none[][2] = {
        {"", ""},
        {"0::/user.slice/session-1.scope\n", ""},
        {"0::/docker/" ID "0\n", ""},
        {"0::/\n", "1 2 0:3 /var/lib/docker/overlay2/" OTHER "/x / rw\n"},
    };
    char id[KYMO_CONTAINER_ID_MAX];
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        assert_true(kymo_metadata_container_id(found[i][0], found[i][1], id));
        assert_string_equal(id, ID);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(kymo_metadata_container_id(none[i][0], none[i][1], id));
}

static void what_takes_no_request_is_found_without_the_module(void **state)
{
    (void)state;
    static struct kymo_metadata m;
    struct kymo_worker_result result = {{.code = KYMO_OK}, {0}};
    int fd = memfd_create("found", MFD_CLOEXEC);
    assert_true(fd >= 0);
    setenv("POD_NAME", "pod-1", 1);
    setenv("POD_NAMESPACE", "space", 1);
    setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,k8s.pod.name=pod-2,a=b", 1);
    setenv("OTEL_SERVICE_NAME", "shop", 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    unsetenv("ECS_CONTAINER_METADATA_URI_V4");
    /* Without a library beside this test, the rest is not found. */
    assert_int_not_equal(kymo_metadata_find(&fd, &result), KYMO_OK);
    assert_int_equal(kymo_metadata_take(fd, &m), KYMO_OK);
    assert_string_equal(kymo_metadata_get(&m, "k8s.namespace.name"), "space");
    assert_string_equal(kymo_metadata_get(&m, "k8s.pod.name"), "pod-2");
    assert_string_equal(kymo_metadata_get(&m, "service.name"), "shop");
    assert_string_equal(kymo_metadata_get(&m, "a"), "b");
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_int_equal(kymo_metadata_take(fd, &m), KYMO_E_CORRUPT);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_is_found_by_its_id),
        cmocka_unit_test(what_takes_no_request_is_found_without_the_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
