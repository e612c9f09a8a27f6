/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/family.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "arch/system.h"
#include "capture/connect.h"
#include "sys/raw.h"

struct kymo_family kymo_family;

int kymo_file_identify(const char *path, struct kymo_file_id *id)
{
    struct stat st;
    if (kymo_syscall4(SYS_newfstatat, AT_FDCWD, (long)(intptr_t)path, (long)(intptr_t)&st, 0) != 0)
        return 0;
    *id = (struct kymo_file_id){st.st_dev, st.st_ino};
    return 1;
}

/* /proc is asked only after twice the time between two beats: each program that starts would wait
 * for an answer that does not come. */
int kymo_family_is_stopped(const struct kymo_session *header)
{
    enum { PART = 128 }; /* of 5 s */
    if (kymo_load_relaxed(&header->stopped) || kymo_load_relaxed(&header->quiet))
        return 0;
    uint64_t silence = kymo_clock_now((enum kymo_clock_kind)header->clock_kind) -
                       kymo_load_acquire(&header->heartbeat);
    return silence > header->heartbeat_limit / PART && silence < UINT64_MAX / 2 &&
           kymo_recorder_is_stopped(kymo_recorder_pid(kymo_family.attach_name));
}

void kymo_family_init(const char *attach_name, const char *library, size_t len)
{
    struct kymo_family *f = &kymo_family;
    if (len == 0 || len >= sizeof f->library || library[0] != '/' ||
        strlen(attach_name) >= sizeof f->attach_name)
        return;
    memcpy(f->attach_name, attach_name, strlen(attach_name) + 1);
    memcpy(f->library, library, len);
    f->library[len] = '\0';
    if (!kymo_file_identify(f->library, &f->library_file) ||
        !kymo_file_identify(KYMO_ARCH_LOADER, &f->loader_file))
        f->library[0] = '\0';
}

void kymo_family_name(const char *attach_name)
{
    struct kymo_family *f = &kymo_family;
    f->library[0] = '\0';
    if (strlen(attach_name) < sizeof f->attach_name)
        memcpy(f->attach_name, attach_name, strlen(attach_name) + 1);
}

void kymo_family_join(struct kymo_session *session)
{
    kymo_family.network_cookie = session->network_cookie;
    kymo_family.network = (struct kymo_file_id){session->network_device, session->network_inode};
    /* Pairs with the acquire of what looks at it: the above is in place. */
    kymo_store_release(&kymo_family.header, session);
}
