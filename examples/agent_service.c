/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_service.c FOLDER [SECONDS] - a service that starts the agent that profiles it, says once a
 * second what was delivered, and waits for the last profile when it ends.
 *
 *   cc -o agent_service agent_service.c -lkymo
 *   ./agent_service profiles 5 && kymo report profiles/agent_service.*.1.kymo
 */
#include <kymo/agent.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t answer;

static void handle_requests(time_t until)
{
    while (time(NULL) < until)
        for (unsigned i = 0; i < 100000; i++)
            answer = answer * 6364136223846793005u + 1;
}

static void on_end(void *data, const kymo_agent_status *status)
{
    (void)data;
    if (status->state == KYMO_AGENT_FAILED)
        fprintf(stderr, "no longer profiled: %s\n", status->reason);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: agent_service FOLDER [SECONDS]\n");
        return 2;
    }
    char reporter[1024];
    snprintf(reporter, sizeof reporter, "local:%s", argv[1]);
    const char *const reporters[] = {reporter, NULL};
    const kymo_agent_options options = {.size = sizeof options,
                                        .interval_ns = 1000000000,
                                        .reporters = reporters,
                                        .on_end = on_end};
    kymo_agent *agent = NULL;
    kymo_error why;
    /* The service runs with or without. */
    if (kymo_agent_start(&options, &agent, &why) != KYMO_OK)
        fprintf(stderr, "not profiled: %s\n", why.message);

    const time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 5);
    while (time(NULL) < end) {
        handle_requests(time(NULL) + 1);
        kymo_agent_status status = {.size = sizeof status};
        if (agent && kymo_agent_get_status(agent, &status) == KYMO_OK)
            printf("%" PRIu64 " profiles delivered, %" PRIu64 " records lost\n", status.delivered,
                   status.lost_records);
    }

    if (agent && kymo_agent_stop(agent, 10000000000u, NULL) != KYMO_OK)
        fprintf(stderr, "the last profile was not delivered\n");
    return 0;
}
