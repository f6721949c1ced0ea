/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Two parts below a line of totals: the runs and sessions as a tree, and the newest denials, the
 * newest last, or the hosts that were denied. One of the denials is chosen; keys act on it through
 * the commands of acts.def. Text that commands chose is shown by buf_safe() only.
 *
 * The loop polls the terminal, the window and a pipe that signals write to, so that the terminal is
 * restored whatever ends the program except SIGKILL.
 */

#include "window/top.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "system/descriptors.h"
#include "window/act.h"
#include "window/asked.h"
#include "window/window.h"

enum { KEPT = 1000, SECONDS = 10, TEXT = 200, HOSTS = 64, HOST_TEXT = 272 };

struct line {
    pid_t source;
    bool session;
    const char *kind;              /* the end of an act's name; NULL: nothing here can allow it */
    char *text, *what, *operation; /* shown; the object and the operation as they are */
    char *class;                   /* of a protected name, or NULL */
    char *cwd;                     /* the folder of its run or session */
};

static struct top {
    const char *program;
    struct window window;
    struct line lines[KEPT]; /* a ring */
    uint64_t n, chosen;      /* chosen: a number of 1…n; 0: follows the newest */
    bool paused, filtering, colour;
    char filter[64];
    struct buf note;      /* what came of the last key */
    struct buf explained; /* what `e` shows, until the next key */
    struct asked asked;
    struct host {
        char name[HOST_TEXT]; /* safe */
        uint64_t n;
    } hosts[HOSTS]; /* those denied most often first */
    bool shows_hosts;
    uint64_t per_second[SECONDS]; /* denials up to then */
    uint64_t second;
} top;

static int signals[2];

/* ---- what the window says ---- */

static char *safe_text(const char *s)
{
    OWN(buf) struct buf b = {0};
    buf_safe(&b, s, strlen(s));
    return buf_ok(&b) && b.s ? steal_ptr(&b.s) : strdup("");
}

static void free_line(struct line *l)
{
    free(l->text);
    free(l->what);
    free(l->operation);
    free(l->class);
    free(l->cwd);
}

static const char *kind_of(const struct line *l)
{
    return l->class                                        ? "protected"
           : strncmp(l->operation, "file-write", 10) == 0  ? "write"
           : strncmp(l->operation, "file-read", 9) == 0    ? "read"
           : strncmp(l->operation, "network-outbound", 16) ? NULL
           : l->what[0] == '/'                             ? NULL
                                                           : "net";
}

/* Counts a host. If there is no more room, the one with the fewest denials makes place. */
static void count_host(const char *name)
{
    char text[HOST_TEXT];
    size_t i = 0;
    OWN(mem) char *safe = safe_text(name);
    snprintf(text, sizeof(text), "%s", safe ? safe : "");
    while (i < HOSTS - 1 && top.hosts[i].n && strcmp(top.hosts[i].name, text) != 0)
        i++;
    struct host h = top.hosts[i];
    if (strcmp(h.name, text) != 0)
        h.n = 0;
    memcpy(h.name, text, sizeof(text));
    for (h.n++; i && top.hosts[i - 1].n < h.n; i--)
        top.hosts[i] = top.hosts[i - 1];
    top.hosts[i] = h;
}

static void on_event(void *arg, const struct window_source *s, const char *command,
                     const json_t *event)
{
    (void)arg;
    (void)command;
    const char *verdict = json_text(event, "verdict"), *text = json_text(event, "line");
    const char *path = json_text(event, "path"), *target = json_text(event, "target");
    const char *operation = json_text(event, "operation"), *class = json_text(event, "class");
    if (top.paused || !text || !verdict || strcmp(verdict, "deny") != 0)
        return;
    struct line *l = &top.lines[top.n++ % KEPT];
    free_line(l);
    *l = (struct line){.source = s->pid, .session = s->session};
    l->operation = strdup(operation ? operation : "");
    l->what = strdup(path ? path : target ? target : "");
    l->class = class ? strdup(class) : NULL;
    l->cwd = strdup(s->cwd);
    l->text = safe_text(text);
    l->kind = l->operation && l->what ? kind_of(l) : NULL;
    if (l->kind && strcmp(l->kind, "net") == 0)
        count_host(l->what);
}

static void on_question(void *arg, const struct window_source *s, uint32_t number,
                        const char *command, const json_t *q)
{
    (void)arg;
    (void)command;
    if (number && q)
        asked_add(&top.asked, s->pid, number, q);
    else if (number)
        asked_drop(&top.asked, s->pid, number);
}

static void on_source(void *arg, const struct window_source *s, bool gone)
{
    (void)arg;
    if (gone)
        asked_drop(&top.asked, s->pid, 0); /* nobody waits for an answer */
}

/* ---- drawing ---- */

static void put(int y, int x, const char *text, attr_t how)
{
    if (y < 0 || y >= LINES || x >= COLS)
        return;
    attron(how);
    mvaddstr(y, x, text);
    attroff(how);
}

/* Text that ends at the window's edge. A long one loses its middle: ends of paths matter. */
static void put_cut(int y, int x, const char *text, attr_t how)
{
    OWN(buf) struct buf b = {0};
    size_t n = strlen(text), room = COLS > x ? (size_t)(COLS - x) : 0;
    if (n <= room) {
        put(y, x, text, how);
        return;
    }
    if (room < 8)
        return;
    size_t head = room / 2, tail = n - (room - head - 1);
    while (head && ((unsigned char)text[head] & 0xc0) == 0x80)
        head--;
    while (tail < n && ((unsigned char)text[tail] & 0xc0) == 0x80)
        tail++;
    buf_add(&b, text, head);
    buf_str(&b, "…");
    buf_str(&b, text + tail);
    if (buf_ok(&b))
        put(y, x, b.s, how);
}

static void put_buf(int y, const struct buf *b, attr_t how)
{
    if (buf_ok(b) && b->s)
        put_cut(y, 0, b->s, how);
}

static int draw_tree(int y, int most)
{
    int first = y;
    for (size_t i = 0; i < top.window.n && y - first < most; i++) {
        const struct window_source *s = top.window.sources[i];
        if (!s->known || s->member)
            continue;
        OWN(buf) struct buf line = {0};
        buf_fmt(&line, "%s %d  %llu denied  ", s->session ? "session" : "run", (int)s->pid,
                (unsigned long long)s->denied);
        buf_safe(&line, s->command, strlen(s->command));
        put_buf(y++, &line, A_BOLD);
        for (size_t k = 0; k < json_array_size(s->runs) && y - first < most; k++) {
            const json_t *r = json_array_get(s->runs, k);
            const char *words = json_text(r, "command");
            OWN(buf) struct buf text = {0};
            buf_fmt(&text, "  run %lld  ",
                    (long long)json_integer_value(json_object_get(r, "pid")));
            buf_safe(&text, words ? words : "", words ? strlen(words) : 0);
            put_buf(y++, &text, 0);
        }
    }
    if (y == first)
        put(y++, 0, "Nothing runs.", A_DIM);
    return y;
}

static bool matches(const struct line *l)
{
    return l->text && (!top.filter[0] || strstr(l->text, top.filter));
}

static uint64_t oldest_line(void)
{
    return top.n > KEPT ? top.n - KEPT : 0;
}

/* The number of the chosen line: by default the newest that matches. 0: there is none. */
static uint64_t chosen_number(void)
{
    uint64_t at = top.chosen > oldest_line() ? top.chosen : top.n, oldest = oldest_line();
    while (at > oldest && !matches(&top.lines[(at - 1) % KEPT]))
        at--;
    return at > oldest ? at : 0;
}

/* The newest that match, from the bottom up. */
static void draw_lines(int from, int to)
{
    uint64_t at = top.n, oldest = oldest_line(), chosen = chosen_number();
    uint64_t half = to > from ? (uint64_t)(to - from) / 2 : 0;
    if (top.chosen && chosen + half < top.n)
        at = chosen + half;
    for (int y = to - 1; y >= from && at > oldest; at--) {
        const struct line *l = &top.lines[(at - 1) % KEPT];
        if (!matches(l))
            continue;
        attr_t how = (top.colour ? COLOR_PAIR(1) : 0) | (at == chosen ? A_REVERSE : 0);
        put_cut(y--, 0, l->text, how);
    }
}

static void draw_hosts(int from, int to)
{
    char line[HOST_TEXT + 16];
    if (!top.hosts[0].n)
        put(from, 0, "No host was denied.", A_DIM);
    for (int i = 0; i < HOSTS && top.hosts[i].n && from + i < to; i++) {
        snprintf(line, sizeof(line), "%8llu  %s", (unsigned long long)top.hosts[i].n,
                 top.hosts[i].name);
        put_cut(from + i, 0, line, 0);
    }
}

static uint64_t rate(void)
{
    /* what was denied before this program started is known after its first second */
    uint64_t since = top.second < SECONDS ? 1 : top.second + 1 - SECONDS;
    if (top.second <= since)
        return 0;
    return (window_denied(&top.window) - top.per_second[since % SECONDS]) / (top.second - since);
}

static void draw_head(void)
{
    char line[TEXT];
    snprintf(line, sizeof(line), "buckle top  %llu denied, %llu/s%s%s%s",
             (unsigned long long)window_denied(&top.window), (unsigned long long)rate(),
             top.paused ? "  PAUSED" : "", top.filter[0] ? "  filter: " : "", top.filter);
    put_cut(0, 0, line, A_REVERSE);
}

static void draw_explained(void)
{
    const char *at = top.explained.s;
    for (int y = 1; y < LINES - 1 && at && *at; y++) {
        size_t n = strcspn(at, "\n");
        OWN(buf) struct buf b = {0};
        buf_safe(&b, at, n);
        put_buf(y, &b, 0);
        at += n + (at[n] == '\n');
    }
}

static bool draw_question(void)
{
    char keys[TEXT];
    const struct asked_question *q = asked_first(&top.asked);
    if (!q)
        return false;
    snprintf(keys, sizeof(keys), "o once  r for this run  w always  n no");
    if (top.asked.n > 1)
        snprintf(keys, sizeof(keys), "o once  r for this run  w always  n no  (%zu more wait%s)",
                 top.asked.n - 1, top.asked.n == 2 ? "s" : "");
    put_cut(LINES - 2, 0, q->text, A_BOLD);
    put_cut(LINES - 1, 0, keys, A_REVERSE);
    return true;
}

static void draw(void)
{
    static const char keys[] = "q quit  ↑↓ choose  / filter  p pause  h hosts  e explain  a allow  "
                               "t a minute  A for good  "
                               "d deny";
    erase();
    draw_head();
    if (top.explained.n) {
        draw_explained();
        put_cut(LINES - 1, 0, "any key: back", A_DIM);
    } else {
        int y = draw_tree(1, LINES / 3);
        if (top.shows_hosts)
            draw_hosts(y + 1, LINES - 2);
        else
            draw_lines(y + 1, LINES - 2);
        if (top.filtering || !draw_question())
            put_buf(LINES - 2, &top.note, A_BOLD);
        if (top.filtering || !top.asked.n)
            put_cut(LINES - 1, 0, top.filtering ? "type a filter, then Enter" : keys, A_DIM);
    }
    refresh();
}

/* ---- keys ---- */

static const struct line *chosen_line(void)
{
    uint64_t at = chosen_number();
    return at ? &top.lines[(at - 1) % KEPT] : NULL;
}

static void note(const char *text)
{
    buf_free(&top.note);
    buf_str(&top.note, text);
}

/* Settings are those of the folder where it was denied. */
static void set_folder(json_t *request, const struct line *l)
{
    if (l->cwd && access(l->cwd, X_OK) == 0)
        json_object_set_new(request, "cwd", json_string(l->cwd));
}

/* Runs an act on the chosen line, and shows what it printed. here: only for the run or session.
 * seconds: how long, or NULL. */
static void act_on(const char *verb, bool here, const char *seconds)
{
    const struct line *l = chosen_line();
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    char name[32], pid[16];
    bool classed = l && l->class && strcmp(verb, "deny") != 0;
    const char *kind = l && l->class && !classed ? "write" : l ? l->kind : NULL;
    if (!l || !kind || !l->what[0]) {
        note(l ? "only files and hosts can be allowed or denied here" : "choose a denial first");
        return;
    }
    const char *subject = classed ? l->class : l->what;
    snprintf(name, sizeof(name), "%s-%s", verb, kind);
    snprintf(pid, sizeof(pid), "%d", (int)l->source);
    OWN(json) json_t *request = json_pack("{s:s, s:s}", "do", name, "what", subject);
    if (here)
        json_object_set_new(request, l->session ? "session" : "run", json_string(pid));
    if (seconds)
        json_object_set_new(request, "seconds", json_string(seconds));
    set_folder(request, l);
    int status = act_wait(top.program, request, &out, &err);
    const char *said = status < 0              ? err.msg
                       : buf_ok(&out) && out.n ? out.s
                       : status                ? "failed"
                                               : "done";
    note(verb);
    buf_chr(&top.note, ' ');
    buf_safe(&top.note, subject, strlen(subject));
    buf_str(&top.note, ": ");
    buf_safe(&top.note, said, strcspn(said, "\n"));
}

static void explain(void)
{
    const struct line *l = chosen_line();
    struct bk_err err;
    if (!l)
        return;
    OWN(json)
    json_t *request = json_pack("{s:s, s:s, s:s}", "do", "reasons", "operation", l->operation,
                                "argument", l->what);
    set_folder(request, l);
    if (act_wait(top.program, request, &top.explained, &err) < 0)
        buf_str(&top.explained, err.msg);
    if (!top.explained.n)
        buf_str(&top.explained, "There is nothing to explain.");
}

static void choose(int by)
{
    uint64_t at = chosen_number(), oldest = oldest_line() + 1;
    do
        at += (uint64_t)(int64_t)by;
    while (at >= oldest && at <= top.n && !matches(&top.lines[(at - 1) % KEPT]));
    if (at >= oldest && at <= top.n)
        top.chosen = at == top.n ? 0 : at;
}

static void type_filter(int key)
{
    size_t n = strlen(top.filter);
    if (key == '\n' || key == KEY_ENTER || key == 27)
        top.filtering = false;
    else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n)
        top.filter[n - 1] = '\0';
    else if (key >= ' ' && key < 127 && n + 1 < sizeof(top.filter))
        top.filter[n] = (char)key, top.filter[n + 1] = '\0';
    if (key == 27)
        top.filter[0] = '\0';
}

static bool answer(int key)
{
    const struct asked_question *q = asked_first(&top.asked);
    const char *word = q ? asked_answer(key) : NULL;
    if (!word || !asked_listens(&top.asked))
        return word != NULL;
    bool sent = window_answer(&top.window, q->source, q->number, word);
    note(sent ? "answered: " : "nobody waits for this answer: ");
    buf_str(&top.note, word);
    asked_drop(&top.asked, q->source, q->number);
    return true;
}

static void start_filter(void)
{
    top.filtering = true;
    top.filter[0] = '\0';
}

static void pause_or_go_on(void)
{
    top.paused = !top.paused;
}

static void show_hosts(void)
{
    top.shows_hosts = !top.shows_hosts;
}

static void choose_older(void)
{
    choose(-1);
}

static void choose_newer(void)
{
    choose(1);
}

static void allow_here(void)
{
    act_on("grant", true, NULL);
}

static void allow_briefly(void)
{
    act_on("grant", true, "60");
}

static void allow_for_good(void)
{
    act_on("allow", false, NULL);
}

static void deny_for_good(void)
{
    act_on("deny", false, NULL);
}

static const struct {
    int key;
    void (*does)(void);
} keys_of_top[] = {
    {'/', start_filter},  {'p', pause_or_go_on},    {'h', show_hosts},    {KEY_UP, choose_older},
    {'k', choose_older},  {KEY_DOWN, choose_newer}, {'j', choose_newer},  {'a', allow_here},
    {'t', allow_briefly}, {'A', allow_for_good},    {'d', deny_for_good}, {'e', explain},
};

/* Returns false to quit. */
static bool on_key(int key)
{
    if (top.explained.n)
        buf_free(&top.explained);
    else if (top.filtering)
        type_filter(key);
    else if (key == 'q')
        return false;
    else if (!answer(key))
        for (size_t i = 0; i < sizeof(keys_of_top) / sizeof(keys_of_top[0]); i++)
            if (keys_of_top[i].key == key)
                keys_of_top[i].does();
    return true;
}

/* ---- the terminal ---- */

static void on_signal(int sig)
{
    char byte = (char)sig;
    int was = errno;
    (void)!write(signals[1], &byte, 1);
    errno = was;
}

/* Returns false if a signal ends the program. */
static bool read_signals(void)
{
    char byte;
    struct winsize size;
    if (read(signals[0], &byte, 1) != 1 || byte != SIGWINCH)
        return false;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        resizeterm(size.ws_row, size.ws_col);
    return true;
}

static int start_terminal(void)
{
    static const int caught[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH};
    const char *no_colour = getenv("NO_COLOR");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || fd_pipe(signals) < 0)
        return -1;
    setlocale(LC_ALL, "");
    OWN(mem) char *term = strdup(getenv("TERM") ? getenv("TERM") : "");
    SCREEN *screen = newterm(term && *term ? term : NULL, stdout, stdin);
    if (!screen)
        return -1;
    for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
        signal(caught[i], on_signal);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    set_escdelay(25);
    top.colour = !(no_colour && *no_colour) && has_colors();
    if (top.colour) {
        start_color();
        use_default_colors();
        init_pair(1, COLOR_RED, -1);
    }
    return 0;
}

static void count_second(uint64_t *last)
{
    uint64_t now = now_ms() / 1000;
    if (now == *last)
        return;
    *last = now;
    top.per_second[++top.second % SECONDS] = window_denied(&top.window);
}

static void loop(void)
{
    enum { DRAW_MS = 100 };
    uint64_t last = now_ms() / 1000, drawn = 0;
    for (bool on = true; on;) {
        struct pollfd fds[] = {
            {STDIN_FILENO, POLLIN, 0}, {signals[0], POLLIN, 0}, {top.window.fds.fd, POLLIN, 0}};
        if (poll(fds, 3, DRAW_MS) < 0 && errno != EINTR)
            return;
        if (fds[1].revents)
            on = read_signals();
        if (fds[0].revents & (POLLHUP | POLLERR))
            return; /* the terminal is gone */
        if (fds[2].revents)
            fd_watch_all(&top.window.fds);
        for (int key; on && (key = getch()) != ERR;) {
            on = on_key(key);
            drawn = 0;
        }
        count_second(&last);
        if (on && (fds[1].revents || now_ms() - drawn >= DRAW_MS)) {
            draw();
            drawn = now_ms();
        }
    }
}

int top_run(const char *program)
{
    struct bk_err err;
    const struct window_calls calls = {
        .source = on_source, .event = on_event, .question = on_question};
    top.program = program;
    if (window_open(&top.window, &calls, true, &err) < 0) {
        fprintf(stderr, "buckle: %s\n", err.msg);
        return 2;
    }
    if (start_terminal() < 0) {
        fprintf(stderr, "buckle: top needs a terminal\n");
        return 2;
    }
    loop();
    endwin();
    window_close(&top.window);
    asked_free(&top.asked);
    return 0;
}
