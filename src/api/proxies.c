/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Decides about an agent's command, and writes its command line for macOS. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/decide.h"
#include "agent/wrap-command.h"
#include "api/proxies.h"
#include "base/own.h"

enum { GATES_BYTES = 1 << 20 };

struct buckle_gates {
    struct arena arena;
    struct decide_settings s;
    const char **excluded;
};

struct buckle_gates *buckle_gates_new(void)
{
    struct buckle_gates *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    arena_init(&g->arena, GATES_BYTES);
    g->s = (struct decide_settings){.enabled = true};
    return g;
}

void buckle_gates_free(struct buckle_gates *gates)
{
    if (!gates)
        return;
    arena_free(&gates->arena);
    free(gates);
}

void buckle_gates_enabled(struct buckle_gates *gates, int on)
{
    gates->s.enabled = on != 0;
}

void buckle_gates_auto_allow(struct buckle_gates *gates, int on)
{
    gates->s.auto_allow = on != 0;
}

void buckle_gates_allow_unsandboxed(struct buckle_gates *gates, int on)
{
    gates->s.allow_unsandboxed = on != 0;
}

enum permission_mode api_mode(enum buckle_mode mode)
{
    static const enum permission_mode modes[] = {[BUCKLE_MODE_PROMPT] = PERMISSION_PROMPT,
                                                 [BUCKLE_MODE_OPEN] = PERMISSION_OPEN,
                                                 [BUCKLE_MODE_NONE] = PERMISSION_NONE};
    return mode <= BUCKLE_MODE_NONE ? modes[mode] : PERMISSION_NONE;
}

void buckle_gates_mode(struct buckle_gates *gates, enum buckle_mode mode)
{
    gates->s.mode = api_mode(mode);
}

void buckle_gates_planning(struct buckle_gates *gates, int on)
{
    gates->s.planning = on != 0;
}

int buckle_gates_exclude(struct buckle_gates *gates, const char *pattern)
{
    struct buckle_gates *g = gates;
    const char *copy = api_copy(&g->arena, pattern);
    const char **more = api_grown(&g->arena, g->excluded, g->s.nexcluded, sizeof(*more));
    if (!copy || !more)
        return -1;
    more[g->s.nexcluded++] = copy;
    g->excluded = more;
    g->s.excluded = more;
    return 0;
}

enum buckle_decision api_decide(const struct decide_settings *s, const char *command, int bypass,
                                int *sandboxed, const char **reason)
{
    static const enum buckle_decision decisions[] = {[DECIDE_SANDBOXED] = BUCKLE_RUN_SANDBOXED,
                                                     [DECIDE_ASK] = BUCKLE_ASK,
                                                     [DECIDE_OUTSIDE] = BUCKLE_RUN_OUTSIDE,
                                                     [DECIDE_REFUSE] = BUCKLE_REFUSE,
                                                     [DECIDE_CLIENT] = BUCKLE_ASK};
    struct decision d =
        decide(s, &(struct decide_request){.command = command, .bypass = bypass != 0});
    if (sandboxed)
        *sandboxed = d.sandboxed;
    if (reason)
        *reason = d.reason;
    return decisions[d.action];
}

enum buckle_decision buckle_decide(const struct buckle_gates *gates, const char *command,
                                   int bypass, int *sandboxed, const char **reason)
{
    return api_decide(&gates->s, command, bypass, sandboxed, reason);
}

/* ---- macOS ---- */

char *api_wrap(const struct api_wrap *w, struct buckle_error **error)
{
    OWN(settings) struct settings s = {0};
    struct buf out = {0};
    struct bk_err err;
    struct wrapping how = {.command = w->command, .shell = w->shell, .session = w->session};
    how.ports = (struct macos_ports){(uint16_t)w->http_port, (uint16_t)w->socks_port};
    if (w->http_port > UINT16_MAX || w->socks_port > UINT16_MAX)
        err_set(&err, BK_E_INPUT, "a port must be between 1 and 65535");
    else if (settings_init(&s, w->cwd, &err) == 0 &&
             (w->found ? settings_add_found : settings_add_policy)(&s, &err) == 0 &&
             (!w->settings || settings_add_text(&s, LAYER_FLAGS, "<settings>", w->settings,
                                                w->nsettings, &err) == 0) &&
             settings_add_defaults(&s, &err) == 0 && wrap_settings(&how, &s, &out, &err) == 0) {
        out.n -= out.n > 0; /* the line's end */
        if (out.s)
            out.s[out.n] = '\0';
        return api_text_or(&out, error);
    }
    buf_free(&out);
    api_error(error, &err, NULL);
    return NULL;
}

char *buckle_wrap(const char *settings, size_t len, const char *command, const char *shell,
                  unsigned http_port, unsigned socks_port, struct buckle_error **error)
{
    char cwd[PATH_MAX];
    struct bk_err err;
    if (!getcwd(cwd, sizeof(cwd))) {
        err_sys(&err, "cannot find the working directory");
        api_error(error, &err, NULL);
        return NULL;
    }
    return api_wrap(&(struct api_wrap){.cwd = cwd,
                                       .settings = settings,
                                       .nsettings = len,
                                       .command = command,
                                       .shell = shell,
                                       .http_port = http_port,
                                       .socks_port = socks_port},
                    error);
}
