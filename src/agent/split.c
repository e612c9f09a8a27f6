/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/split.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "select/select.h"

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static kymo_err send_part(int socket, const struct kymo_split_part *part, int fd,
                          kymo_error *detail)
{
    union control control = {.header = {.cmsg_len = CMSG_LEN(sizeof fd),
                                        .cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS}};
    struct kymo_split_part copy = *part;
    struct iovec iov = {&copy, sizeof copy};
    const struct msghdr message = {.msg_iov = &iov,
                                   .msg_iovlen = 1,
                                   .msg_control = control.bytes,
                                   .msg_controllen = sizeof control.bytes};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    /* Waits for the agent, which takes them in each round. */
    if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
        return kymo_error_set_errno(detail, "handing on the profile of a process");
    return KYMO_OK;
}

int kymo_split_take(int socket, struct kymo_split_part *part, int *fd)
{
    union control control;
    struct iovec iov = {part, sizeof *part};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    if (recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *part)
        return 0;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    /* Without one this agent has no descriptor left. */
    if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof *fd))
        return 0;
    memcpy(fd, CMSG_DATA(c), sizeof *fd);
    part->name[sizeof part->name - 1] = '\0';
    return 1;
}

static int has_rows(const kymo_profile *profile)
{
    return kymo_profile_sample_count(profile) > 0 ||
           kymo_profile_count(profile, KYMO_TABLE_MARKERS) > 0 ||
           kymo_profile_count(profile, KYMO_TABLE_ALLOCATIONS) > 0;
}

/* The part of one process; *part is NULL if there is nothing to be sent of it. */
static kymo_err select_process(const kymo_profile *profile, int32_t pid, int even_empty,
                               kymo_profile **part, kymo_error *detail)
{
    char number[16];
    kymo_selection selection = KYMO_SELECTION_ALL;
    kymo_error why = {0};
    snprintf(number, sizeof number, "%d", (int)pid);
    selection.processes[0] = number;
    selection.process_count = 1;
    selection.may_be_empty = even_empty;
    *part = NULL;
    kymo_err err = kymo_select(profile, &selection, NULL, part, &why);
    if (err == KYMO_E_NOT_FOUND)
        return KYMO_OK;
    if (err != KYMO_OK && detail)
        *detail = why;
    if (err == KYMO_OK && !even_empty && !has_rows(*part)) {
        kymo_profile_destroy(*part);
        *part = NULL;
    }
    return err;
}

static kymo_err encode_process(const struct kymo_interval_work *work, const kymo_profile *part,
                               const kymo_process *p, kymo_split_encode *encode, kymo_error *detail)
{
    struct kymo_interval_work own = *work;
    kymo_err err = KYMO_OK;
    size_t n = 0;
    for (; err == KYMO_OK && n < own.n_files; n++) {
        own.files[n].fd = work->open_file(work->context, detail);
        err = own.files[n].fd < 0 ? KYMO_E_IO : KYMO_OK;
    }
    if (err == KYMO_OK)
        err = encode(&own, part, detail);
    for (uint32_t i = 0; i < n; i++) {
        struct kymo_split_part message = {.file = i, .pid = p->pid};
        snprintf(message.name, sizeof message.name, "%s", p->name ? p->name : "process");
        if (err == KYMO_OK)
            err = send_part(work->split, &message, own.files[i].fd, detail);
        if (own.files[i].fd >= 0)
            close(own.files[i].fd);
    }
    return err;
}

/* Whether an earlier row is of the same process: one that became another program by exec. */
static int is_known(const kymo_profile *profile, uint32_t row, int32_t pid)
{
    for (uint32_t i = 0; i < row; i++)
        if (kymo_profile_process(profile, i)->pid == pid)
            return 1;
    return 0;
}

kymo_err kymo_split(const struct kymo_interval_work *work, const kymo_profile *profile,
                    kymo_split_encode *encode, kymo_error *detail)
{
    const uint32_t rows = kymo_profile_count(profile, KYMO_TABLE_PROCESSES);
    uint32_t sent = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const kymo_process *p = kymo_profile_process(profile, i);
        kymo_profile *part;
        if (is_known(profile, i, p->pid))
            continue;
        KYMO_TRY(select_process(profile, p->pid, work->is_last && i == 0, &part, detail));
        if (!part)
            continue;
        kymo_err err = ++sent > KYMO_SPLIT_PROCESSES
                           ? kymo_error_set(detail, KYMO_E_FULL, 0,
                                            "more than %u processes have a profile in it",
                                            KYMO_SPLIT_PROCESSES)
                           : encode_process(work, part, p, encode, detail);
        kymo_profile_destroy(part);
        KYMO_TRY(err);
    }
    return KYMO_OK;
}
