/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_corpus.c - gives every file of the folders and files named to a fuzz target, once.
 *
 * This is what a fuzz target is linked with when there is no libFuzzer, so that what fuzzing found
 * stays an ordinary test with every compiler. An empty corpus is a failure: it would test nothing.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) != 0) {
        perror(path);
        return -1;
    }
    /* Exactly as large as the input, so that a sanitizer sees the first byte read beyond it. */
    size_t len = (size_t)st.st_size;
    uint8_t *data = malloc(len ? len : 1);
    int ok = data && fread(data, 1, len, f) == len;
    fclose(f);
    if (ok)
        LLVMFuzzerTestOneInput(data, len);
    else
        fprintf(stderr, "%s: cannot be read\n", path);
    free(data);
    return ok ? 1 : -1;
}

static int run(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return run_file(path);
    int total = 0;
    struct dirent *entry;
    while (total >= 0 && (entry = readdir(dir))) {
        char child[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        int n = run_file(child);
        total = n < 0 ? n : total + n;
    }
    closedir(dir);
    return total;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int n = run(argv[i]);
        if (n < 0)
            return 1;
        total += n;
    }
    printf("%d inputs\n", total);
    return total > 0 ? 0 : 1;
}
