/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_name.c - see image_name.h.
 *
 * The recorder is told only what /proc would say, too. That is not known of a script (the path is
 * the script's, and its interpreter runs), of a path that depends on the folder or on a descriptor,
 * and where ld.so was run as the program, which changes what the kernel said.
 */
#include "start/image_name.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "sys/auxv_hash.h"

/* The kernel puts a script's path behind its interpreter, and the interpreter's one argument;
 * twice, where the interpreter is a script. */
enum { SCRIPT_AT_MOST = 4 };

/* The vector behind the environment. 0: there is none; variables were taken out before us. */
static uint64_t hash_behind(char **env)
{
    while (*env)
        env++;
    const uint64_t *words = (const uint64_t *)(const void *)(env + 1);
    size_t n = 0;
    int has_random = 0;
    while (words[n] != AT_NULL) {
        if (words[n] > UINT16_MAX || n == 2 * (KYMO_AUXV_MAX - 1))
            return 0;
        has_random |= words[n] == AT_RANDOM && words[n + 1] == getauxval(AT_RANDOM);
        n += 2;
    }
    return has_random ? kymo_auxv_hash(words, n + 2) : 0;
}

/* Adds the text with its NUL; 0: it does not fit. */
static int add(struct kymo_attach_name *name, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (bytes > sizeof name->text - name->text_bytes)
        return 0;
    memcpy(name->text + name->text_bytes, text, bytes);
    name->text_bytes += (uint32_t)bytes;
    return 1;
}

int kymo_image_name(char **argv, char **env, struct kymo_attach_name *name)
{
    static const char by_descriptor[] = "/dev/fd/";
    const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    struct stat st;
    name->text_bytes = 0;
    if (!path || path[0] != '/' || !getauxval(AT_BASE) ||
        strncmp(path, by_descriptor, sizeof by_descriptor - 1) == 0 || !add(name, path))
        return 0;
    for (int i = 0; argv[i]; i++)
        if (!add(name, argv[i]) || (i > 0 && i <= SCRIPT_AT_MOST && strcmp(argv[i], path) == 0))
            return 0;
    if (stat(path, &st) != 0)
        return 0;
    name->device = st.st_dev;
    name->inode = st.st_ino;
    name->auxv = hash_behind(env);
    return name->auxv != 0;
}
