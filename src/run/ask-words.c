/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One wording for the terminal of a run (ask-tty.c) and for the one that follows a session's log.
 * Names come from the sandbox: control bytes are escaped.
 */

#include "run/ask-words.h"

#include <string.h>

static void add_host(const struct consent_question *q, struct buf *out)
{
    struct peer host;
    char where[PEER_TEXT];
    if (!peer_parse(q->host, strlen(q->host), &host))
        return;
    peer_text(&host, q->port, where);
    buf_fmt(out, q->udp ? " wants to send to %s (UDP)\n" : " wants to connect to %s\n", where);
}

static void add_path(const struct consent_question *q, struct buf *out)
{
    buf_str(out, " wants to change ");
    buf_safe(out, q->path, strlen(q->path));
    buf_fmt(out, "\nbuckle: a protected name of the class %s\n", consent_class_name(q));
}

static void add_command(const struct consent_question *q, struct buf *out)
{
    buf_str(out, " wants to run ");
    buf_safe(out, q->path, strlen(q->path));
    buf_str(out, "\nbuckle: the settings ask about ");
    buf_safe(out, q->host, strlen(q->host));
    buf_chr(out, '\n');
}

void ask_words_question(const struct consent_question *q, struct ask_choices can, struct buf *out)
{
    buf_str(out, "buckle: ");
    if (q->program[0])
        buf_safe(out, q->program, strlen(q->program));
    else
        buf_str(out, "a program");
    if (q->pid)
        buf_fmt(out, " (%d)", q->pid);
    bool command = q->class == CONSENT_COMMAND;
    (command ? add_command : q->class ? add_path : add_host)(q, out);
    buf_str(out, "buckle: allow [o]nce, ");
    buf_str(out, command ? "such commands " : q->class ? "the class " : "");
    buf_fmt(out, "for this [r]un,%s%s [d]eny, [n]o to all? ",
            can.session ? " for the [s]ession," : "", can.always ? " [a]lways," : "");
}

enum consent ask_words_key(char key)
{
    switch (key) {
    case 'o':
    case 'O':
        return CONSENT_ONCE;
    case 'r':
    case 'R':
        return CONSENT_RUN;
    case 'a':
    case 'A':
        return CONSENT_ALWAYS;
    case 'd':
    case 'D':
    case ASK_KEY_INTERRUPT:
    case ASK_KEY_END:
        return CONSENT_DENY;
    case 'n':
    case 'N':
        return CONSENT_DENY_ALL;
    default:
        return 0;
    }
}

const char *ask_words_answer(enum consent answer)
{
    static const char *const words[CONSENT_COUNT] = {[CONSENT_ONCE] = "once\n",
                                                     [CONSENT_RUN] = "for this run\n",
                                                     [CONSENT_ALWAYS] = "always\n",
                                                     [CONSENT_DENY] = "denied\n",
                                                     [CONSENT_DENY_ALL] =
                                                         "denied, as will all later ones\n",
                                                     [CONSENT_TIMEOUT] = "too late\n",
                                                     [CONSENT_NOBODY] = "\n"};
    return words[answer] ? words[answer] : "no longer needed\n";
}
