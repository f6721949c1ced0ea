/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A manager keeps one reading of settings, and the runs under them. One lock guards it, but is not
 * held during a start: a second caller waits for the result of the first.
 */

#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent-view.h"
#include "api/proxies.h"
#include "api/run-int.h"
#include "base/own.h"
#include "command/tmpdir.h"
#include "report/store.h"
#include "report/tag.h"

/* One reading. */
struct reading {
    struct agent_view view;
    char *settings; /* the program's settings, or NULL */
    size_t n;
};

struct buckle_manager {
    char directory[PATH_MAX];
    struct buckle_store *store;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    enum { IDLE, STARTING, STARTED } state;
    uint64_t attempts;            /* starts that have ended */
    struct buckle_error *failure; /* of the last one */
    struct reading *now;          /* while started */
    struct tmpdir private_tmpdir;
    char session[TAG_SESSION];
    enum permission_mode mode;
    bool planning;
    uint64_t last_id;
    struct buckle_run **runs;
    size_t nruns;
};

struct buckle_manager *buckle_manager_new(const char *directory)
{
    struct buckle_manager *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    m->store = buckle_store_new(0);
    m->private_tmpdir.lock = -1;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    if (m->store && realpath(directory ? directory : ".", m->directory))
        return m;
    buckle_manager_free(m);
    return NULL;
}

/* ---- reading ---- */

static void reading_free(struct reading *r)
{
    if (!r)
        return;
    view_free(&r->view);
    free(r->settings);
    free(r);
}

static int read_layers(struct reading *r, const char *cwd, struct bk_err *err)
{
    struct settings *s = &r->view.settings;
    if (settings_init(s, cwd, err) < 0 || settings_add_found(s, err) < 0)
        return -1;
    if (r->settings && settings_add_text(s, LAYER_FLAGS, "<settings>", r->settings, r->n, err) < 0)
        return -1;
    if (settings_add_defaults(s, err) < 0)
        return -1;
    return settings_build(s, r->view.tmpdir, &r->view.result, err);
}

static struct reading *reading_new(const struct buckle_manager *m, const char *tmpdir,
                                   const char *settings, size_t n, struct buckle_error **error)
{
    struct reading *r = calloc(1, sizeof(*r));
    struct bk_err err;
    err_nomem(&err);
    if (r) {
        snprintf(r->view.tmpdir, sizeof(r->view.tmpdir), "%s", tmpdir);
        r->settings = settings ? strndup(settings, n) : NULL;
        r->n = r->settings ? n : 0;
        if ((r->settings || !settings) && read_layers(r, m->directory, &err) == 0)
            return r;
    }
    api_error(error, &err, NULL);
    reading_free(r);
    return NULL;
}

static struct buckle_command *command_of(const struct buckle_manager *m, const struct reading *r,
                                         const char *const *argv)
{
    struct buckle_command *c = buckle_command_new(argv);
    if (!c)
        return NULL;
    buckle_command_found_settings(c, 1);
    buckle_command_flag(c, BUCKLE_NEW_SESSION, 1);
    if ((!r->settings || buckle_command_settings(c, r->settings, r->n) == 0) &&
        buckle_command_directory(c, m->directory) == 0 &&
        buckle_command_tmpdir(c, r->view.tmpdir) == 0)
        return c;
    buckle_command_free(c);
    return NULL;
}

/* Whether this host can enforce it. */
static int try_out(const struct buckle_manager *m, const struct reading *r,
                   struct buckle_error **error)
{
    struct bk_err err;
    if (!r->view.result.enabled)
        return 0;
    struct buckle_command *c = command_of(m, r, NULL);
    if (!c) {
        err_nomem(&err);
        api_error(error, &err, NULL);
        return -1;
    }
    char *plan = buckle_plan(c, 0, error);
    buckle_command_free(c);
    free(plan);
    return plan ? 0 : -1;
}

/* ---- starting ---- */

/* Violations that settings ignore, for programs that fill the store themselves. */
static int ignore(struct buckle_manager *m, const struct reading *r)
{
    const struct settings_result *s = &r->view.result;
    OWN(mem) struct store_ignore *rules = calloc(s->nignored + 1, sizeof(*rules));
    for (size_t i = 0; rules && i < s->nignored; i++)
        rules[i] = (struct store_ignore){s->ignored[i].command, s->ignored[i].text};
    return rules ? store_ignore((struct store *)m->store, rules, s->nignored) : -1;
}

static struct reading *begin(struct buckle_manager *m, struct tmpdir *private_tmpdir,
                             const char *settings, size_t n, struct buckle_error **error)
{
    struct bk_err err;
    struct reading *r = NULL;
    *private_tmpdir = (struct tmpdir){.lock = -1};
    if (tmpdir_name(private_tmpdir, &err) < 0 || tmpdir_make(private_tmpdir, &err) < 0) {
        api_error(error, &err, NULL);
        return NULL;
    }
    r = reading_new(m, private_tmpdir->path, settings, n, error);
    if (r && try_out(m, r, error) == 0 && ignore(m, r) == 0)
        return r;
    reading_free(r);
    tmpdir_remove(private_tmpdir);
    return NULL;
}

static int outcome(struct buckle_manager *m, struct buckle_error **error)
{
    if (m->state == STARTED)
        return 0;
    if (m->failure && error)
        api_error_copy(error, m->failure);
    return -1;
}

int buckle_manager_start(struct buckle_manager *manager, const char *settings, size_t len,
                         struct buckle_error **error)
{
    struct buckle_manager *m = manager;
    pthread_mutex_lock(&m->lock);
    uint64_t attempt = m->attempts;
    bool shares = m->state == STARTING;
    while (m->state == STARTING && m->attempts == attempt)
        pthread_cond_wait(&m->changed, &m->lock);
    if (m->state == IDLE && !shares) {
        struct tmpdir private_tmpdir;
        struct buckle_error *failure = NULL;
        m->state = STARTING;
        pthread_mutex_unlock(&m->lock);
        struct reading *r = begin(m, &private_tmpdir, settings, len, &failure);
        pthread_mutex_lock(&m->lock);
        struct bk_err err;
        m->attempts++;
        m->now = r;
        m->state = r ? STARTED : IDLE;
        if (r)
            m->private_tmpdir = private_tmpdir;
        buckle_error_free(m->failure);
        m->failure = failure;
        if (r && tag_session(m->session, &err) < 0)
            m->session[0] = '\0';
        pthread_cond_broadcast(&m->changed);
    }
    int result = outcome(m, error);
    pthread_mutex_unlock(&m->lock);
    return result;
}

int buckle_manager_started(struct buckle_manager *manager)
{
    pthread_mutex_lock(&manager->lock);
    bool started = manager->state == STARTED;
    pthread_mutex_unlock(&manager->lock);
    return started;
}

/* ---- runs ---- */

int manager_add_run(struct buckle_manager *m, struct buckle_run *run)
{
    pthread_mutex_lock(&m->lock);
    struct buckle_run **more = realloc(m->runs, (m->nruns + 1) * sizeof(*more));
    if (more) {
        m->runs = more;
        more[m->nruns++] = run;
    }
    pthread_mutex_unlock(&m->lock);
    return more ? 0 : -1;
}

void manager_drop_run(struct buckle_manager *m, struct buckle_run *run)
{
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->nruns; i++)
        if (m->runs[i] == run) {
            m->runs[i] = m->runs[--m->nruns];
            break;
        }
    pthread_mutex_unlock(&m->lock);
}

/* The lock is held. Returns whether every run accepted all of it. */
static bool update_runs(struct buckle_manager *m, const struct reading *r)
{
    bool all = true;
    for (size_t i = 0; i < m->nruns; i++) {
        char *waits = NULL;
        const char *settings = r->settings ? r->settings : "{}";
        int went = buckle_run_update_settings(m->runs[i], settings, strlen(settings), &waits, NULL);
        pthread_mutex_lock(&m->runs[i]->lock);
        all &= (went == 0 && !waits) || m->runs[i]->over;
        pthread_mutex_unlock(&m->runs[i]->lock);
        free(waits);
    }
    return all;
}

int buckle_manager_update(struct buckle_manager *manager, const char *settings, size_t len,
                          struct buckle_error **error)
{
    struct buckle_manager *m = manager;
    struct bk_err err;
    int result = -1;
    pthread_mutex_lock(&m->lock);
    struct reading *r = NULL;
    if (m->state != STARTED) {
        err_set(&err, BK_E_INPUT, "the manager was not started");
        api_error(error, &err, NULL);
    } else {
        r = reading_new(m, m->private_tmpdir.path, settings, len, error);
    }
    if (r && try_out(m, r, error) == 0 && ignore(m, r) == 0) {
        reading_free(m->now);
        m->now = r;
        result = update_runs(m, r) ? 0 : 1;
    } else {
        reading_free(r);
    }
    pthread_mutex_unlock(&m->lock);
    return result;
}

static void end_run(struct buckle_run *run)
{
    enum { PATIENCE_MS = 3000, LOOK_MS = 20 };
    buckle_run_cancel(run);
    buckle_run_cancel(run); /* at once */
    pthread_mutex_lock(&run->lock);
    for (int waited = 0; !run->over && waited < PATIENCE_MS; waited += LOOK_MS) {
        run_pump(run);
        struct pollfd news = {run->helper.sock, POLLIN, 0};
        pthread_mutex_unlock(&run->lock);
        poll(&news, 1, LOOK_MS);
        pthread_mutex_lock(&run->lock);
    }
    pthread_mutex_unlock(&run->lock);
}

void buckle_manager_reset(struct buckle_manager *manager)
{
    struct buckle_manager *m = manager;
    pthread_mutex_lock(&m->lock);
    while (m->state == STARTING)
        pthread_cond_wait(&m->changed, &m->lock);
    for (size_t i = 0; i < m->nruns; i++)
        end_run(m->runs[i]);
    reading_free(m->now);
    m->now = NULL;
    m->state = IDLE;
    tmpdir_remove(&m->private_tmpdir);
    m->private_tmpdir = (struct tmpdir){.lock = -1};
    buckle_store_clear(m->store);
    store_ignore((struct store *)m->store, NULL, 0);
    pthread_mutex_unlock(&m->lock);
}

void buckle_manager_free(struct buckle_manager *manager)
{
    struct buckle_manager *m = manager;
    if (!m)
        return;
    if (m->store)
        buckle_manager_reset(m);
    for (size_t i = 0; i < m->nruns; i++) {
        m->runs[i]->manager = NULL;
        m->runs[i]->store = NULL;
    }
    buckle_error_free(m->failure);
    buckle_store_free(m->store);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->changed);
    free(m->runs);
    free(m);
}

/* ---- looking ---- */

int buckle_manager_enabled(struct buckle_manager *manager)
{
    pthread_mutex_lock(&manager->lock);
    bool enabled = manager->now && manager->now->view.result.enabled;
    pthread_mutex_unlock(&manager->lock);
    return enabled;
}

int buckle_manager_unsandboxed_allowed(struct buckle_manager *manager)
{
    pthread_mutex_lock(&manager->lock);
    bool allowed = manager->now && manager->now->view.result.unsandboxed;
    pthread_mutex_unlock(&manager->lock);
    return allowed;
}

/* The view for the user's mode. The lock is held. */
static struct agent_view *view_of(struct buckle_manager *m)
{
    if (!m->now)
        return NULL;
    m->now->view.mode = m->mode;
    m->now->view.planning = m->planning;
    return &m->now->view;
}

char *buckle_manager_summary(struct buckle_manager *manager, int json)
{
    struct buf out = {0};
    pthread_mutex_lock(&manager->lock);
    const struct agent_view *v = view_of(manager);
    if (v)
        (json ? summary_json : summary_text)(v, &out);
    pthread_mutex_unlock(&manager->lock);
    return v ? api_text(&out) : NULL;
}

char *buckle_manager_config(struct buckle_manager *manager, enum buckle_config which)
{
    static const char *const keys[][5] = {
        [BUCKLE_CONFIG_READ] = {"denyRead", "allowRead"},
        [BUCKLE_CONFIG_WRITE] = {"writesEverything", "allowWrite", "denyWrite"},
        [BUCKLE_CONFIG_NETWORK] = {"networkOpen", "allowedDomains", "deniedDomains",
                                   "allowLocalBinding"},
        [BUCKLE_CONFIG_SOCKETS] = {"allowAllUnixSockets", "allowUnixSockets"},
        [BUCKLE_CONFIG_IGNORED] = {"ignoreViolations"},
        [BUCKLE_CONFIG_EXCLUDED] = {"excludedCommands"},
    };
    char *all = buckle_manager_summary(manager, 1);
    if (!all || which >= BUCKLE_CONFIG_ALL)
        return all;
    json_t *whole = json_loads(all, 0, NULL), *part = json_object();
    for (size_t i = 0; keys[which][i]; i++)
        json_object_set(part, keys[which][i], json_object_get(whole, keys[which][i]));
    char *text = part ? json_dumps(part, JSON_PRESERVE_ORDER) : NULL;
    struct buf shown = {0};
    if (text)
        buf_json_text(&shown, text, strlen(text));
    json_decref(whole);
    json_decref(part);
    free(all);
    free(text);
    if (!buf_ok(&shown))
        buf_free(&shown);
    return shown.s;
}

void buckle_manager_mode(struct buckle_manager *manager, enum buckle_mode mode, int planning)
{
    pthread_mutex_lock(&manager->lock);
    manager->mode = api_mode(mode);
    manager->planning = planning != 0;
    pthread_mutex_unlock(&manager->lock);
}

enum buckle_decision buckle_manager_decide(struct buckle_manager *manager, const char *command,
                                           int bypass, int *sandboxed, const char **reason)
{
    enum buckle_decision d = BUCKLE_REFUSE;
    if (sandboxed)
        *sandboxed = 0;
    if (reason)
        *reason = "the manager was not started";
    pthread_mutex_lock(&manager->lock);
    const struct agent_view *v = view_of(manager);
    if (v) {
        struct decide_settings s = view_decides(v);
        d = api_decide(&s, command, bypass, sandboxed, reason);
    }
    pthread_mutex_unlock(&manager->lock);
    return d;
}

/* ---- commands ---- */

struct buckle_command *buckle_manager_command(struct buckle_manager *manager, const char *command,
                                              const char *shell, uint64_t *id,
                                              struct buckle_error **error)
{
    const char *argv[] = {shell ? shell : "bash", "-c", command, NULL};
    struct buckle_manager *m = manager;
    struct bk_err err;
    pthread_mutex_lock(&m->lock);
    struct buckle_command *c = m->now ? command_of(m, m->now, argv) : NULL;
    if (c && buckle_command_store(c, m->store, m->last_id + 1, command) == 0) {
        m->last_id++;
        c->manager = m;
        if (id)
            *id = m->last_id;
    } else {
        if (m->now)
            err_nomem(&err);
        else
            err_set(&err, BK_E_INPUT, "the manager was not started");
        api_error(error, &err, NULL);
        buckle_command_free(c);
        c = NULL;
    }
    pthread_mutex_unlock(&m->lock);
    return c;
}

char *buckle_manager_wrap(struct buckle_manager *manager, const char *command, const char *shell,
                          unsigned http_port, unsigned socks_port, struct buckle_error **error)
{
    struct buckle_manager *m = manager;
    struct bk_err err;
    char *line = NULL;
    pthread_mutex_lock(&m->lock);
    if (!m->now) {
        err_set(&err, BK_E_INPUT, "the manager was not started");
        api_error(error, &err, NULL);
    } else {
        line = api_wrap(&(struct api_wrap){.cwd = m->directory,
                                           .settings = m->now->settings,
                                           .nsettings = m->now->n,
                                           .found = true,
                                           .command = command,
                                           .shell = shell,
                                           .session = m->session[0] ? m->session : NULL,
                                           .http_port = http_port,
                                           .socks_port = socks_port},
                        error);
    }
    pthread_mutex_unlock(&m->lock);
    return line;
}

struct buckle_store *buckle_manager_store(struct buckle_manager *manager)
{
    return manager->store;
}

char *buckle_manager_annotate(struct buckle_manager *manager, uint64_t id, const char *command,
                              const char *text, size_t len)
{
    struct buckle_violations *list = NULL;
    if (id || command)
        list = buckle_store_get(manager->store, 0, id, id ? NULL : command, 0);
    char *annotated = buckle_annotate(text, len, list);
    buckle_violations_free(list);
    return annotated;
}
