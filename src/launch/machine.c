/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "arch/cpu.h"

static void copy_text(char *out, size_t cap, const char *text)
{
    size_t len = strcspn(text, "\n");
    if (len > cap - 1)
        len = cap - 1;
    memcpy(out, text, len);
    out[len] = '\0';
}

static void read_os(struct kymo_machine *m)
{
    char line[256];
    FILE *f = fopen("/etc/os-release", "re");
    if (!f)
        return;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "PRETTY_NAME=", 12) != 0)
            continue;
        char *value = line + 12;
        value[strcspn(value, "\n")] = '\0';
        size_t len = strlen(value);
        if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
            value[len - 1] = '\0';
            value++;
        }
        copy_text(m->os, sizeof m->os, value);
    }
    fclose(f);
}

static void read_cpus(struct kymo_machine *m)
{
    char line[512];
    uint32_t cores = 0; /* of one package */
    uint32_t packages = 0;
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f)
        return;
    while (fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        unsigned number;
        if (!value)
            continue;
        value += value[1] == ' ' ? 2 : 1;
        if (strncmp(line, "model name", 10) == 0 && m->cpu_name[0] == '\0')
            copy_text(m->cpu_name, sizeof m->cpu_name, value);
        else if (strncmp(line, "cpu cores", 9) == 0 && sscanf(value, "%u", &number) == 1)
            cores = number;
        else if (strncmp(line, "physical id", 11) == 0 && sscanf(value, "%u", &number) == 1 &&
                 number < 1024 && number >= packages)
            packages = number + 1;
    }
    fclose(f);
    m->physical_cpus = cores * packages;
}

static int clocksource_is_tsc(void)
{
    char name[32] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!f)
        return 0;
    int found = fgets(name, sizeof name, f) != NULL;
    fclose(f);
    return found && strcmp(name, KYMO_COUNTER_CLOCKSOURCE "\n") == 0;
}

void kymo_machine_read(struct kymo_machine *m)
{
    memset(m, 0, sizeof *m);
    struct utsname u;
    if (uname(&u) == 0) {
        copy_text(m->host, sizeof m->host, u.nodename);
        snprintf(m->kernel, sizeof m->kernel, "%s %s", u.sysname, u.release);
        copy_text(m->arch, sizeof m->arch, u.machine);
    }
    read_os(m);
    read_cpus(m);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    m->logical_cpus = cpus > 0 ? (uint32_t)cpus : 0;
    struct sysinfo info;
    if (sysinfo(&info) == 0)
        m->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
    m->tsc = clocksource_is_tsc();
}
