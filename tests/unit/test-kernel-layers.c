/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Private layers: where a policy wants one, what stays real in it, and which paths are in it. */

#include <string.h>
#include <sys/sysmacros.h>

#include "kernel-maker.h"
#include "kernel/launch/layers.h"

static const struct plan_options plain = {.arch = PLAN_X86_64};
static const struct plan_options weaker = {.arch = PLAN_X86_64, .accept_weaker = true};
static const struct plan_options without = {.arch = PLAN_X86_64, .no_layers = true};

#define CLOSED                                                                                     \
    "(version 1)(deny default)(allow file-read*)(allow process*)"                                  \
    "(allow file-write* (subpath \"/home/u/p\"))"
#define TMP                                                                                        \
    "(allow file-write* (require-all (subpath \"/tmp\") (extension \"buckle.private-layer\")))"
#define NPM                                                                                        \
    "(allow file-write* (require-all (subpath \"/home/u/.npm\") (extension "                       \
    "\"buckle.kept-layer\")))"

/* ---- where ---- */

/* "/tmp (real, real); /home/u/.npm kept" */
static void word_layers(const struct plan *p, struct buf *out)
{
    for (size_t i = 0; i < p->nlayers; i++) {
        const struct plan_layer *l = &p->layers[i];
        buf_fmt(out, "%s%s%s", i ? "; " : "", l->path, l->kind == LAYER_KEPT ? " kept" : "");
        for (size_t k = 0; k < l->nreal; k++)
            buf_fmt(out, "%s%s", k ? ", " : " (", l->real[k]);
        buf_str(out, l->nreal ? ")" : "");
    }
}

static void check_plans(void)
{
    static const struct {
        const char *what, *profile;
        const struct plan_options *opt;
        const char *host, *layers;
    } rows[] = {
        {"no rule wants one", CLOSED, &plain, "", ""},
        {"one that ends with the run", CLOSED TMP, &plain, "", "/tmp"},
        {"one that is kept", CLOSED NPM, &plain, "", "/home/u/.npm kept"},
        {"both", CLOSED TMP NPM, &plain, "", "/tmp; /home/u/.npm kept"},
        {"a folder in it is open", CLOSED TMP "(allow file-write* (subpath \"/tmp/w\"))", &plain,
         "", "/tmp (/tmp/w)"},
        {"a file in it is open", CLOSED TMP "(allow file-write-data (literal \"/tmp/f\"))", &plain,
         "", "/tmp (/tmp/f)"},
        {"all of it is open", CLOSED TMP "(allow file-write* (subpath \"/tmp\"))", &plain, "", ""},
        {"a folder around it is open", CLOSED NPM "(allow file-write* (subpath \"/home\"))", &plain,
         "", ""},
        {"a pattern in it is open", CLOSED TMP "(allow file-write* (regex #\"^/tmp/x-.*\"))",
         &plain, "", ""},
        {"everything is open", "(version 1)(allow default)" TMP, &plain, "", ""},
        {"a name in it is denied", CLOSED TMP "(deny file-read-data (subpath \"/tmp/secret\"))",
         &plain, "", "/tmp (/tmp/secret)"},
        {"it is in a denied folder", CLOSED NPM "(deny file-read-data (subpath \"/home/u\"))",
         &plain, "", ""},
        {"the network is open", CLOSED TMP "(allow network*)", &plain, "", ""},
        {"no mount namespace", CLOSED TMP, &weaker, "mount_ns=0", ""},
        {"an old kernel", CLOSED TMP, &weaker, "kernel=5.10", ""},
        {"not wanted", CLOSED TMP, &without, "", ""},
        {"two, one in the other",
         CLOSED TMP "(allow file-write* (require-all (subpath \"/tmp/a\") (extension "
                    "\"buckle.kept-layer\")))",
         &plain, "", "/tmp"},
        {"two at the same place",
         CLOSED NPM "(allow file-write* (require-all (subpath \"/home/u/.npm\") (extension "
                    "\"buckle.private-layer\")))",
         &plain, "", "/home/u/.npm kept"},
        {"another extension",
         CLOSED "(allow file-write* (require-all (subpath \"/tmp\") (extension \"x\")))", &plain,
         "", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        OWN(buf) struct buf out = {0};
        if (!ok(planned_make(&p, rows[i].profile, rows[i].opt, rows[i].host), "planned: %s",
                rows[i].what))
            continue;
        word_layers(&p.plan, &out);
        is_str(out.s ? out.s : "", rows[i].layers, "layers: %s", rows[i].what);
        bool open = false;
        for (size_t k = 0; k < p.plan.nwalls; k++)
            open |= strcmp(p.plan.walls[k].path, "/tmp") == 0;
        bool opened = strstr(rows[i].what, "of it is open") || strstr(rows[i].what, "a pattern") ||
                      strstr(rows[i].what, "another extension");
        ok(open == opened, "the plan itself opens no wall for a layer");
    }
}

static void check_waits(void)
{
    OWN(planned) struct planned now, same, more, all;
    OWN(buf) struct buf out = {0};
    bool made = planned_make(&now, CLOSED TMP, &plain, "");
    made = planned_make(&same, CLOSED TMP, &plain, "") && made;
    made = planned_make(&more, CLOSED TMP "(allow file-write-mode (subpath \"/tmp/w\"))", &plain,
                        "") &&
           made;
    made = planned_make(&all, CLOSED, &plain, "") && made;
    if (!ok(made, "planned"))
        return;
    is_int((intmax_t)plan_waits(&now.plan, &same.plan, &out), 0, "nothing waits");
    is_int((intmax_t)plan_waits(&now.plan, &more.plan, &out), 1, "a folder in the layer does");
    is_int((intmax_t)plan_waits(&now.plan, &all.plan, &out), 1, "the end of the layer does");
    is_int((intmax_t)plan_waits(&all.plan, &now.plan, &out), 1, "a new layer does");
}

/* ---- what is in one ---- */

static void check_cover(void)
{
    static const char *real[] = {"/tmp/w", "/tmp/secret"};
    const struct plan_layer plan = {
        .path = "/tmp", .len = 4, .kind = LAYER_RUN, .real = real, .nopened = 1, .nreal = 2};
    static struct layers l;
    l.n = 1;
    l.at[0] = (struct layer){.plan = &plan, .lower = makedev(8, 1), .below = -1};
    l.at[0].back[0] = "/tmp/w";
    l.at[0].back_len[0] = 6;
    l.at[0].nback = 1;
    const struct {
        const char *path;
        dev_t dev; /* 0: nothing is known about a file there */
        bool in;
    } rows[] = {
        {"/tmp/x", 0, true},
        {"/tmp/x/y", 0, true},
        {"/tmp", 0, false},
        {"/tmpx", 0, false},
        {"/var/tmp/x", 0, false},
        {"/tmp/w", 0, false},
        {"/tmp/w/x", 0, false},
        {"/tmp/wx", 0, true},
        {"/tmp/secret", 0, false}, /* even while it is not there */
        {"/tmp/secret/x", 0, false},
        {"/tmp/x", makedev(0, 50), true},
        {"/tmp/x", makedev(8, 1), false}, /* a file below the layer that was inherited */
        {"/tmp/x", makedev(8, 2), false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stat st = {.st_dev = rows[i].dev};
        const char *got =
            layers_cover(&l, rows[i].path, strlen(rows[i].path), rows[i].dev ? &st : NULL);
        is_str(got ? got : "", rows[i].in ? "buckle.private-layer" : "", "%s", rows[i].path);
    }
    l.at[0].lower = makedev(0, 40); /* memory below, too */
    struct stat st = {.st_dev = makedev(0, 40)};
    ok(!layers_cover(&l, "/tmp/x", 6, &st), "a file below a layer over memory");
}

static void check_names(void)
{
    char name[LAYER_NAME], other[LAYER_NAME], path[600];
    ok(layers_name("/home/u/p", name) == 0, "a path as a name");
    is_str(name, "home%2Fu%2Fp", "slashes are escaped");
    ok(layers_name("/home/u%2Fp", other) == 0 && strcmp(name, other) != 0, "no two are the same");
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    ok(layers_name(path, name) < 0, "too long");
}

int main(void)
{
    check_plans();
    check_waits();
    check_cover();
    check_names();
    return done_testing();
}
