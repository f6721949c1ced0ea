/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Starting programs: creating processes, executing files, mapping code.
 *
 * The judge judges a file to be executed by its canonical path, and the interpreters of scripts as
 * well. But only the kernel can execute it, and the kernel reads the path again; by then another
 * thread may have replaced it. So the judge watches a process that it let proceed until its new
 * program runs, and kills it if the policy does not allow that program. If folders bound what may
 * be executed, Landlock stops everything else from the start.
 *
 * The judge never sees code that a running program loads, copies or generates by itself.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/handle-exec.h"
#include "kernel/judge/handle-userns.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"

struct answer handle_fork(struct judge *j, const struct request *r)
{
    if (r->nr == SYS_clone && userns_is_refused(j, r->args[0]))
        return userns_refuse(j, r, r->args[0]);
    if (r->nr == SYS_clone && (r->args[0] & CLONE_THREAD))
        return answer_continue(); /* a thread: thread-cache.c observes it */
    return answer_verdict(ask_about(j, r, OP_PROCESS_FORK, NULL, 0, "a new process"));
}

/* ---- what a file is ---- */

enum { HEAD = 256, SCRIPTS_NESTED = 5 }; /* the kernel's limits */
enum image { IMAGE_PLAIN, IMAGE_SCRIPT, IMAGE_OTHER };

/* For a script, *name and *n become its interpreter's path inside head. */
static enum image read_image(int pin, char head[HEAD + 1], const char **name, size_t *n)
{
    char path[32];
    snprintf(path, sizeof(path), "self/fd/%d", pin);
    OWN(fd) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, head, HEAD);
    if (got < 4)
        return IMAGE_OTHER; /* unreadable: judged once it runs */
    head[got] = '\0';
    if (memcmp(head, "\177ELF", 4) == 0)
        return IMAGE_PLAIN;
    if (memcmp(head, "#!", 2) != 0)
        return IMAGE_OTHER;
    *name = head + 2 + strspn(head + 2, " \t");
    *n = strcspn(*name, " \t\n");
    return *n > 0 ? IMAGE_SCRIPT : IMAGE_OTHER;
}

/* A program that is being started. */
struct start {
    enum image image;
    const char *name; /* that it is called by; "": by a file descriptor */
    uint32_t fits;    /* rules about commands that count from now on (commands.h) */
};

static char script[PATH_BYTES]; /* its path, if it is one */

static void note_command(struct judge *j, const struct pinned *p, struct start *s)
{
    const char *name = s->name[0] ? s->name : p->path;
    s->fits |= commands_fit(j, p->path, p->path_len, s->name);
    snprintf(script, sizeof(script), "%.*s", PATH_BYTES - 1, name);
    commands_starting(j, s->fits, p->path, p->path_len);
}

static void note_interpreter(struct judge *j, const struct pinned *p, const char *line,
                             struct start *s)
{
    size_t n = strcspn(line, "\n");
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'))
        n--;
    s->fits |= commands_fit_script(j, p->path, p->path_len, line, n, script);
    commands_starting(j, s->fits, script, strlen(script));
}

/* Finds an interpreter as the caller would. */
typedef int pin_fn(struct judge *j, const struct request *r, const char *path, size_t n,
                   struct pinned *out);

/* Asks about a file, its interpreter, the interpreter's interpreter, and so on. */
static int ask_image(struct judge *j, const struct request *r, struct pinned *p, pin_fn *pin,
                     struct start *s)
{
    char head[HEAD + 1];
    const char *name = NULL;
    size_t n = 0;
    if (j->commands.on)
        note_command(j, p, s);
    int err = ask_object(j, r, OP_PROCESS_EXEC, p);
    enum image *image = &s->image;
    *image = err == 0 ? read_image(p->fd, head, &name, &n) : IMAGE_OTHER;
    enum image next = *image;
    for (int depth = 0; err == 0 && next == IMAGE_SCRIPT; depth++) {
        if (depth == SCRIPTS_NESTED)
            return -ELOOP;
        pinned_close(p);
        err = pin(j, r, name, n, p);
        if (err == 0 && j->commands.on)
            note_interpreter(j, p, name, s);
        if (err == 0)
            err = ask_object(j, r, OP_PROCESS_EXEC_INTERPRETER, p);
        if (err == 0)
            next = read_image(p->fd, head, &name, &n);
    }
    return err;
}

/* ---- watching ---- */

enum { LOOK_SOON_MS = 1, LOOK_LATER_MS = 20, SOON_MS = 30, PATIENCE_MS = 5000 };

uint64_t exec_stack(const struct judge *j, pid_t pid)
{
    char text[1024];
    (void)proc_read(j->proc, text, sizeof(text), "%d/stat", pid);
    const char *at = proc_after_name(text);
    for (int field = 3; at && field < 28; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static int exe_of(const struct judge *j, pid_t pid, int flags)
{
    char name[32];
    snprintf(name, sizeof(name), "%d/exe", pid);
    return openat(j->proc, name, flags | O_CLOEXEC);
}

static bool same_file(const struct watched_exec *x, int exe)
{
    struct stat st;
    return fstat(exe, &st) == 0 && st.st_dev == x->dev && st.st_ino == x->ino;
}

static bool is_alive(const struct watched_exec *x)
{
    return syscall(SYS_pidfd_send_signal, x->pidfd, 0, NULL, 0) == 0;
}

static int watch_exec(struct judge *j, const struct request *r, const struct start *s)
{
    struct stat st;
    if (j->execs.nwatched == WATCHED_EXECS)
        exec_check_watched(j, 0);
    if (j->execs.nwatched == WATCHED_EXECS)
        return -EAGAIN;
    struct watched_exec x = {
        .pid = target_process(j, r), .tid = r->tid, .any = s->image != IMAGE_PLAIN};
    x.fits = s->fits;
    if (x.pid <= 0)
        return -EPERM;
    OWN(fd) int exe = exe_of(j, x.pid, O_PATH);
    if (exe < 0 || fstat(exe, &st) < 0)
        return -EPERM;
    x.dev = st.st_dev;
    x.ino = st.st_ino;
    x.stack = exec_stack(j, x.pid);
    x.since = now_ms();
    if (!x.stack)
        return -EPERM;
    x.pidfd = (int)syscall(SYS_pidfd_open, x.pid, 0);
    if (x.pidfd < 0)
        return -EPERM;
    if (!request_is_valid(j, r)) {
        close(x.pidfd);
        return -EPERM;
    }
    j->execs.watched[j->execs.nwatched++] = x;
    return 0;
}

/* Whether the process may run its current program; for a script, that is the interpreter. */
static bool may_run(struct judge *j, const struct watched_exec *x, int exe)
{
    struct request r = {.tid = x->pid, .nr = SYS_execve};
    struct pinned p = {.fd = exe, .parent = -1};
    if (pin_describe(j, &r, 0, &p) < 0)
        return false;
    if (would_allow(j, OP_PROCESS_EXEC, p.path, p.path_len, &p.st) ||
        (x->any && would_allow(j, OP_PROCESS_EXEC_INTERPRETER, p.path, p.path_len, &p.st)))
        return true;
    ask_object(j, &r, x->any ? OP_PROCESS_EXEC_INTERPRETER : OP_PROCESS_EXEC, &p);
    return false;
}

/* Whether the process runs with the arguments that were judged. Another thread may have changed
 * them in memory while the kernel executed the program. What is found then counts as well. */
static bool may_run_as(struct judge *j, const struct watched_exec *x, int exe)
{
    struct request r = {.tid = x->pid, .nr = SYS_execve};
    struct pinned p = {.fd = exe, .parent = -1};
    if (pin_describe(j, &r, 0, &p) < 0)
        return false;
    uint32_t fits = commands_fit(j, p.path, p.path_len, NULL);
    if (!(fits & ~x->fits))
        return true;
    commands_label_process(j, x->pid, fits);
    commands_starting(j, fits, p.path, p.path_len);
    enum vocab_op op = x->any ? OP_PROCESS_EXEC_INTERPRETER : OP_PROCESS_EXEC;
    bool allowed = would_allow(j, op, p.path, p.path_len, &p.st);
    if (!allowed)
        ask_object(j, &r, op, &p);
    if (!allowed)
        commands_condemn(j, x->pid);
    j->commands.starting = 0;
    return allowed;
}

/* Returns true if the process need not be watched any more. */
static bool check_watched(struct judge *j, const struct watched_exec *x, bool acts, uint64_t now)
{
    /* in this order: if the stack has moved, the new program is there, too. While the process
     * passes from its main thread to the one that executes, there is no stack: that is before the
     * exec. */
    uint64_t stack = exec_stack(j, x->pid);
    bool moved = stack && stack != x->stack;
    OWN(fd) int exe = exe_of(j, x->pid, O_PATH);
    bool changed = exe >= 0 && (moved || !same_file(x, exe));
    /* while the process exists, its pid is not reused */
    if (!is_alive(x))
        return true;
    if (!changed) /* a thread that makes another call has failed to execute */
        return exe >= 0 && (acts || now - x->since > PATIENCE_MS);
    bool late = acts || now - x->since > PATIENCE_MS;
    if (j->commands.on && !commands_read_process(j, x->pid) && !late)
        return false; /* its arguments are not there yet */
    if ((j->execs.judged && !may_run(j, x, exe)) || (j->commands.on && !may_run_as(j, x, exe)))
        syscall(SYS_pidfd_send_signal, x->pidfd, SIGKILL, NULL, 0);
    return true;
}

void exec_check_watched(struct judge *j, pid_t tid)
{
    uint64_t now = j->execs.nwatched ? now_ms() : 0;
    for (size_t i = 0; i < j->execs.nwatched;) {
        struct watched_exec *x = &j->execs.watched[i];
        bool meant = !tid || x->pid == tid || x->tid == tid;
        if (!meant || !check_watched(j, x, x->tid == tid, now)) {
            i++;
            continue;
        }
        close(x->pidfd);
        *x = j->execs.watched[--j->execs.nwatched];
    }
}

const struct timespec *exec_timeout(const struct judge *j)
{
    static const struct timespec soon = {0, LOOK_SOON_MS * 1000000},
                                 later = {0, LOOK_LATER_MS * 1000000};
    uint64_t now = j->execs.nwatched ? now_ms() : 0;
    for (size_t i = 0; i < j->execs.nwatched; i++)
        if (now - j->execs.watched[i].since < SOON_MS)
            return &soon;
    return j->execs.nwatched ? &later : NULL;
}

/* ---- callers ---- */

/* Kills the caller's process: the one that waits for an answer, never a later one with the same
 * pid. */
static void kill_caller(struct judge *j, const struct request *r)
{
    pid_t pid = target_process(j, r);
    OWN(fd) int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (pidfd >= 0 && request_is_valid(j, r))
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* A program that won a race may exit before it is checked, and leave children. So callers are
 * checked, too; programs that passed are remembered. */
bool exec_caller_is_known(struct judge *j, const struct request *r)
{
    OWN(fd) int exe = exe_of(j, r->tid, O_PATH);
    struct pinned p = {.fd = exe, .parent = -1};
    struct stat st;
    if (exe < 0 || fstat(exe, &st) < 0 || !request_is_valid(j, r))
        return false;
    struct program *known = &j->execs.programs[(st.st_ino ^ st.st_dev) % KNOWN_PROGRAMS];
    if ((known->ino == st.st_ino && known->dev == st.st_dev) ||
        (j->applied.pid && j->execs.own_program.ino == st.st_ino &&
         j->execs.own_program.dev == st.st_dev))
        return true;
    if (pin_describe(j, r, 0, &p) < 0)
        return false;
    if (would_allow(j, OP_PROCESS_EXEC, p.path, p.path_len, &p.st) ||
        would_allow(j, OP_PROCESS_EXEC_INTERPRETER, p.path, p.path_len, &p.st)) {
        *known = (struct program){st.st_dev, st.st_ino};
        return true;
    }
    ask_object(j, r, OP_PROCESS_EXEC, &p);
    kill_caller(j, r);
    return false;
}

/* ---- executing ---- */

struct answer handle_exec(struct judge *j, const struct request *r)
{
    bool at = r->nr == SYS_execveat;
    int flags = at ? (int)r->args[4] : 0;
    struct start s = {.name = ""};
    OWN(pinned) struct pinned p;
    if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
        return answer_errno(EINVAL);
    int err = pin_object(j, r, at ? (int)r->args[0] : AT_FDCWD, r->args[at ? 1 : 0],
                         (flags & AT_EMPTY_PATH ? PIN_EMPTY : 0) |
                             (flags & AT_SYMLINK_NOFOLLOW ? PIN_NOFOLLOW : 0),
                         0, &p);
    if (err == 0 && S_ISLNK(p.st.st_mode))
        err = -ELOOP;
    if (err == 0 && j->commands.on) {
        s.name = strcpy(j->path[1], j->path[0]);
        err = commands_read(j, r, r->args[at ? 2 : 1]);
    }
    if (err == 0)
        err = ask_image(j, r, &p, pin_object_copied, &s);
    if (err == 0 && j->commands.on)
        err = commands_label(j, r, s.fits);
    if (err == 0)
        err = watch_exec(j, r, &s);
    return answer_verdict(err);
}

/* ---- the command itself ---- */

/* The judge's working directory is procfs here; the command's is first_cwd. */
static int pin_at_start(struct judge *j, const struct request *r, const char *path, size_t n,
                        struct pinned *out)
{
    char name[PATH_BYTES];
    *out = (struct pinned){.fd = -1, .parent = -1};
    if (n >= sizeof(name))
        return -ENAMETOOLONG;
    memcpy(name, path, n);
    name[n] = '\0';
    int fd = openat(j->execs.first_cwd, name, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    out->fd = fd;
    int err = pin_describe(j, r, 0, out);
    if (err < 0)
        pinned_close(out);
    return err;
}

/* The next candidate in PATH for a name without a slash. Returns its length; 0 at the end. */
static int next_candidate(const char **search, const char *name, char out[PATH_BYTES])
{
    if (!*search)
        return 0;
    size_t n = strcspn(*search, ":");
    int len = snprintf(out, PATH_BYTES, "%.*s%s%s", (int)n, *search, n ? "/" : "", name);
    *search = (*search)[n] ? *search + n + 1 : NULL;
    return len;
}

/* Whether the path is an executable file. Returns 0 or a negative errno. */
static int check_executable(const struct judge *j, const char *path)
{
    struct stat st;
    if (fstatat(j->execs.first_cwd, path, &st, 0) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || faccessat(j->execs.first_cwd, path, X_OK, AT_EACCESS) < 0)
        return -EACCES;
    return 0;
}

static int find_program(const struct judge *j, const char *name, char out[PATH_BYTES])
{
    const char *search = getenv("PATH");
    int err = -ENOENT, worst = -ENOENT;
    if (strchr(name, '/') || !name[0]) {
        snprintf(out, PATH_BYTES, "%s", name);
        return check_executable(j, out);
    }
    search = search ? search : "/bin:/usr/bin";
    for (int n; err < 0 && (n = next_candidate(&search, name, out)) > 0;) {
        err = n < PATH_BYTES ? check_executable(j, out) : -ENAMETOOLONG;
        worst = err == -EACCES ? err : worst;
    }
    return err < 0 ? worst : 0;
}

int exec_judge_command(struct judge *j, int cwd, char *const *argv, char out[PATH_BYTES])
{
    struct request r = {.tid = getpid(), .nr = SYS_execve};
    struct start s = {.name = argv[0]};
    OWN(pinned) struct pinned p = {.fd = -1, .parent = -1};
    j->execs.first_cwd = cwd;
    int err = find_program(j, argv[0], out);
    if (err == 0)
        err = pin_at_start(j, &r, out, strlen(out), &p);
    if (err < 0)
        return err;
    if (j->commands.on)
        commands_take(j, argv);
    /* the user has started it, and so agreed */
    uint64_t lifted = j->questions.lifted;
    j->questions.lifted = UINT64_MAX;
    err = ask_image(j, &r, &p, pin_at_start, &s);
    j->questions.lifted = lifted;
    j->commands.base = s.fits & j->commands.narrowing;
    return err;
}

/* ---- code in memory ---- */

static int ask_code(struct judge *j, const struct request *r)
{
    return ask_about(j, r, OP_DYNAMIC_CODE_GENERATION, NULL, 0,
                     r->nr == SYS_mmap ? "executable memory" : "memory made executable");
}

struct answer handle_map(struct judge *j, const struct request *r)
{
    int prot = (int)r->args[2], flags = (int)r->args[3];
    bool unnamed = flags & MAP_ANONYMOUS;
    int err = unnamed || (prot & PROT_WRITE) ? ask_code(j, r) : 0;
    if (err < 0 || unnamed)
        return answer_verdict(err);
    OWN(pinned) struct pinned p;
    err = pin_descriptor(j, r, (int)r->args[4], 0, &p);
    return answer_verdict(err == 0 ? ask_object(j, r, OP_FILE_MAP_EXECUTABLE, &p) : err);
}

/* One line of maps: "from-to perms offset device inode path". Asks about it if the call would make
 * it executable. */
static int ask_line(struct judge *j, const struct request *r, char *line)
{
    unsigned long long from, to;
    char perms[8];
    int at = 0;
    uint64_t start = r->args[0], end = start + r->args[1];
    if (sscanf(line, "%llx-%llx %7s %*s %*s %*s %n", &from, &to, perms, &at) < 3 ||
        strlen(perms) != 4)
        return -EPERM;
    bool writes = r->args[2] & PROT_WRITE;
    if (to <= start || from >= end || (perms[2] == 'x' && (!writes || perms[1] == 'w')))
        return 0;
    const char *path = at ? line + at : "";
    bool file = path[0] == '/';
    if (file && strchr(path, '\\'))
        return -EPERM; /* the path is escaped, so not the real one */
    int err = !file || writes || perms[1] == 'w' ? ask_code(j, r) : 0;
    if (err < 0 || !file || perms[2] == 'x')
        return err;
    char *deleted = strstr(line + at, " (deleted)");
    if (deleted && !deleted[10])
        *deleted = '\0';
    return ask_name(j, r, OP_FILE_MAP_EXECUTABLE, path, strlen(path), NULL);
}

/* mprotect(): finds the files mapped at these addresses. Another thread may map something else
 * there meanwhile, just as it may copy code: see the threat model. */
struct answer handle_protect(struct judge *j, const struct request *r)
{
    char name[32], *text = j->value;
    size_t have = 0;
    int err = 0;
    snprintf(name, sizeof(name), "%d/maps", r->tid);
    OWN(fd) int fd = openat(j->proc, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !request_is_valid(j, r))
        return answer_errno(EPERM);
    for (ssize_t n; err == 0 && (n = read(fd, text + have, XATTR_BYTES - 1 - have)) > 0;) {
        have += (size_t)n;
        text[have] = '\0';
        char *line = text;
        for (char *end; err == 0 && (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            err = ask_line(j, r, line);
        }
        have -= (size_t)(line - text);
        memmove(text, line, have);
        if (have == XATTR_BYTES - 1)
            err = -EPERM;
    }
    return answer_verdict(err);
}
