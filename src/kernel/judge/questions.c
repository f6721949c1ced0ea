/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The table of questions. Calls refer to a question by its number; the last one to leave frees it.
 * Whatever goes wrong, the answer is no: a full table, a socket that is full or closed, a caller
 * that asks too much.
 */

#include "kernel/judge/questions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "net/consent.h"

enum {
    LATE_MS = 10000, /* after a timeout, don't ask about the class again for this long */
    GRACE_MS = 1000, /* for the asking side, which keeps the time as well */
};

void questions_begin(struct questions *q, int channel, uint32_t wait_ms)
{
    q->channel = channel;
    q->wait_ms = wait_ms ? wait_ms : CONSENT_MS;
}

/* ---- the table ---- */

static struct question *find_id(struct questions *q, uint32_t id)
{
    for (size_t i = 0; id && i < QUESTIONS_OPEN; i++)
        if (q->all[i].id == id)
            return &q->all[i];
    return NULL;
}

static bool allows_once(const struct question *at)
{
    return at->answer == CONSENT_ONCE;
}

/* An open question about the class: one is enough at a time, whatever its path, since most answers
 * are for all of them. Or one about this path that was answered while this caller was interrupted
 * (older kernels do that when they stop it). */
static struct question *find_class(struct questions *q, pid_t tid, unsigned class, const char *path,
                                   size_t len)
{
    for (size_t i = 0; i < QUESTIONS_OPEN; i++) {
        struct question *at = &q->all[i];
        bool same = at->len == len && memcmp(at->path, path, len) == 0;
        bool kept = same && allows_once(at) && at->calls == 0 && at->tid == tid;
        if (at->id && at->class == class && (!at->answer || (kept && now_ms() < at->until)))
            return at;
    }
    return NULL;
}

static struct question *find_free(struct questions *q)
{
    for (size_t i = 0; i < QUESTIONS_OPEN; i++) {
        const struct question *at = &q->all[i];
        if (!at->id || (at->answer && at->calls == 0 && now_ms() >= at->until))
            return &q->all[i];
    }
    return NULL;
}

/* ---- facts ---- */

static bool covers(const struct question *at, const char *path, size_t len)
{
    return len >= at->len && memcmp(path, at->path, at->len) == 0 &&
           (len == at->len || path[at->len] == '/');
}

size_t questions_facts(const struct questions *q, const char *path, size_t len,
                       struct graph_fact *f)
{
    unsigned set = (unsigned)q->lifted & ((1u << PROTECTED_CLASSES) - 1);
    for (uint32_t i = 0; i < q->ngranted; i++) {
        const struct question *at = find_id((struct questions *)q, q->granted[i]);
        if (at && at->class < PROTECTED_CLASSES && allows_once(at) && covers(at, path, len))
            set |= 1u << at->class;
    }
    return graph_class_facts(set, f);
}

uint32_t questions_agreed(const struct questions *q, const char *command, size_t len)
{
    uint32_t set = (uint32_t)(q->lifted >> PROTECTED_CLASSES);
    for (uint32_t i = 0; i < q->ngranted; i++) {
        const struct question *at = find_id((struct questions *)q, q->granted[i]);
        if (at && at->class >= PROTECTED_CLASSES && allows_once(at) && at->len == len &&
            memcmp(at->path, command, len) == 0)
            set |= UINT32_C(1) << (at->class - PROTECTED_CLASSES);
    }
    return set;
}

/* ---- the folder ---- */

/* What is at the path's folder now; zeros if nothing is. */
static void see_folder(const char *path, size_t len, uint64_t *dev, uint64_t *ino)
{
    char folder[PATH_BYTES * 2];
    struct stat st;
    while (len > 1 && path[len - 1] != '/')
        len--;
    len = len > 1 ? len - 1 : len;
    memcpy(folder, path, len);
    folder[len] = '\0';
    bool there = lstat(folder, &st) == 0;
    *dev = there ? st.st_dev : 0;
    *ino = there ? st.st_ino : 0;
}

static bool is_in_place(const struct question *at)
{
    uint64_t dev, ino;
    see_folder(at->path, at->len, &dev, &ino);
    return dev == at->dev && ino == at->ino;
}

/* ---- asking ---- */

/* Returns false if it could not be sent. */
static bool send_question(struct judge *j, const struct question *at, bool withdrawn)
{
    struct consent_question out;
    memset(&out, 0, sizeof(out));
    out.id = at->id;
    out.withdrawn = withdrawn;
    bool command = at->class >= PROTECTED_CLASSES;
    out.class = command ? CONSENT_COMMAND : (uint8_t)(at->class + 1);
    if (!withdrawn) {
        char name[32];
        struct request r = {.tid = at->tid};
        out.wait_ms = j->questions.wait_ms;
        memcpy(out.path, at->path, at->len < CONSENT_PATH ? at->len : CONSENT_PATH - 1);
        out.pid = target_process(j, &r);
        out.pid = out.pid > 0 ? out.pid : at->tid;
        snprintf(name, sizeof(name), "%d/exe", out.pid);
        if (readlinkat(j->proc, name, out.program, sizeof(out.program) - 1) < 0)
            out.program[0] = '\0';
        if (command)
            snprintf(out.host, sizeof(out.host), "%s",
                     j->commands.patterns[at->class - PROTECTED_CLASSES]->str);
    }
    ssize_t n = send(j->questions.channel, &out, sizeof(out), MSG_NOSIGNAL | MSG_DONTWAIT);
    return n == sizeof(out);
}

static bool open_question(struct judge *j, const struct request *r, unsigned class,
                          const char *path, size_t len)
{
    struct questions *q = &j->questions;
    struct question *at = q->nasked < QUESTIONS_ALL ? find_free(q) : NULL;
    if (!at || len >= CONSENT_PATH) {
        q->why = "too many questions";
        return false;
    }
    at->id = CONSENT_OF_JUDGE | ++q->last_id;
    at->class = (uint8_t) class;
    at->answer = 0;
    at->calls = 0;
    at->until = now_ms() + q->wait_ms + GRACE_MS;
    at->tid = r->tid;
    at->len = len;
    memcpy(at->path, path, len);
    see_folder(path, len, &at->dev, &at->ino);
    if (!send_question(j, at, false)) {
        at->id = 0;
        q->why = "the question could not be asked";
        return false;
    }
    q->nasked++;
    q->nopen++;
    q->pending = at->id;
    return true;
}

/* The answer that was given for the class, or 0. */
static enum consent answer_of(const struct questions *q, unsigned class)
{
    if (q->closed)
        return (enum consent)q->closed;
    if (q->refused >> class & 1)
        return CONSENT_DENY;
    return q->late[class] > now_ms() ? CONSENT_TIMEOUT : 0;
}

/* How many questions this call has asked itself, and got a yes to. */
static unsigned asked_by(struct questions *q, pid_t tid)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < q->ngranted; i++) {
        const struct question *at = find_id(q, q->granted[i]);
        n += at && at->tid == tid;
    }
    return n;
}

bool questions_ask(struct judge *j, const struct request *r, unsigned class, const char *path,
                   size_t len)
{
    struct questions *q = &j->questions;
    enum consent answer = answer_of(q, class);
    q->why = answer ? consent_reason(answer) : NULL;
    if (answer || asked_by(q, r->tid) == QUESTIONS_EACH || !request_is_valid(j, r))
        return false;
    const struct question *open = find_class(q, r->tid, class, path, len);
    if (!open)
        return open_question(j, r, class, path, len);
    q->pending = open->id;
    return true;
}

/* ---- the calls ---- */

bool questions_answered(const struct questions *q, uint32_t id)
{
    const struct question *at = find_id((struct questions *)q, id);
    return !at || at->answer;
}

void questions_join(struct questions *q, uint32_t id)
{
    struct question *at = find_id(q, id);
    if (at)
        at->calls++;
}

/* A question that is still open stays: the caller may only have been stopped for it. */
void questions_leave(struct questions *q, uint32_t id)
{
    struct question *at = find_id(q, id);
    if (at && --at->calls == 0 && at->answer)
        at->id = 0;
}

void questions_done(struct judge *j, uint32_t id)
{
    struct question *at = find_id(&j->questions, id);
    if (at && !at->answer && at->calls == 1) { /* the policy allows it by now */
        send_question(j, at, true);
        at->id = 0;
        j->questions.nopen--;
        return;
    }
    questions_leave(&j->questions, id);
}

void questions_grant(struct questions *q, const uint32_t *ids, uint32_t n)
{
    q->ngranted = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct question *at = find_id(q, ids[i]);
        if (at && allows_once(at) && is_in_place(at))
            q->granted[q->ngranted++] = ids[i];
    }
    q->has_facts = q->lifted || q->ngranted;
}

void questions_grant_end(struct questions *q)
{
    q->ngranted = 0;
    q->has_facts = q->lifted != 0;
}

/* ---- answers ---- */

static void record(struct questions *q, struct question *at, enum consent answer)
{
    at->answer = (uint8_t)answer;
    q->nopen--;
    /* nobody waits any more: a call that was interrupted finds the answer when it comes again */
    if (at->calls == 0 && answer != CONSENT_ONCE)
        at->id = 0;
    at->until = now_ms() + LATE_MS;
}

/* The same answer for all open questions about these classes; nobody needs to see them any more. */
static void record_all(struct questions *q, uint64_t classes, enum consent answer)
{
    for (size_t i = 0; i < QUESTIONS_OPEN; i++) {
        struct question *at = &q->all[i];
        if (!at->id || at->answer || !(classes >> at->class & 1))
            continue;
        struct consent_question gone;
        memset(&gone, 0, sizeof(gone));
        gone.id = at->id;
        gone.withdrawn = true;
        send(q->channel, &gone, sizeof(gone), MSG_NOSIGNAL | MSG_DONTWAIT);
        record(q, at, answer);
    }
}

static void take_answer(struct questions *q, struct question *at, enum consent answer)
{
    uint64_t class = UINT64_C(1) << at->class;
    record(q, at, answer);
    switch (answer) {
    case CONSENT_RUN:
    case CONSENT_ALWAYS:
        q->lifted |= class;
        q->has_facts = true;
        record_all(q, class, answer);
        break;
    case CONSENT_DENY:
        q->refused |= class;
        record_all(q, class, answer);
        break;
    case CONSENT_DENY_ALL:
    case CONSENT_NOBODY:
        q->closed = (uint8_t)answer;
        record_all(q, UINT64_MAX, answer);
        break;
    case CONSENT_TIMEOUT:
        q->late[at->class] = now_ms() + LATE_MS;
        break;
    default:
        break;
    }
}

void questions_forget_commands(struct questions *q)
{
    const uint64_t names = (UINT64_C(1) << PROTECTED_CLASSES) - 1;
    q->lifted &= names;
    q->refused &= names;
    for (size_t i = PROTECTED_CLASSES; i < QUESTION_CLASSES; i++)
        q->late[i] = 0;
    record_all(q, ~names, CONSENT_TIMEOUT);
    for (size_t i = 0; i < QUESTIONS_OPEN; i++)
        if (q->all[i].id && q->all[i].class >= PROTECTED_CLASSES)
            q->all[i].answer = CONSENT_TIMEOUT;
}

bool questions_receive(struct questions *q)
{
    char bytes[sizeof(struct consent_reply) + 1];
    struct consent_reply r;
    for (int i = 0; i < QUESTIONS_OPEN; i++) {
        ssize_t n = recv(q->channel, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0)
            return true;
        if (n == 0) {
            q->closed = CONSENT_NOBODY;
            record_all(q, UINT64_MAX, CONSENT_NOBODY);
            return false;
        }
        struct question *at = consent_reply_read(bytes, (size_t)n, &r) ? find_id(q, r.id) : NULL;
        if (at && !at->answer)
            take_answer(q, at, (enum consent)r.answer);
    }
    return true;
}

static bool is_gone(const struct judge *j, pid_t tid)
{
    char name[32];
    struct stat st;
    snprintf(name, sizeof(name), "%d/task/%d", tid, tid);
    return fstatat(j->proc, name, &st, 0) < 0 && errno == ENOENT;
}

void questions_sweep(struct judge *j)
{
    struct questions *q = &j->questions;
    uint64_t now = now_ms();
    for (size_t i = 0; i < QUESTIONS_OPEN; i++) {
        struct question *at = &q->all[i];
        if (!at->id || at->answer)
            continue;
        if (now >= at->until) {
            send_question(j, at, true);
            take_answer(q, at, CONSENT_TIMEOUT);
        } else if (at->calls == 0 && is_gone(j, at->tid)) {
            send_question(j, at, true);
            q->nopen--;
            at->id = 0;
        }
    }
}
