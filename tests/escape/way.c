/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Other names for the same file. IN may be written, OUT may not (and may be read, unless the test
 * says otherwise); both contain "victim". Every attempt here reaches OUT by something other than
 * its name, and must fail: a line with "ok" is an escape. Lines with "own" must be ok.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "escape.h"

static const char *joined(const char *a, const char *b)
{
    static char text[PATH_MAX + 64];
    snprintf(text, sizeof(text), "%s%s", a, b);
    return text;
}

/* Everything that would change the file or the folder around it. */
static void report_changes(const char *way, const char *victim)
{
    static const struct timespec times[2] = {{1, 1}, {1, 1}};
    static char what[256];
#define WHAT(text) (snprintf(what, sizeof(what), "%s: " text, way), what)
    report_fd(WHAT("write"), open(victim, O_WRONLY));
    report_fd(WHAT("append"), open(victim, O_WRONLY | O_APPEND));
    report_fd(WHAT("truncate by opening"), open(victim, O_RDONLY | O_TRUNC));
    report_fd(WHAT("create"), open(joined(victim, "-new"), O_WRONLY | O_CREAT, 0600));
    report(WHAT("truncate"), truncate(victim, 0));
    report(WHAT("chmod"), chmod(victim, 0777));
    report(WHAT("times"), utimensat(AT_FDCWD, victim, times, 0));
    report(WHAT("xattr"), setxattr(victim, "user.x", "v", 1, 0));
    report(WHAT("mkdir"), mkdir(joined(victim, "-dir"), 0700));
    report(WHAT("symlink"), symlink("x", joined(victim, "-link")));
    report(WHAT("fifo"), mkfifo(joined(victim, "-fifo"), 0600));
    report(WHAT("rename"), rename(victim, joined(victim, "-moved")));
    report(WHAT("unlink"), unlink(victim));
#undef WHAT
}

/* ---- through procfs ---- */

static void by_process(const char *way, const char *entry, const char *out)
{
    char victim[PATH_MAX];
    snprintf(victim, sizeof(victim), "%s%s/victim", entry, out);
    report_changes(way, victim);
}

/* A child that waits, with its working directory at OUT. */
static pid_t child_at(const char *out)
{
    int ready[2];
    char byte;
    must(pipe(ready), "pipe");
    pid_t pid = fork();
    must(pid, "fork");
    if (pid == 0) {
        must(chdir(out), "chdir");
        must(write(ready[1], "x", 1), "write");
        pause();
        _exit(0);
    }
    must(read(ready[0], &byte, 1), "read");
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static int way_proc(char **a)
{
    char entry[64];
    const char *out = a[1];
    by_process("/proc/self/root", "/proc/self/root", out);
    by_process("/proc/thread-self/root", "/proc/thread-self/root", out);
    by_process("/proc/1/root", "/proc/1/root", out);
    pid_t child = child_at(out);
    snprintf(entry, sizeof(entry), "/proc/%d/cwd/victim", child);
    report_changes("a child's cwd", entry);
    snprintf(entry, sizeof(entry), "/proc/%d/root", child);
    by_process("a child's root", entry, out);
    snprintf(entry, sizeof(entry), "/proc/%d/task/%d/cwd/victim", child, child);
    report_changes("a child's thread's cwd", entry);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    int held = open(out, O_PATH | O_DIRECTORY);
    must(held, "open the folder");
    snprintf(entry, sizeof(entry), "/proc/self/fd/%d/victim", held);
    report_changes("a held folder", entry);
    snprintf(entry, sizeof(entry), "/proc/self/fdinfo/../fd/%d/victim", held);
    report_changes("a held folder, dotted", entry);
    snprintf(entry, sizeof(entry), "/dev/fd/%d/victim", held);
    report_changes("/dev/fd", entry);
    return 0;
}

/* ---- through descriptors ---- */

/* Sends a descriptor to ourselves, which yields a new descriptor of the same file. */
static int passed(int fd)
{
    int pair[2];
    char byte = 'x', room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec one = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(int));
    must(sendmsg(pair[0], &m, 0), "sendmsg");
    must(recvmsg(pair[1], &m, 0), "recvmsg");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
    close(pair[0]);
    close(pair[1]);
    return fd;
}

static void by_folder(const char *way, int dir)
{
    char what[128];
#define WHAT(text) (snprintf(what, sizeof(what), "%s: " text, way), what)
    report_fd(WHAT("write"), openat(dir, "victim", O_WRONLY));
    report_fd(WHAT("create"), openat(dir, "new", O_WRONLY | O_CREAT, 0600));
    report_fd(WHAT("unnamed"), openat(dir, ".", O_WRONLY | O_TMPFILE, 0600));
    report(WHAT("mkdir"), mkdirat(dir, "new", 0700));
    report(WHAT("symlink"), symlinkat("x", dir, "new"));
    report(WHAT("device"), mknodat(dir, "new", S_IFIFO | 0600, 0));
    report(WHAT("rename"), renameat(dir, "victim", dir, "moved"));
    report(WHAT("link"), linkat(dir, "victim", dir, "linked", 0));
    report(WHAT("chmod"), fchmodat(dir, "victim", 0777, 0));
    report(WHAT("unlink"), unlinkat(dir, "victim", 0));
    report(WHAT("rmdir"), unlinkat(dir, "sub", AT_REMOVEDIR));
#undef WHAT
}

static void by_file(const char *way, int fd)
{
    static const struct timespec times[2] = {{1, 1}, {1, 1}};
    char what[128], path[64];
    int flags = FS_NODUMP_FL;
#define WHAT(text) (snprintf(what, sizeof(what), "%s: " text, way), what)
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    report_fd(WHAT("open again"), open(path, O_WRONLY));
    report_fd(WHAT("open again to truncate"), open(path, O_RDONLY | O_TRUNC));
    report(WHAT("truncate"), truncate(path, 0));
    report(WHAT("ftruncate"), ftruncate(fd, 0));
    report(WHAT("fallocate"), fallocate(fd, 0, 0, 100));
    report(WHAT("fchmod"), fchmod(fd, 0777));
    report(WHAT("chmod"), chmod(path, 0777));
    report(WHAT("fchown"), fchown(fd, getuid(), getgid()));
    report(WHAT("futimens"), futimens(fd, times));
    report(WHAT("utimensat"), utimensat(fd, "", times, AT_EMPTY_PATH));
    report(WHAT("fsetxattr"), fsetxattr(fd, "user.x", "v", 1, 0));
    report(WHAT("flags"), ioctl(fd, FS_IOC_SETFLAGS, &flags));
    report(WHAT("link by number"), linkat(fd, "", AT_FDCWD, "linked", AT_EMPTY_PATH));
    report(WHAT("link by path"), linkat(AT_FDCWD, path, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW));
#undef WHAT
}

static int way_descriptor(char **a)
{
    const char *out = a[1];
    int dir = open(out, O_RDONLY | O_DIRECTORY), name = open(out, O_PATH);
    int file = open(in_folder(out, "victim"), O_RDONLY);
    int file_name = open(in_folder(out, "victim"), O_PATH);
    must(dir, "open the folder");
    must(name, "name the folder");
    must(file, "open the file");
    must(file_name, "name the file");
    by_folder("a folder", dir);
    by_folder("a folder's name", name);
    by_folder("a folder passed to oneself", passed(dir));
    by_folder("a folder's name passed to oneself", passed(name));
    by_file("a file", file);
    by_file("a file's name", file_name);
    by_file("a file passed to oneself", passed(file));
    int sub = open(in_folder(out, "sub"), O_PATH);
    report_fd("upwards", openat(sub, "../victim", O_WRONLY));
    must(fchdir(sub), "fchdir");
    report_fd("upwards from there", open("../victim", O_WRONLY));
    report("rename upwards", rename("../victim", "victim"));
    return 0;
}

/* SOCKET belongs to a process outside that sends four descriptors: OUT and its victim, each opened
 * for reading and with O_PATH. */
static int way_passed(char **a)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fds[4], from = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte, room[CMSG_SPACE(sizeof(fds))] = {0};
    struct iovec one = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", a[0]);
    must(connect(from, (struct sockaddr *)&to, sizeof(to)), "connect");
    must(recvmsg(from, &m, 0), "recvmsg");
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    must(c && c->cmsg_len == CMSG_LEN(sizeof(fds)) ? 0 : -1, "descriptors");
    memcpy(fds, CMSG_DATA(c), sizeof(fds));
    by_folder("a folder", fds[0]);
    by_folder("a folder's name", fds[1]);
    by_file("a file", fds[2]);
    by_file("a file's name", fds[3]);
    return 0;
}

/* ---- through links and moves ---- */

static int way_link(char **a)
{
    const char *victim = in_folder(a[1], "victim"), *here = in_folder(a[0], "taken");
    const char *outer = a[1];
    char upper[PATH_MAX];
    must(chdir(a[0]), "chdir");
    report("link to it", link(victim, here));
    report("move it in", rename(victim, here));
    report("move its folder in", rename(outer, here));
    report("move a file over it", rename("victim", victim));
    report("exchange",
           syscall(SYS_renameat2, AT_FDCWD, victim, AT_FDCWD, "victim", RENAME_EXCHANGE));
    report("exchange folders",
           syscall(SYS_renameat2, AT_FDCWD, outer, AT_FDCWD, "sub", RENAME_EXCHANGE));
    report("exchange our folder",
           syscall(SYS_renameat2, AT_FDCWD, a[0], AT_FDCWD, outer, RENAME_EXCHANGE));
    snprintf(upper, sizeof(upper), "%s", outer);
    *strrchr(upper, '/') = '\0';
    report("move what holds both", rename(upper, joined(upper, "-moved")));
    must(symlink(outer, "to-folder"), "symlink");
    must(symlink(victim, "to-file"), "symlink");
    must(symlink("to-file", "to-link"), "symlink");
    must(symlink(joined(outer, "/new"), "to-nothing"), "symlink");
    must(symlink("to-folder/../un/new", "to-nothing-2"), "symlink");
    report_changes("a link to the folder", "to-folder/victim");
    report_fd("a link to the file", open("to-file", O_WRONLY));
    report_fd("a link to a link", open("to-link", O_WRONLY | O_CREAT, 0600));
    report_fd("a dangling link", open("to-nothing", O_WRONLY | O_CREAT, 0600));
    report_fd("a dangling link through a link", open("to-nothing-2", O_WRONLY | O_CREAT, 0600));
    report("chmod through a link", chmod("to-link", 0777));
    report("mkdir through a dangling link", mkdir("to-nothing/x", 0700));
    report("bind upwards", rename("to-file", "to-folder/planted"));
    report("link a link there", link("to-file", "to-folder/planted"));
    return 0;
}

/* ---- odd names ---- */

/* A path to the victim of exactly n bytes, made longer by slashes and dots. */
static char *stretched(const char *folder, size_t n, const char *filler)
{
    static char path[PATH_MAX + 64];
    size_t have = strlen(folder), last = strlen("victim"), piece = strlen(filler);
    memcpy(path, folder, have);
    path[have++] = '/';
    while (have + piece + last <= n) {
        memcpy(path + have, filler, piece);
        have += piece;
    }
    while (have + last < n)
        path[have++] = '/';
    memcpy(path + have, "victim", last + 1);
    return path;
}

static void odd_name(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    report_fd("own: odd name", fd);
    if (fd >= 0)
        report("own: odd name, removed", unlink(name));
}

static void long_paths(const char *out)
{
    static const char *const fillers[] = {"/", "./", "sub/../", "sub/../../un/"};
    char what[64];
    for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++)
        for (size_t n = 4090; n <= 4100; n++) {
            snprintf(what, sizeof(what), "%zu bytes of %s", n, fillers[i]);
            report_fd(what, open(stretched(out, n, fillers[i]), O_WRONLY));
        }
}

/* Deeper than any path can be: names are then relative to a folder whose path is too long. The
 * judge cannot name it, so it denies. */
static void too_deep(const char *out)
{
    static char name[200];
    memset(name, 'd', sizeof(name) - 1);
    for (int i = 0; i < 30 && mkdir(name, 0700) == 0; i++)
        must(chdir(name), "chdir");
    printf("deepest: %s\n", strerrorname_np(errno));
    report_fd("from too deep", open(in_folder(out, "victim"), O_WRONLY));
    if (symlink(out, "o") == 0)
        report_fd("a link from too deep", open("o/victim", O_WRONLY));
}

static int way_names(char **a)
{
    const char *out = a[1];
    must(chdir(a[0]), "chdir");
    odd_name("new\nline");
    odd_name("\033[31mred");
    odd_name("\xff\xfe\x80");
    odd_name("\xc3");
    odd_name(" ");
    odd_name("(deleted)");
    odd_name("x (deleted)");
    odd_name("*?[a-z]{1,2}");
    odd_name("\\x2f");
    long_paths(out);
    /* the same bytes with another end, which must not count as a match */
    report_fd("a sibling", open(joined(a[0], "2"), O_WRONLY | O_CREAT, 0600));
    report_fd("a sibling in odd bytes", open(joined(a[0], "\n/x"), O_WRONLY | O_CREAT, 0600));
    report("a folder beside", mkdir(joined(a[0], "\xff"), 0700));
    too_deep(out);
    return 0;
}

/* ---- reading what may not be read ---- */

static void report_reads(const char *way, const char *victim)
{
    char what[256], byte;
    int fd = open(victim, O_RDONLY);
    snprintf(what, sizeof(what), "%s: open", way);
    report(what, fd);
    if (fd >= 0 && read(fd, &byte, 1) == 1)
        printf("%s: has read it: ok\n", way);
    if (fd >= 0)
        close(fd);
}

/* The test's policy denies reading OUT/victim. */
static int way_read(char **a)
{
    const char *victim = in_folder(a[1], "victim");
    char path[PATH_MAX];
    must(chdir(a[0]), "chdir");
    report_reads("by name", victim);
    report_reads("/proc/self/root", joined("/proc/self/root", victim));
    report_reads("/proc/1/root", joined("/proc/1/root", victim));
    if (symlink(victim, "link") == 0)
        report_reads("a link", "link");
    report("a hard link", link(victim, "hard"));
    report("moved in", rename(victim, "moved"));
    int dir = open(a[1], O_PATH), name = open(victim, O_PATH);
    if (dir >= 0) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d/victim", dir);
        report_reads("a held folder", path);
        report_fd("openat", openat(dir, "victim", O_RDONLY));
    }
    if (name >= 0) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", name);
        report_reads("a held name", path);
        report("link by number", linkat(name, "", AT_FDCWD, "hard2", AT_EMPTY_PATH));
    }
    report_fd("for both", open(victim, O_RDWR));
    report_fd("by openat2", (int)syscall(SYS_openat2, AT_FDCWD, victim,
                                         (uint64_t[3]){O_RDONLY, 0, 0}, sizeof(uint64_t[3])));
    report("as a program", execl(victim, victim, (char *)NULL));
    report_fd("as a socket's file", (int)syscall(SYS_open_tree, AT_FDCWD, victim, 1));
    return 0;
}

const struct attack attacks_way[] = {
    {"way-proc", 2, way_proc},
    {"way-descriptor", 2, way_descriptor},
    {"way-link", 2, way_link},
    {"way-names", 2, way_names},
    {"way-read", 2, way_read},
    {"way-passed", 1, way_passed},
    {0},
};
