/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/credentials.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/url.h"
#include "base/str.h"
#include "remote/imds.h"
#include "remote/json_text.h"
#include "sys/proc_file.h"

#define FILE_MAX (256u << 10)
#define ROLES "/latest/meta-data/iam/security-credentials/"
#define ECS_HOST "http://169.254.170.2"

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* A key is one word: what goes into a header has no line break. */
static int put(char *out, size_t cap, const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (value[i] <= ' ' || value[i] > '~')
            len = 0;
    if (len == 0 || len >= cap)
        return 0;
    memcpy(out, value, len);
    out[len] = '\0';
    return 1;
}

static int has_keys(const struct kymo_aws_credentials *c)
{
    return c->access[0] && c->secret[0];
}

/* ---- files ---- */

static const struct {
    const char *key;
    size_t at;
    size_t cap;
} fields[] = {
    {"aws_access_key_id", offsetof(struct kymo_aws_credentials, access),
     sizeof((struct kymo_aws_credentials *)0)->access},
    {"aws_secret_access_key", offsetof(struct kymo_aws_credentials, secret),
     sizeof((struct kymo_aws_credentials *)0)->secret},
    {"aws_session_token", offsetof(struct kymo_aws_credentials, token),
     sizeof((struct kymo_aws_credentials *)0)->token},
    {"region", offsetof(struct kymo_aws_credentials, region),
     sizeof((struct kymo_aws_credentials *)0)->region},
};

static size_t trim(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t'))
        (*at)++;
    while (end > *at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    return (size_t)(end - *at);
}

static void take_line(const char *line, const char *end, struct kymo_aws_credentials *c)
{
    const char *equals = memchr(line, '=', (size_t)(end - line));
    if (!equals)
        return;
    const char *value = equals + 1;
    const size_t value_len = trim(&value, end);
    const size_t key_len = trim(&line, equals);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strlen(fields[i].key) == key_len && memcmp(fields[i].key, line, key_len) == 0)
            (void)put((char *)c + fields[i].at, fields[i].cap, value, value_len);
}

static int is_section(const char *at, const char *end, const char *name)
{
    const char *close = memchr(at, ']', (size_t)(end - at));
    if (!close)
        return 0;
    at++;
    size_t len = trim(&at, close);
    return len == strlen(name) && memcmp(at, name, len) == 0;
}

void kymo_aws_file_take(const char *text, const char *section, struct kymo_aws_credentials *c)
{
    int is_wanted = 0;
    for (const char *line = text; *line;) {
        const char *end = line + strcspn(line, "\n");
        /* A line that is indented belongs to the one before: settings of one service. */
        if (*line == '[')
            is_wanted = is_section(line, end, section);
        else if (is_wanted && *line != '#' && *line != ';' && *line != ' ' && *line != '\t')
            take_line(line, end, c);
        line = end + (*end == '\n');
    }
}

/* Reads what `variable` names, or ~/.aws/NAME. Returns whether there is such a file. */
static int take_file(const char *variable, const char *name, const char *section,
                     struct kymo_aws_credentials *c)
{
    const char *named = environment(variable);
    const char *home = environment("HOME");
    const struct passwd *user = named || home ? NULL : getpwuid(geteuid());
    char *text = malloc(FILE_MAX);
    size_t len = 0;
    if (text && named)
        len = kymo_proc_file_read(text, FILE_MAX, "%s", named);
    else if (text && (home || user))
        len = kymo_proc_file_read(text, FILE_MAX, "%s/.aws/%s", home ? home : user->pw_dir, name);
    if (len > 0)
        kymo_aws_file_take(text, section, c);
    if (text)
        explicit_bzero(text, FILE_MAX);
    free(text);
    return len > 0;
}

static kymo_err from_files(struct kymo_aws_credentials *c, kymo_error *detail)
{
    char section[160];
    const char *profile = environment("AWS_PROFILE");
    const int is_named = profile != NULL || environment("AWS_DEFAULT_PROFILE") != NULL;
    if (!profile)
        profile = is_named ? environment("AWS_DEFAULT_PROFILE") : "default";
    if (strlen(profile) > 128)
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "AWS_PROFILE is too long");
    snprintf(section, sizeof section, "%s%s", strcmp(profile, "default") ? "profile " : "",
             profile);
    /* The file of credentials comes before that of settings, whole: a token of one with a key of
     * the other would be refused. */
    (void)take_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile, c);
    static struct kymo_aws_credentials settings;
    memset(&settings, 0, sizeof settings);
    (void)take_file("AWS_CONFIG_FILE", "config", section, &settings);
    if (!has_keys(c))
        *c = settings;
    else
        memcpy(c->region, settings.region, sizeof c->region);
    explicit_bzero(&settings, sizeof settings);
    if (has_keys(c))
        return KYMO_OK;
    if (is_named)
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                              "the profile %.60s of AWS's files has no keys (role_arn, sso and "
                              "credential_process are not supported)",
                              profile);
    return KYMO_E_NOT_FOUND;
}

/* ---- environment ---- */

static kymo_err from_environment(struct kymo_aws_credentials *c, kymo_error *detail)
{
    static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN"};
    if (!environment(names[0]) || !environment(names[1]))
        return KYMO_E_NOT_FOUND;
    for (size_t i = 0; i < 3; i++) {
        const char *value = environment(names[i]);
        if (value && !put((char *)c + fields[i].at, fields[i].cap, value, strlen(value)))
            return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "%s is no key", names[i]);
    }
    return KYMO_OK;
}

/* ---- services ---- */

kymo_err kymo_aws_answer_take(const char *json, size_t len, struct kymo_aws_credentials *c)
{
    kymo_json_read j = kymo_json_read_at(json, len, 0);
    kymo_json_text key;
    static struct kymo_aws_credentials taken;
    static char text[KYMO_AWS_TOKEN_MAX];
    static const char *const keys[] = {"AccessKeyId", "SecretAccessKey", "Token"};
    memset(&taken, 0, sizeof taken);
    int is_whole = kymo_json_enter(&j, '{');
    while (is_whole && kymo_json_next_member(&j, &key)) {
        size_t i = 0;
        while (i < 3 && !kymo_json_is_text(&key, keys[i]))
            i++;
        if (i == 3) {
            kymo_json_skip(&j);
            continue;
        }
        kymo_json_take_text(&j, text, sizeof text);
        is_whole = put((char *)&taken + fields[i].at, fields[i].cap, text, strlen(text));
    }
    is_whole = is_whole && !j.failed && has_keys(&taken);
    if (is_whole) {
        memcpy(c->access, taken.access, sizeof c->access);
        memcpy(c->secret, taken.secret, sizeof c->secret);
        memcpy(c->token, taken.token, sizeof c->token);
    }
    explicit_bzero(&taken, sizeof taken);
    explicit_bzero(text, sizeof text);
    return is_whole ? KYMO_OK : KYMO_E_CORRUPT;
}

int kymo_aws_may_ask(const char *url)
{
    static const char *const hosts[] = {"localhost", "169.254.170.2", "169.254.170.23",
                                        "::1",       "fd00:ec2::23",  NULL};
    struct kymo_url u;
    if (kymo_url_parse(url, &u, NULL) != KYMO_OK)
        return 0;
    if (u.is_https)
        return 1;
    for (size_t i = 0; hosts[i]; i++)
        if (kymo_url_is(u.host, hosts[i]))
            return 1;
    /* 127.0.0.0/8, by digits alone: 127.example.com is another machine. */
    char host[16];
    if (u.host.len >= sizeof host || strncmp(u.host.data, "127.", 4) != 0)
        return 0;
    memcpy(host, u.host.data, u.host.len);
    host[u.host.len] = '\0';
    return strspn(host, "0123456789.") == u.host.len;
}

static kymo_err take_answer(const char *what, const struct kymo_http_answer *answer,
                            struct kymo_aws_credentials *c, kymo_error *detail)
{
    kymo_err err = kymo_aws_answer_take(answer->text, answer->len, c);
    if (err != KYMO_OK)
        kymo_error_set(detail, err, 0, "%s answers no keys", what);
    return err;
}

/* The token of a container's service: of the file first, since it is renewed there. */
static kymo_err make_authorization(char *header, size_t cap, kymo_error *detail)
{
    static char text[8192];
    const char *file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    header[0] = '\0';
    if (file) {
        if (kymo_proc_file_read(text, sizeof text, "%s", file) == 0)
            return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                                  "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read");
        text[strcspn(text, "\r\n")] = '\0';
        token = text;
    }
    if (!token)
        return KYMO_OK;
    int n = snprintf(header, cap, "Authorization: %s", token);
    if (n < 0 || (size_t)n >= cap || strpbrk(header, "\r\n"))
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                              "AWS_CONTAINER_AUTHORIZATION_TOKEN is no token");
    return KYMO_OK;
}

static kymo_err from_container(struct kymo_aws_credentials *c, kymo_error *detail)
{
    static struct kymo_http_answer answer;
    static char header[8192];
    char url[1024];
    const char *relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (!relative && !full)
        return KYMO_E_NOT_FOUND;
    int n = snprintf(url, sizeof url, "%s%s", relative ? ECS_HOST : "", relative ? relative : full);
    if (n < 0 || (size_t)n >= sizeof url || !kymo_aws_may_ask(url))
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                              "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor of this "
                              "machine");
    KYMO_TRY(make_authorization(header, sizeof header, detail));
    KYMO_TRY(kymo_machine_get(url, header[0] ? header : NULL, &answer, detail));
    return take_answer("the container's service of credentials", &answer, c, detail);
}

/* The name of a role that can stand in a path. */
static int is_role(const char *text)
{
    const size_t len = strcspn(text, "\r\n");
    return len > 0 && len <= 128 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+=,.@-") ==
               len;
}

static kymo_err from_instance(struct kymo_aws_credentials *c, kymo_error *detail)
{
    static struct kymo_http_answer answer;
    struct kymo_imds imds;
    char path[256];
    KYMO_TRY(kymo_imds_open(&imds, detail));
    KYMO_TRY(kymo_imds_get(&imds, ROLES, &answer, detail));
    if (!is_role(answer.text))
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "the instance has no role");
    snprintf(path, sizeof path, "%s%.*s", ROLES, (int)strcspn(answer.text, "\r\n"), answer.text);
    KYMO_TRY(kymo_imds_get(&imds, path, &answer, detail));
    return take_answer("the instance metadata service", &answer, c, detail);
}

kymo_err kymo_aws_credentials_find(struct kymo_aws_credentials *c, kymo_error *detail)
{
    static kymo_err (*const places[])(struct kymo_aws_credentials *, kymo_error *) = {
        from_environment, from_files, from_container, from_instance};
    kymo_error why = {0};
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i](c, &why) == KYMO_OK)
            return KYMO_OK;
        /* A place that is named and fails is not passed over: others may be of another user. */
        if (why.message[0])
            break;
    }
    return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0, "no credentials for AWS: %.180s",
                          why.message);
}
