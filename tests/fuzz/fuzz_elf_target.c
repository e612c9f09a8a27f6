/* SPDX-License-Identifier: Apache-2.0 */
/* The input is an executable file. Any bytes are judged or refused, in bounded time. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/elf_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static int fd = -1;
    kymo_elf_target target;
    kymo_error detail;
    if (fd < 0)
        fd = memfd_create("target", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, len, 0) != (ssize_t)len)
        return 0;
    if (kymo_elf_target_read(fd, &target, &detail) == KYMO_OK &&
        !memchr(target.interpreter, '\0', sizeof target.interpreter))
        __builtin_trap();
    return 0;
}
