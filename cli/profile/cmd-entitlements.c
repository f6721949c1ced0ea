/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle entitlements`: shows what the code signature of a Mach-O file or an app says. */

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "entitlements/entitlements.h"
#include "entitlements/mach-o.h"

static const struct cli_option options[] = {
    {"values", 0, NULL, "print only the entitlements, as JSON", NULL},
    {"json", 'j', NULL, "print JSON, one object per architecture", NULL},
    {0},
};

/* ---- one architecture ---- */

static void put_cpu(const struct macho_slice *s, struct buf *out)
{
    const char *name = macho_cpu_name(s);
    if (name)
        buf_str(out, name);
    else
        buf_fmt(out, "cpu 0x%x", s->cpu);
}

static void text_values(json_t *values, struct buf *out)
{
    const char *key;
    json_t *value;
    json_object_foreach(values, key, value)
    {
        OWN(mem) char *text = json_dumps(value, JSON_ENCODE_ANY);
        buf_str(out, "  ");
        buf_safe(out, key, strlen(key));
        buf_str(out, " = ");
        buf_safe(out, text ? text : "?", text ? strlen(text) : 1);
        buf_chr(out, '\n');
    }
    if (!json_object_size(values))
        buf_str(out, "  no entitlements\n");
}

static void print_text(const struct macho_slice *s, const struct code_signature *c, json_t *values,
                       struct buf *out)
{
    put_cpu(s, out);
    if (!c->present) {
        buf_str(out, ": not signed\n");
        return;
    }
    buf_str(out, ": ");
    buf_safe(out, c->identifier, strlen(c->identifier));
    if (c->team[0]) {
        buf_str(out, ", team ");
        buf_safe(out, c->team, strlen(c->team));
    }
    buf_fmt(out, "\n  flags 0x%x (", c->flags);
    code_signature_flag_words(c->flags, out);
    buf_str(out, ")\n");
    text_values(values, out);
}

static void json_text(struct buf *out, const char *key, const char *text)
{
    buf_fmt(out, ", \"%s\": ", key);
    if (text[0])
        buf_json(out, text, strlen(text));
    else
        buf_str(out, "null");
}

static void print_json(const struct macho_slice *s, const struct code_signature *c, json_t *values,
                       struct buf *out)
{
    OWN(buf) struct buf words = {0};
    OWN(buf) struct buf cpu = {0};
    OWN(mem) char *text = json_dumps(values, 0);
    code_signature_flag_words(c->flags, &words);
    put_cpu(s, &cpu);
    buf_str(out, "{\"architecture\": ");
    buf_json(out, cpu.s ? cpu.s : "", cpu.n);
    buf_fmt(out, ", \"signed\": %s", c->present ? "true" : "false");
    json_text(out, "identifier", c->identifier);
    json_text(out, "team", c->team);
    buf_fmt(out, ", \"flags\": %u, \"flag_names\": [", c->flags);
    for (char *word = c->flags && words.s ? words.s : NULL; word; word = *word ? word : NULL) {
        size_t n = strcspn(word, ",");
        buf_json(out, word, n);
        word += n + strspn(word + n, ", ");
        buf_str(out, *word ? ", " : "");
    }
    buf_fmt(out, "], \"exec_flags\": %llu, \"entitlements\": ", (unsigned long long)c->exec_flags);
    buf_str(out, text ? text : "{}");
    buf_chr(out, '}');
}

/* ---- the file ---- */

static int show_slice(const struct cli_args *args, const struct macho_input *in,
                      const struct macho_slice *s, struct buf *out, struct bk_err *err)
{
    OWN(code_signature) struct code_signature c = {0};
    OWN(buf) struct buf json = {0};
    if (macho_signature(in, s, &c, err) < 0 || code_signature_entitlements(&c, &json, err) < 0)
        return -1;
    json_t *values = json_loadb(json.s, json.n, JSON_REJECT_DUPLICATES, NULL);
    if (!values)
        return err_set(err, BK_E_INPUT, "a key stands twice in its entitlements");
    (args_has(args, "json") ? print_json : print_text)(s, &c, values, out);
    json_decref(values);
    return c.present ? 0 : 1;
}

/* Returns whether an architecture is not signed, or -1. */
static int show_file(const struct cli_args *args, int fd, uint64_t size, struct buf *out,
                     struct bk_err *err)
{
    const struct macho_input in = {.fd = fd, .size = size};
    struct macho_slice slices[MACHO_SLICES];
    bool json = args_has(args, "json"), unsigned_one = false;
    int n = macho_slices(&in, slices, err);
    buf_str(out, json ? "[" : "");
    for (int i = 0; i < n; i++) {
        buf_str(out, i && json ? ",\n" : "");
        int r = show_slice(args, &in, &slices[i], out, err);
        if (r < 0)
            return -1;
        unsigned_one |= r > 0;
    }
    buf_str(out, json ? "]\n" : "");
    return n < 0 ? -1 : unsigned_one;
}

static int show_values(const char *path, struct buf *out, struct bk_err *err)
{
    OWN(buf) struct buf json = {0};
    if (entitlements_read(path, &json, err) < 0)
        return -1;
    json_t *values = json_loadb(json.s ? json.s : "", json.n, JSON_REJECT_DUPLICATES, NULL);
    OWN(mem) char *text = values ? json_dumps(values, JSON_INDENT(2)) : NULL;
    json_decref(values);
    if (!text)
        return err_set(err, BK_E_INPUT, "%s: its entitlements are not an object", path);
    buf_str(out, text);
    buf_chr(out, '\n');
    return 0;
}

static int cmd_entitlements_run(struct cli_args *args)
{
    struct bk_err err = {0};
    struct stat st;
    char program[PATH_MAX];
    OWN(buf) struct buf out = {0};
    if (args->npos != 1)
        return cli_usage(args, args->npos ? "give one file" : "no file given");
    if (args_has(args, "values"))
        return show_values(args->pos[0], &out, &err) < 0 ? cli_fail(&err) : cli_emit(&out, CLI_OK);
    if (entitlements_executable(args->pos[0], program, sizeof(program), &err) < 0)
        return cli_fail(&err);
    OWN(fd) int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(&err, "cannot open %s", program), cli_fail(&err);
    if (!S_ISREG(st.st_mode))
        return err_set(&err, BK_E_INPUT, "%s is not a file", program), cli_fail(&err);
    int r = show_file(args, fd, (uint64_t)st.st_size, &out, &err);
    if (r < 0) {
        struct bk_err why = err;
        err_set(&err, why.code, "%.200s: %.200s", program, why.msg);
        if (why.hint[0])
            err_hint(&err, "%s", why.hint);
        return cli_fail(&err);
    }
    return cli_emit(&out, r ? CLI_NO : CLI_OK);
}

const struct cli_command cmd_entitlements = {
    .name = "entitlements",
    .usage = "[OPTION…] FILE",
    .brief = "show the entitlements and signing flags of a macOS or iOS program",
    .about = "Reads the code signature of FILE: a Mach-O program, thin or fat, or an app bundle.\n"
             "Prints for each architecture the identifier, the team, the code-signing flags and\n"
             "the entitlements. The signature is read, not verified.\n"
             "\n"
             "--entitlements of other commands takes FILE directly. `--values` prints the\n"
             "entitlements alone, also of a property list.\n"
             "\n"
             "Exit status: 0 if all of it is signed, 1 if not, 2 on error.",
    .options = options,
    .complete = "file",
    .run = cmd_entitlements_run,
};
