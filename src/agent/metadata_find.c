/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metadata_find.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/reporter_remote.h"
#include "base/log.h"
#include "base/str.h"
#include "sys/proc_file.h"
#include "sys/write_all.h"

#define NAMESPACE_FILE "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

/* ---- container ---- */

static size_t hex_digits(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

/* Exactly 64 digits, and behind `mark` when it is not NULL. */
static int find_id(const char *text, const char *mark, char out[KYMO_CONTAINER_ID_MAX])
{
    for (const char *at = text; (at = strpbrk(at, "/-")) != NULL; at++) {
        if (hex_digits(at + 1) != 64)
            continue;
        const size_t mark_len = mark ? strlen(mark) : 0;
        if (mark &&
            ((size_t)(at + 1 - text) < mark_len || memcmp(at + 1 - mark_len, mark, mark_len) != 0))
            continue;
        memcpy(out, at + 1, 64);
        out[64] = '\0';
        return 1;
    }
    return 0;
}

int kymo_metadata_container_id(const char *cgroup, const char *mountinfo,
                               char out[KYMO_CONTAINER_ID_MAX])
{
    /* Other mounts have digests in their paths, too: those of image layers. */
    return find_id(cgroup, NULL, out) || find_id(mountinfo, "/containers/", out);
}

static void find_container(struct kymo_metadata *m)
{
    static char cgroup[8192];
    static char mountinfo[65536];
    char id[KYMO_CONTAINER_ID_MAX];
    kymo_proc_file_read(cgroup, sizeof cgroup, "/proc/self/cgroup");
    kymo_proc_file_read(mountinfo, sizeof mountinfo, "/proc/self/mountinfo");
    if (kymo_metadata_container_id(cgroup, mountinfo, id))
        kymo_metadata_offer(m, "container.id", id);
}

/* ---- environment ---- */

static void offer_environment(struct kymo_metadata *m, const char *name, const char *variable)
{
    const char *value = getenv(variable);
    if (value)
        kymo_metadata_offer(m, name, value);
}

/* The names by which the downward API's fields are usually given to a container. */
static void find_kubernetes(struct kymo_metadata *m)
{
    static const char *const names[][2] = {
        {"k8s.pod.name", "POD_NAME"},
        {"k8s.pod.name", "K8S_POD_NAME"},
        {"k8s.pod.uid", "POD_UID"},
        {"k8s.pod.uid", "K8S_POD_UID"},
        {"k8s.pod.ip", "POD_IP"},
        {"k8s.namespace.name", "POD_NAMESPACE"},
        {"k8s.namespace.name", "K8S_NAMESPACE_NAME"},
        {"k8s.node.name", "NODE_NAME"},
        {"k8s.node.name", "K8S_NODE_NAME"},
        {"k8s.container.name", "CONTAINER_NAME"},
    };
    char space[256];
    size_t len = kymo_proc_file_read(space, sizeof space, NAMESPACE_FILE);
    space[strcspn(space, " \r\n")] = '\0';
    if (len > 0)
        kymo_metadata_offer(m, "k8s.namespace.name", space);
    /* In a pod the host's name is the pod's, unless it has the node's network. */
    if (getenv("KUBERNETES_SERVICE_HOST"))
        offer_environment(m, "k8s.pod.name", "HOSTNAME");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        offer_environment(m, names[i][0], names[i][1]);
}

static void find_opentelemetry(struct kymo_metadata *m)
{
    const char *attributes = getenv("OTEL_RESOURCE_ATTRIBUTES");
    if (attributes)
        kymo_metadata_offer_list(m, attributes);
    offer_environment(m, "service.name", "OTEL_SERVICE_NAME");
}

/* ---- the worker ---- */

static kymo_err write_at_start(int fd, const struct kymo_metadata *m)
{
    ssize_t n = pwrite(fd, m, sizeof *m, 0);
    return n == (ssize_t)sizeof *m ? KYMO_OK : KYMO_E_IO;
}

kymo_err kymo_metadata_find(void *context, struct kymo_worker_result *result)
{
    static struct kymo_metadata found;
    static struct kymo_metadata early;
    const int fd = *(const int *)context;
    find_container(&found);
    find_kubernetes(&found);
    early = found;
    find_opentelemetry(&early);
    KYMO_TRY(write_at_start(fd, &early));
    const struct kymo_reporter_module *module;
    KYMO_TRY(kymo_reporter_module_load(&module, &result->error));
    kymo_err err = module->find_cloud(&found, &result->error);
    find_opentelemetry(&found);
    KYMO_TRY(write_at_start(fd, &found));
    return err;
}

kymo_err kymo_metadata_take(int fd, struct kymo_metadata *metadata)
{
    static struct kymo_metadata taken;
    if (kymo_read_all(fd, &taken, sizeof taken, 0) != sizeof taken ||
        !kymo_metadata_is_valid(&taken))
        return KYMO_E_CORRUPT;
    *metadata = taken;
    return KYMO_OK;
}
