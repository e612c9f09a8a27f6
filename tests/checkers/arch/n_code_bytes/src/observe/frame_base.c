/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
int kymo_is_prologue(const char *code)
{
    return memcmp(code, "\x48\x89\xe5", 3) == 0; /* mov %rsp,%rbp */
}
