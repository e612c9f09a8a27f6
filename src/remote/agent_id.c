/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/agent_id.h"

#include "agent/metadata.h"

const char *kymo_agent_knows(const struct kymo_agent_identity *who, const char *name)
{
    return who->metadata ? kymo_metadata_get(who->metadata, name) : NULL;
}

const char *kymo_agent_service(const struct kymo_agent_identity *who)
{
    const char *service = kymo_agent_knows(who, "service.name");
    return service ? service : who->program;
}

static void put_agent(kymo_str *text, const struct kymo_agent_identity *who)
{
    const char *container = kymo_agent_knows(who, "container.id");
    kymo_str_printf(text, "%s\n%s\n%s\n%llu", who->host, container ? container : "", who->program,
                    (unsigned long long)who->start_realtime_ns);
}

const char *kymo_agent_id(const struct kymo_agent_identity *who, char out[KYMO_SHA256_HEX])
{
    unsigned char digest[KYMO_SHA256_BYTES];
    kymo_str text = {0};
    put_agent(&text, who);
    kymo_sha256_of(kymo_str_cstr(&text), text.len, digest);
    kymo_str_deinit(&text);
    return kymo_sha256_hex(digest, out);
}

void kymo_profile_digest(const struct kymo_interval_profile *p,
                         unsigned char out[KYMO_SHA256_BYTES])
{
    kymo_str text = {0};
    put_agent(&text, p->who);
    kymo_str_printf(&text, "\n%llu\n%d", (unsigned long long)p->number, (int)p->part);
    kymo_sha256_of(kymo_str_cstr(&text), text.len, out);
    kymo_str_deinit(&text);
}
