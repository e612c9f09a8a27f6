/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bad_pointers.c - system calls by number with addresses that nothing is at: the kernel says
 * EFAULT, which programs use to ask whether there is something. Exit status 1 if anything else
 * comes.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failures;

static void expect(const char *what, int error, long result)
{
    int seen = result == 0 ? 0 : errno;
    if (seen != error) {
        printf("%s: error %d\n", what, seen);
        failures++;
    }
}

int main(void)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long none = 0;
    if (page == MAP_FAILED)
        return 2;
    expect("sigaction at 8", EFAULT, syscall(SYS_rt_sigaction, SIGUSR1, 8L, NULL, 8L));
    expect("sigaction in a closed page", EFAULT,
           syscall(SYS_rt_sigaction, SIGUSR1, page, NULL, 8L));
    expect("sigprocmask at 8", EFAULT, syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8L, NULL, 8L));
    expect("sigprocmask in a closed page", EFAULT,
           syscall(SYS_rt_sigprocmask, SIG_SETMASK, page, NULL, 8L));
    expect("sigprocmask", 0, syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8L));
    return failures != 0;
}
