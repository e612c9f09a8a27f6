/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_waits_native.c - a library in which a thread of Python waits, with a frame whose size
 * varies: from outside its stack is not walked without a register that only the thread has.
 */
#include <alloca.h>
#include <stddef.h>
#include <unistd.h>

__attribute__((visibility("default"))) long read_with_variable_frame(int fd, size_t size);

long read_with_variable_frame(int fd, size_t size)
{
    volatile char *bytes = alloca(size);
    bytes[0] = 0;
    long n = read(fd, (void *)bytes, 1);
    bytes[size - 1] = 1;
    return n + bytes[0];
}
