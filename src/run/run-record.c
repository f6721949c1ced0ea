/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a run writes to its record: that it begins, each event, each answer, each new policy, the
 * files that it wrote, and how it ended. An event is written when it arrives, so that a killed run
 * loses none. If other writers are busy, lines wait here and the command does not. Only after
 * WAITING bytes does it have to, for a moment; what cannot be written then is counted.
 *
 * One process runs one command, so that answers find their record.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/path.h"
#include "record/files.h"
#include "record/forward.h"
#include "command/conceal.h"
#include "run/run-int.h"
#include "system/files.h"
#include "vocab/protected-classes.h"

enum {
    WAITING = 1 << 20,
    BUSY_MS = RECORD_PATIENCE_MS,
    LAST_MS = 2000,
    QUESTIONS = 32,
    OWN_FDS = 16,
    PLACES = 32
};

struct run_record {
    struct run *run;
    pthread_mutex_t lock; /* of all below: answers come from other threads */
    struct record_file file;
    char id[17];
    struct buf waiting;
    struct event_cache cache;
    uint64_t nwaiting, written, lost, denied;
    int err; /* of the first line that was lost */
    uint64_t began_ns;
    struct consent_question questions[QUESTIONS];
    int user_fds[OWN_FDS];
};

static struct run_record *current; /* for answers */

/* ---- lines ---- */

/* Writes what waits. Call it with the lock. */
static void flush(struct run_record *k, unsigned wait_ms)
{
    int got = buf_ok(&k->waiting) ? record_append(&k->file, &k->waiting, wait_ms) : -ENOMEM;
    if (got == 0) {
        k->written += k->nwaiting;
    } else if (k->waiting.n < WAITING && buf_ok(&k->waiting)) {
        return;
    } else if (wait_ms < BUSY_MS && buf_ok(&k->waiting)) {
        flush(k, BUSY_MS);
        return;
    } else {
        k->lost += k->nwaiting;
        k->err = k->err ? k->err : -got;
    }
    if (k->waiting.failed || k->waiting.cap > WAITING)
        buf_free(&k->waiting);
    k->waiting.n = 0;
    k->waiting.failed = false;
    k->nwaiting = 0;
}

static struct buf *begin_line(struct run_record *k, const char *kind)
{
    pthread_mutex_lock(&k->lock);
    buf_fmt(&k->waiting, "\"run\": \"%s\", \"kind\": \"%s\", ", k->id, kind);
    return &k->waiting;
}

static void end_line(struct run_record *k, unsigned wait_ms)
{
    buf_chr(&k->waiting, '\n');
    k->nwaiting++;
    flush(k, wait_ms);
    pthread_mutex_unlock(&k->lock);
}

static void add_time(struct buf *out)
{
    char when[32];
    record_time(date_ns(), when);
    buf_fmt(out, "\"time\": \"%s\"", when);
}

static void add_text(struct buf *out, const char *key, const char *s)
{
    buf_fmt(out, ", \"%s\": ", key);
    size_t n = strlen(s);
    buf_json(out, s, n < PATH_MAX ? n : PATH_MAX);
}

/* ---- the run ---- */

/* A policy is what its graph depends on. One that depends on files counts as its texts. */
static void digest_policy(const struct run_policy *p, char out[SHA256_HEX + 1])
{
    OWN(buf) struct buf inputs = {0};
    struct sha256 sum;
    const struct source *text;
    (void)sbpl_put_inputs(&p->unit, &inputs);
    sha256_begin(&sum);
    sha256_add(&sum, inputs.s ? inputs.s : "", inputs.n);
    for (size_t i = 0; (text = sbpl_text_at(&p->unit, i)); i++)
        sha256_add(&sum, text->text, text->len + 1);
    sha256_end_hex(&sum, out);
}

static void note_run(struct run_record *k)
{
    const struct run_spec *s = k->run->spec;
    char digest[SHA256_HEX + 1];
    digest_policy(&k->run->policy, digest);
    struct buf *out = begin_line(k, "run");
    add_time(out);
    buf_fmt(out, ", \"pid\": %d, \"uid\": %u, \"command\": ", (int)getpid(), (unsigned)getuid());
    conceal_command(s->launch.argv, out);
    if (s->command_text) {
        OWN(buf) struct buf text = {0};
        conceal_text(s->command_text, strnlen(s->command_text, PATH_MAX), false, &text);
        add_text(out, "text", text.s ? text.s : "");
    }
    add_text(out, "folder", s->launch.cwd);
    if (s->launch.start)
        add_text(out, "start", s->launch.start);
    buf_fmt(out, ", \"policy\": \"%s\", \"version\": \"" BK_VERSION "\"", digest);
    end_line(k, LAST_MS);
}

void run_record_policy(struct run *r, const struct run_policy *p)
{
    char digest[SHA256_HEX + 1];
    if (!r->record)
        return;
    digest_policy(p, digest);
    struct buf *out = begin_line(r->record, "policy");
    add_time(out);
    buf_fmt(out, ", \"policy\": \"%s\", \"number\": %zu", digest, r->nupdated + 1);
    end_line(r->record, 0);
}

/* ---- events ---- */

static const char *kind_of(const struct event *e)
{
    return event_is_reached(e)                   ? "host"
           : !e->allow                           ? "denial"
           : strcmp(e->exe, "buckle grant") == 0 ? "grant"
                                                 : "allowed";
}

void run_event(struct run *r, const struct event *e)
{
    const struct run_spec *s = r->spec;
    if (r->record) {
        struct policies policies = run_policies(r);
        struct run_record *k = r->record;
        struct buf *out = begin_line(k, kind_of(e));
        event_members(e, policies_graph(&policies, e->policy), &k->cache, out);
        k->denied += e->allow ? 0 : e->count;
        end_line(k, 0);
    }
    if (s->launch.on_event && !event_is_reached(e))
        s->launch.on_event(s->launch.arg, e);
}

static void on_event(void *arg, const struct event *e)
{
    (void)arg;
    run_event(current->run, e);
}

/* ---- questions ---- */

static void note_answer(struct run_record *k, struct consent_question *q, const char *answer,
                        const char *by)
{
    struct buf *out = begin_line(k, "answer");
    add_time(out);
    add_text(out, "answer", answer);
    if (by)
        add_text(out, "by", by);
    if (q->class) {
        add_text(out, "class", consent_class_name(q));
        add_text(out, "path", q->path);
    } else {
        char where[PEER_TEXT];
        struct peer host;
        if (peer_parse(q->host, strlen(q->host), &host))
            peer_text(&host, q->port, where);
        else
            snprintf(where, sizeof(where), "%s", q->host);
        add_text(out, "target", where);
    }
    if (q->program[0])
        add_text(out, "exe", q->program);
    buf_fmt(out, ", \"pid\": %d", q->pid);
    end_line(k, 0);
}

/* Takes a question out of the table. */
static bool take_question(struct run_record *k, uint32_t id, struct consent_question *out)
{
    bool found = false;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < QUESTIONS && !found; i++)
        if (k->questions[i].id == id) {
            *out = k->questions[i];
            k->questions[i].id = 0;
            found = true;
        }
    pthread_mutex_unlock(&k->lock);
    return found;
}

static void on_answer(uint32_t id, enum consent answer)
{
    struct consent_question q;
    if (current && take_question(current, id, &q))
        note_answer(current, &q, consent_word(answer),
                    answer == CONSENT_NOBODY ? NULL : current->run->spec->asks);
}

static void keep_question(struct run_record *k, const struct consent_question *q)
{
    struct consent_question old;
    if (q->withdrawn) {
        if (take_question(k, q->id, &old))
            note_answer(k, &old, consent_word(CONSENT_TIMEOUT), NULL);
        return;
    }
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < QUESTIONS; i++)
        if (!k->questions[i].id) {
            k->questions[i] = *q;
            break;
        }
    pthread_mutex_unlock(&k->lock);
}

static void on_question(void *arg, const struct consent_question *q, int channel)
{
    keep_question(current, q);
    current->run->spec->launch.on_question(arg, q, channel);
}

static void on_protected(void *arg, const struct consent_question *q, int channel)
{
    keep_question(current, q);
    current->run->spec->launch.on_protected(arg, q, channel);
}

/* ---- beginning ---- */

/* The command must not have the record itself: as standard output, for instance. */
static int check_descriptors(const struct run_record *k, struct bk_err *err)
{
    const struct launch *l = &k->run->spec->launch;
    struct stat own, st;
    if (fstat(k->file.fd, &own) < 0)
        return err_sys(err, "the record");
    for (size_t i = 0; i < 3 + l->nkeep; i++) {
        int fd = i < 3 ? (int)i : l->keep_fds[i - 3];
        if (fstat(fd, &st) == 0 && st.st_ino == own.st_ino && st.st_dev == own.st_dev)
            return err_set(err, BK_E_INPUT, "descriptor %d of the command is the record itself",
                           fd);
    }
    return 0;
}

int run_record_begin(struct run *r, struct bk_err *err)
{
    uint64_t random;
    if (!r->spec->record.path)
        return 0;
    struct run_record *k = calloc(1, sizeof(*k));
    if (!k)
        return err_nomem(err);
    if (record_open(&k->file, &r->spec->record, err) < 0)
        return free(k), -1;
    pthread_mutex_init(&k->lock, NULL);
    k->run = r;
    r->record = k;
    k->began_ns = file_clock_ns();
    if (getentropy(&random, sizeof(random)) < 0)
        random = date_ns() ^ (uint64_t)getpid() << 40;
    snprintf(k->id, sizeof(k->id), "%016llx", (unsigned long long)random);
    if (check_descriptors(k, err) < 0)
        return -1;
    forward_start(&r->spec->record, &k->file);
    note_run(k);
    if (k->nwaiting || k->lost) {
        err_set(err, BK_E_SYSTEM, "the record %.200s cannot be written: %s", r->spec->record.path,
                k->err == EBADMSG ? "it is damaged" : strerror(k->err ? k->err : EAGAIN));
        return -1;
    }
    current = k;
    consent_watch(on_answer);
    return 0;
}

void run_record_join(struct run *r, struct launch *l)
{
    struct run_record *k = r->record;
    if (!k)
        return;
    l->on_event = on_event;
    l->tells_hosts = true;
    l->on_question = l->on_question ? on_question : NULL;
    l->on_protected = l->on_protected ? on_protected : NULL;
    /* no process that acts for the command keeps the record's descriptors */
    size_t n = 0;
    for (; n < l->nuser_fds && n < OWN_FDS - 2; n++)
        k->user_fds[n] = l->user_fds[n];
    k->user_fds[n++] = k->file.fd;
    k->user_fds[n++] = k->file.folder;
    l->user_fds = k->user_fds;
    l->nuser_fds = n;
}

/* ---- the end ---- */

static void note_file(void *arg, const struct record_written *w)
{
    struct run_record *k = arg;
    struct buf *out = begin_line(k, "file");
    add_time(out);
    add_text(out, "path", w->path);
    buf_fmt(out, ", \"size\": %llu", (unsigned long long)w->size);
    if (w->digest[0])
        buf_fmt(out, ", \"sha256\": \"%s\"", w->digest);
    end_line(k, 0);
}

struct places_list {
    char at[PLACES][PATH_MAX];
    size_t n;
};

/* Keeps only the outermost ones. What a glob stands for is not listed. */
static void add_place(struct places_list *l, const char *path)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return;
    for (size_t i = 0; i < l->n; i++) {
        if (path_is_in(real, l->at[i]))
            return;
        if (path_is_in(l->at[i], real)) {
            memcpy(l->at[i], l->at[--l->n], PATH_MAX);
            i--;
        }
    }
    if (l->n < PLACES)
        memcpy(l->at[l->n++], real, PATH_MAX);
}

/* Below the places that the command can write. */
static void list_files(struct run_record *k)
{
    static struct places_list places; /* large */
    const struct run_spec *s = k->run->spec;
    const struct record_scan scan = {.since_ns = k->began_ns, .skip = s->record.path};
    uint64_t left = 0;
    if (!s->record.files)
        return;
    places.n = 0;
    add_place(&places, s->launch.cwd);
    for (size_t i = 0; i < s->nopened; i++)
        add_place(&places, s->opened[i]);
    for (size_t i = 0; s->writable && i < s->writable->n; i++)
        add_place(&places, s->writable->at[i].path);
    for (size_t i = 0; i < places.n; i++)
        left += record_files(&scan, places.at[i], note_file, k);
    if (left) {
        struct buf *out = begin_line(k, "files-left-out");
        add_time(out);
        buf_fmt(out, ", \"count\": %llu", (unsigned long long)left);
        end_line(k, 0);
    }
}

static void add_status(struct buf *out, const struct launch_end *end, int result)
{
    if (result < 0)
        buf_fmt(out, ", \"failed\": true");
    else if (WIFSIGNALED(end->status))
        buf_fmt(out, ", \"signal\": %d", WTERMSIG(end->status));
    else
        buf_fmt(out, ", \"status\": %d", WEXITSTATUS(end->status));
    if (end->timed_out)
        buf_str(out, ", \"timed_out\": true");
}

static void warn(const struct run_record *k, uint64_t lost)
{
    const struct run_spec *s = k->run->spec;
    char line[200];
    snprintf(line, sizeof(line), "the record lacks %llu line%s of this run: %s",
             (unsigned long long)lost, plural(lost), strerror(k->err ? k->err : EAGAIN));
    if (lost && s->warn)
        s->warn(s->launch.arg, line);
}

void run_record_end(struct run *r, const struct launch_end *end, int result)
{
    struct run_record *k = r->record;
    if (!k || k->file.fd < 0)
        return;
    consent_watch(NULL);
    list_files(k);
    struct buf *out = begin_line(k, "end");
    add_time(out);
    add_status(out, end, result);
    buf_fmt(out, ", \"denied\": %llu, \"records\": %llu, \"lost\": %llu",
            (unsigned long long)k->denied, (unsigned long long)(k->written + k->nwaiting),
            (unsigned long long)k->lost);
    end_line(k, LAST_MS);
    warn(k, k->lost + k->nwaiting);
    record_close(&k->file);
}

void run_record_free(struct run *r)
{
    struct run_record *k = r->record;
    if (!k)
        return;
    consent_watch(NULL);
    current = NULL;
    record_close(&k->file);
    buf_free(&k->waiting);
    pthread_mutex_destroy(&k->lock);
    free(k);
    r->record = NULL;
}
