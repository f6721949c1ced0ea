/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A record of runs, read. Lines that are not JSON objects are left out: `buckle log verify` says
 * what is wrong with them. Output leaves in pieces, so that a long record needs little memory.
 */

#include "cli/run/log-past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/pager.h"
#include "record/record.h"
#include "settings/settings.h"

enum { PIECE = 1 << 20 };

/* ---- which record ---- */

static int find_record(const char *path, char out[PATH_MAX], struct bk_err *err)
{
    char cwd[PATH_MAX];
    OWN(settings) struct settings s = {0};
    struct settings_result result;
    if (path)
        return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX
                   ? 0
                   : err_set(err, BK_E_INPUT, "path too long");
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(err, "cannot find the working directory");
    if (settings_init(&s, cwd, err) < 0 || settings_add_found(&s, err) < 0 ||
        settings_build(&s, NULL, &result, err) < 0)
        return -1;
    if (!result.record.path) {
        err_set(err, BK_E_INPUT, "settings name no record");
        err_hint(err, "name one: --from PATH; or set record.path");
        return -1;
    }
    snprintf(out, PATH_MAX, "%s", result.record.path);
    return 0;
}

/* ---- printing ---- */

struct past {
    struct log *log;
    bool paged, failed;
};

/* A command as one line. */
static void keep_command(struct log *l, const json_t *event)
{
    const json_t *words = json_object_get(event, "command");
    const char *whole = log_member(event, "text");
    OWN(buf) struct buf text = {0};
    for (size_t i = 0; i < json_array_size(words) && !*whole; i++) {
        const char *word = json_string_value(json_array_get(words, i));
        buf_fmt(&text, "%s%s", i ? " " : "", word ? word : "");
    }
    if (*whole)
        buf_str(&text, whole);
    json_object_set_new(l->commands, log_member(event, "run"),
                        json_string(buf_ok(&text) && text.s ? text.s : ""));
}

static bool show_line(void *arg, const struct record_line *line)
{
    struct past *p = arg;
    json_t *event = json_loadb(line->text, line->n, 0, NULL);
    const char *kind = log_member(event, "kind");
    if (strcmp(kind, "run") == 0)
        keep_command(p->log, event);
    if (json_is_object(event) && *kind && strcmp(kind, "segment") != 0)
        log_show(p->log, event);
    json_decref(event);
    if (!p->paged && p->log->out.n > PIECE)
        p->failed = cli_emit(&p->log->out, CLI_OK) != CLI_OK;
    return !p->failed;
}

int log_past(struct log *l, const char *path)
{
    char file[PATH_MAX];
    struct bk_err err;
    struct past p = {.log = l, .paged = isatty(STDOUT_FILENO) && !args_has(l->args, "json")};
    l->commands = json_object();
    if (find_record(path, file, &err) < 0 || record_read(file, NULL, NULL, show_line, &p, &err) < 0)
        return cli_fail(&err);
    if (p.failed)
        return CLI_ERROR;
    log_finish(l);
    return p.paged ? pager_emit(&l->out, CLI_OK) : cli_emit(&l->out, CLI_OK);
}

/* ---- checking ---- */

static bool is_hash(const char *text)
{
    return strlen(text) == SHA256_HEX && strspn(text, "0123456789abcdef") == SHA256_HEX;
}

/* Runs that began and ended: another line than the rest of the record. */
struct runs {
    uint64_t began, ended;
};

static bool count_run(void *arg, const struct record_line *line)
{
    struct runs *r = arg;
    static const char began[] = ", \"kind\": \"run\"", ended[] = ", \"kind\": \"end\"";
    size_t n = line->n < 80 ? line->n : 80; /* both stand near the beginning */
    r->began += memmem(line->text, n, began, sizeof(began) - 1) != NULL;
    r->ended += memmem(line->text, n, ended, sizeof(ended) - 1) != NULL;
    return true;
}

static void print_check(const struct record_check *c, const struct runs *r, struct buf *out)
{
    buf_fmt(out, "%llu records of %llu runs in %llu file%s, the chain is whole\n",
            (unsigned long long)c->lines, (unsigned long long)r->began,
            (unsigned long long)c->files, plural(c->files));
    if (c->first > 1)
        buf_fmt(out, "begins with record %llu: older files are gone\n",
                (unsigned long long)c->first);
    if (r->ended < r->began)
        buf_fmt(out, "%llu run%s without an end: still running, or killed\n",
                (unsigned long long)(r->began - r->ended), plural(r->began - r->ended));
    if (c->torn)
        buf_fmt(out, "%llu line%s cut off by a crash, and noted by the next\n",
                (unsigned long long)c->torn, c->torn == 1 ? " was" : "s were");
    if (c->torn_bytes)
        buf_fmt(out,
                "the last %llu bytes are not a whole line: a crash, or a run that is writing\n",
                (unsigned long long)c->torn_bytes);
    buf_fmt(out, "last: record %llu, %s\n", (unsigned long long)c->last, c->hash);
}

static void print_json(const struct record_check *c, const struct runs *r, bool sound,
                       struct buf *out)
{
    buf_fmt(out,
            "{\"sound\": %s, \"records\": %llu, \"runs\": %llu, \"ended\": %llu, \"files\": %llu, "
            "\"first\": %llu, \"last\": %llu, \"torn\": %llu, \"torn_bytes\": %llu, \"hash\": "
            "\"%s\", \"wrong\": ",
            sound ? "true" : "false", (unsigned long long)c->lines, (unsigned long long)r->began,
            (unsigned long long)r->ended, (unsigned long long)c->files,
            (unsigned long long)c->first, (unsigned long long)c->last, (unsigned long long)c->torn,
            (unsigned long long)c->torn_bytes, c->hash);
    buf_json(out, c->wrong, strlen(c->wrong));
    buf_str(out, "}\n");
}

int log_verify(const struct cli_args *args, const char *path)
{
    char file[PATH_MAX];
    struct bk_err err;
    struct record_check check;
    struct runs runs = {0};
    OWN(buf) struct buf out = {0};
    const char *expect = args_value(args, "expect");
    if (expect && !is_hash(expect))
        return cli_usage(args, "--expect wants a hash as `buckle log verify` prints it");
    if (find_record(path, file, &err) < 0 ||
        record_read(file, &check, expect, count_run, &runs, &err) < 0)
        return cli_fail(&err);
    if (expect && !check.found && !check.wrong[0])
        snprintf(check.wrong, sizeof(check.wrong),
                 "no record has the expected hash: records were removed from its end, or it is "
                 "another record");
    bool sound = !check.wrong[0];
    if (args_has(args, "json"))
        print_json(&check, &runs, sound, &out);
    else if (sound)
        print_check(&check, &runs, &out);
    else
        buf_fmt(&out, "wrong: %s\n", check.wrong);
    return cli_emit(&out, sound ? CLI_OK : 1);
}
