/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Not attacks but everyday calls, and unusual ones that judges get wrong. The test runs them with
 * and without a sandbox, in a writable folder: the output must be the same.
 */

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "escape.h"
#include "legacy.h"
#include "like.h"

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    must(fd, path);
    must(write(fd, "content", 7), path);
    close(fd);
}

/* ---- strings and threads ---- */

/* Two pages, the second unreadable. */
static char *edge(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *m =
        mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(m == MAP_FAILED ? -1 : 0, "mmap");
    must(mprotect(m + page, (size_t)page, PROT_NONE), "mprotect");
    return m + page;
}

static int like_strings(char **a)
{
    char *end = edge(),
         *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)a;
    strcpy(end - 5, "edge"); /* its NUL is the last byte */
    report_fd("path up to the end of a page", open(end - 5, O_WRONLY | O_CREAT, 0600));
    memcpy(end - 4, "long", 4);
    report_fd("path without an end", open(end - 4, O_WRONLY | O_CREAT, 0600));
    strcpy(two + 4094, "across");
    report_fd("path across pages", open(two + 4094, O_WRONLY | O_CREAT, 0600));
    report_fd("no path", (int)syscall(SYS_open, NULL, O_WRONLY | O_CREAT, 0600));
    report_fd("path in the kernel", open((char *)-4096L, O_WRONLY | O_CREAT, 0600));
    report_fd("empty path", open("", O_WRONLY | O_CREAT, 0600));
    for (int n = 4094; n <= 4097; n++) {
        static char path[5000];
        memset(path, '/', sizeof(path));
        memcpy(path, "./", 2);
        snprintf(path + n - 4, 5, "%04d", n);
        char what[40];
        snprintf(what, sizeof(what), "path of %d bytes", n);
        report_fd(what, open(path, O_WRONLY | O_CREAT, 0600));
        snprintf(what, sizeof(what), "stat of %04d", n);
        report(what, access(path + n - 4, F_OK));
    }
    char name[300];
    memset(name, 'n', 299);
    name[299] = '\0';
    report_fd("name of 299 bytes", open(name, O_WRONLY | O_CREAT, 0600));
    name[255] = '\0';
    report_fd("name of 255 bytes", open(name, O_WRONLY | O_CREAT, 0600));
    report("mkdir of it", mkdir(name, 0700));
    report("unlink of it", unlink(name));
    return 0;
}

static void *in_thread(void *arg)
{
    (void)arg;
    report_fd("create in a thread", open("thread-file", O_WRONLY | O_CREAT, 0600));
    report("mkdir in a thread", mkdir("thread-dir", 0700));
    must(unshare(CLONE_FILES), "unshare");
    int fd = open("thread-file", O_RDONLY);
    report("fchmod with descriptors of its own", fchmod(fd, 0640));
    must(unshare(CLONE_FS), "unshare");
    must(chdir("thread-dir"), "chdir");
    umask(0);
    report_fd("create in a folder of its own", open("deep", O_WRONLY | O_CREAT, 0666));
    char *argv[] = {(char *)"/proc/self/exe", (char *)"like-after-exec", NULL};
    execv(argv[0], argv);
    report("exec in a thread", -1);
    return NULL;
}

static int like_threads(char **a)
{
    pthread_t t;
    (void)a;
    umask(022);
    must(-pthread_create(&t, NULL, in_thread, NULL), "thread");
    pthread_join(t, NULL);
    return 0;
}

void mode_of(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        printf("%s: %s\n", path, outcome(-1));
    else
        printf("%s: %o, %d links\n", path, st.st_mode, S_ISDIR(st.st_mode) ? 0 : (int)st.st_nlink);
    fflush(stdout);
}

static int like_after_exec(char **a)
{
    (void)a;
    report_fd("create after exec in a thread", open("after", O_WRONLY | O_CREAT, 0666));
    mode_of("after");
    mode_of("deep");
    return 0;
}

/* ---- names that mean the caller ---- */

static int like_magic(char **a)
{
    static const char *const paths[] = {
        "/proc/self/fd/100",
        "/proc/thread-self/fd/100",
        "/dev/fd/100",
        "//proc/self/fd/100",
        "/proc/./self/fd/100",
        "/dev/../proc/self/fd/100",
        "magic-link",
        "/proc/self/fd/99",
        "/proc/self/comm",
        "/proc/thread-self/comm",
        "/proc/self/oom_score_adj",
        "/dev/null",
        "/dev/./null",
        "/proc/self/nothing",
        "/dev/tty",
        "magic-dir/fd/100",
        "magic-dir/fd/99",
    };
    (void)a;
    make_file("magic");
    must(symlink("/proc/self/fd/100", "magic-link"), "symlink");
    must(symlink("../../../../../../proc/self", "magic-dir"), "symlink");
    int fd = open("magic", O_RDONLY);
    must(dup2(fd, 100), "dup2");
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        /* as shells open their output; nothing can be created in /proc */
        if (report_fd(paths[i], open(paths[i], O_WRONLY)))
            report_fd(paths[i], open(paths[i], O_WRONLY | O_CREAT, 0600));
    }
    int found = 0; /* numbers that another process may have open */
    for (int n = 3; n < 90; n++) {
        static const char *const folders[] = {"magic-dir/fd", "/dev/./fd"};
        for (int f = 0; f < 2; f++) {
            char path[32];
            snprintf(path, sizeof(path), "%s/%d", folders[f], n);
            int other = n == fd ? -1 : open(path, O_WRONLY);
            found += other >= 0;
            close(other);
        }
    }
    printf("descriptors of others: %d\n", found);
    int pipes[2];
    must(pipe(pipes), "pipe");
    must(dup2(pipes[1], 101), "dup2");
    int again = open("/proc/self/fd/101", O_WRONLY);
    report("a pipe again", again);
    report("writing to it", write(again, "x", 1));
    must(chdir("/proc/self"), "chdir");
    report_fd("fd/100, from /proc/self", open("fd/100", O_WRONLY));
    must(chdir("/dev"), "chdir");
    report_fd("fd/100, from /dev", open("fd/100", O_WRONLY));
    report_fd("stdout, from /dev", open("stdout", O_WRONLY));
    report_fd("null, from /dev", open("null", O_WRONLY));
    report("chmod through /proc", chmod("/proc/self/fd/100", 0600));
    return 0;
}

/* ---- creating and opening ---- */

static int like_open(char **a)
{
    (void)a;
    make_file("file");
    must(mkdir("dir", 0700), "mkdir");
    must(symlink("file", "link"), "symlink");
    must(symlink("made-by-link", "dangling"), "symlink");
    must(symlink("dir/made-by-link", "dangling2"), "symlink");
    must(symlink("loop", "loop"), "symlink");
    static const struct {
        const char *what, *path;
        int flags;
    } opens[] = {
        {"exclusive, exists", "file", O_WRONLY | O_CREAT | O_EXCL},
        {"exclusive, link", "link", O_WRONLY | O_CREAT | O_EXCL},
        {"exclusive, dangling", "dangling", O_WRONLY | O_CREAT | O_EXCL},
        {"no follow, link", "link", O_WRONLY | O_NOFOLLOW},
        {"no follow, dangling, create", "dangling", O_WRONLY | O_CREAT | O_NOFOLLOW},
        {"no follow, file", "file", O_WRONLY | O_NOFOLLOW},
        {"link", "link", O_WRONLY},
        {"dangling", "dangling", O_WRONLY},
        {"dangling, create", "dangling", O_WRONLY | O_CREAT},
        {"dangling in a folder, create", "dangling2", O_RDWR | O_CREAT},
        {"loop", "loop", O_WRONLY},
        {"loop, create", "loop", O_WRONLY | O_CREAT},
        {"folder", "dir", O_WRONLY},
        {"folder, create", "dir", O_WRONLY | O_CREAT},
        {"folder, read and create", "dir", O_RDONLY | O_CREAT},
        {"folder with a slash, create", "dir/", O_WRONLY | O_CREAT},
        {"new with a slash", "new/", O_WRONLY | O_CREAT},
        {"file with a slash", "file/", O_WRONLY},
        {"below a file", "file/x", O_WRONLY | O_CREAT},
        {"below nothing", "nothing/x", O_WRONLY | O_CREAT},
        {"dot", ".", O_WRONLY | O_CREAT},
        {"dot dot", "dir/..", O_RDWR},
        {"must be a folder", "file", O_RDWR | O_DIRECTORY},
        {"folder and create", "newdir", O_RDONLY | O_DIRECTORY | O_CREAT},
        {"name only", "file", O_PATH | O_WRONLY},
        {"name only, create", "nothing", O_PATH | O_WRONLY | O_CREAT},
        {"unnamed", "dir", O_RDWR | O_TMPFILE},
        {"unnamed for reading", "dir", O_RDONLY | O_TMPFILE},
        {"unnamed in a file", "file", O_RDWR | O_TMPFILE},
        {"unnamed in nothing", "nothing", O_RDWR | O_TMPFILE},
        {"truncate", "file", O_WRONLY | O_TRUNC},
        {"truncate while reading", "file", O_RDONLY | O_TRUNC},
        {"neither reading nor writing", "file", O_ACCMODE},
        {"unknown flags", "file", O_WRONLY | 0x40000000},
    };
    for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++)
        report_fd(opens[i].what, open(opens[i].path, opens[i].flags, 0640));
    report_fd("at a descriptor that is none", openat(77, "x", O_WRONLY | O_CREAT, 0600));
    int fd = open("file", O_RDONLY);
    report_fd("at a file", openat(fd, "x", O_WRONLY | O_CREAT, 0600));
    mode_of("made-by-link");
    return 0;
}

static int like_results(char **a)
{
    (void)a;
    int first = open("/dev/null", O_RDONLY), fd;
    close(first);
    fd = open("file", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    printf("lowest number: %d\n", fd == first);
    printf("flags: %o %d\n", fcntl(fd, F_GETFL) & ~0100000, fcntl(fd, F_GETFD));
    int other = open("file", O_RDWR | O_NONBLOCK);
    printf("flags: %o %d\n", fcntl(other, F_GETFL) & ~0100000, fcntl(other, F_GETFD));
    report("lock", flock(fd, LOCK_EX | LOCK_NB));
    report("lock again", flock(other, LOCK_EX | LOCK_NB));
    report("grow", ftruncate(other, 4096));
    char *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
    report("shared memory", m == MAP_FAILED ? -1 : 0);
    struct rlimit few = {(rlim_t)other + 1, (rlim_t)other + 1};
    must(setrlimit(RLIMIT_NOFILE, &few), "setrlimit");
    report_fd("too many descriptors", open("file", O_RDWR));
    pid_t child = vfork();
    if (child == 0)
        _exit(mkdir("by-vfork", 0700) == 0 ? 7 : 8);
    int status = 0;
    waitpid(child, &status, 0);
    printf("vfork: %d\n", WEXITSTATUS(status));
    return 0;
}

static int like_umask(char **a)
{
    static const mode_t masks[] = {0, 022, 077, 0777};
    (void)a;
    for (size_t i = 0; i < 4; i++) {
        char name[4][32];
        static const char *const kinds[] = {"file", "dir", "fifo", "tmp"};
        for (int k = 0; k < 4; k++)
            snprintf(name[k], sizeof(name[k]), "%s-%03o", kinds[k], masks[i]);
        umask(masks[i]);
        report_fd(name[0], open(name[0], O_WRONLY | O_CREAT | O_EXCL, 0666));
        report(name[1], mkdir(name[1], 01777));
        report(name[2], mkfifo(name[2], 0666));
        int fd = open(".", O_WRONLY | O_TMPFILE, 0666);
        char path[40];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        report(name[3], linkat(AT_FDCWD, path, AT_FDCWD, name[3], AT_SYMLINK_FOLLOW));
        close(fd);
        for (int k = 0; k < 4; k++)
            mode_of(name[k]);
    }
    return 0;
}

static pthread_barrier_t masks_meet;

static void *other_mask(void *arg)
{
    (void)arg;
    umask(077);
    return NULL;
}

/* A thread with its own umask executes a program, and takes over the first thread's id. */
static void *own_mask(void *arg)
{
    (void)arg;
    must(unshare(CLONE_FS), "unshare");
    umask(0);
    pthread_barrier_wait(&masks_meet);
    pthread_barrier_wait(&masks_meet);
    execl("/bin/touch", "touch", "by-thread", NULL);
    return NULL;
}

/* Who shares a umask: threads do, children get a copy. */
static int like_masks(char **a)
{
    pthread_t thread;
    (void)a;
    umask(022);
    report_fd("before", open("before", O_WRONLY | O_CREAT, 0666));
    pthread_create(&thread, NULL, other_mask, NULL);
    pthread_join(thread, NULL);
    report_fd("by another", open("by-another", O_WRONLY | O_CREAT, 0666));
    mode_of("before");
    mode_of("by-another");
    pid_t child = fork();
    if (child == 0) {
        umask(0);
        report_fd("by child", open("by-child", O_WRONLY | O_CREAT, 0666));
        mode_of("by-child");
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    report_fd("after child", open("after-child", O_WRONLY | O_CREAT, 0666));
    mode_of("after-child");
    fflush(stdout);
    child = fork();
    if (child == 0) {
        pthread_barrier_init(&masks_meet, NULL, 2);
        pthread_create(&thread, NULL, own_mask, NULL);
        pthread_barrier_wait(&masks_meet);
        close(open("by-first", O_WRONLY | O_CREAT, 0666));
        pthread_barrier_wait(&masks_meet);
        for (;;)
            pause();
    }
    waitpid(child, NULL, 0);
    mode_of("by-first");
    mode_of("by-thread");
    return 0;
}

/* ---- names ---- */

static int like_names(char **a)
{
    (void)a;
    make_file("f");
    make_file("g");
    must(mkdir("empty", 0700), "mkdir");
    must(mkdir("full", 0700), "mkdir");
    make_file("full/x");
    must(symlink("f", "l"), "symlink");
    report("file over folder", rename("f", "empty"));
    report("folder over file", rename("empty", "f"));
    report("folder over full", rename("empty", "full"));
    report("into itself", rename("full", "full/y"));
    report("dot", rename(".", "y"));
    report("dot dot", rename("full/..", "y"));
    report("nothing", rename("nothing", "y"));
    report("file with a slash", rename("f/", "y"));
    report("to a slash", rename("f", "y/"));
    report("onto itself", rename("f", "f"));
    report("exchange with nothing", renameat2(AT_FDCWD, "f", AT_FDCWD, "no", RENAME_EXCHANGE));
    report("exchange", renameat2(AT_FDCWD, "f", AT_FDCWD, "empty", RENAME_EXCHANGE));
    report("exchange back", renameat2(AT_FDCWD, "f", AT_FDCWD, "empty", RENAME_EXCHANGE));
    report("no replace", renameat2(AT_FDCWD, "f", AT_FDCWD, "g", RENAME_NOREPLACE));
    report("both flags",
           renameat2(AT_FDCWD, "f", AT_FDCWD, "g", RENAME_NOREPLACE | RENAME_EXCHANGE));
    report("into a folder", rename("f", "full/f"));
    report("and back", rename("full/f", "f"));
    report("a folder", rename("full", "moved"));
    report("a link", rename("l", "l2"));
    report("link", link("f", "f2"));
    report("link again", link("f", "f2"));
    report("link to a folder", link("moved", "f3"));
    report("link to a symbolic link", link("l2", "l3"));
    report("link through it", linkat(AT_FDCWD, "l2", AT_FDCWD, "f4", AT_SYMLINK_FOLLOW));
    mode_of("l3");
    mode_of("f4");
    report("unlink a folder", unlink("moved"));
    report("rmdir a file", rmdir("f"));
    report("rmdir a full one", rmdir("moved"));
    report("rmdir dot", rmdir("."));
    report("rmdir with a slash", rmdir("empty/"));
    report("unlink nothing", unlink("nothing"));
    report("unlink with a slash", unlink("f/"));
    report("unlinkat, unknown flags", unlinkat(AT_FDCWD, "f", 0x40));
    report("mkdir exists", mkdir("moved", 0700));
    report("mkdir with a slash", mkdir("slash///", 0700));
    report("mkdir dot", mkdir(".", 0700));
    report("mkdir below a file", mkdir("f/x", 0700));
    report("mknod of a folder", mknod("node", S_IFDIR | 0700, 0));
    report("mknod without a kind", mknod("node", 0600, 0));
    report("symlink without text", symlink("", "s"));
    report("symlink exists", symlink("x", "f"));
    report("symlink with a slash", symlink("x", "s/"));
    return 0;
}

/* ---- attributes ---- */

static int like_attributes(char **a)
{
    static const struct timespec omit[2] = {{0, UTIME_OMIT}, {5, 6}}, bad[2] = {{0, -5}, {0, 0}};
    struct stat st;
    (void)a;
    make_file("f");
    must(symlink("f", "l"), "symlink");
    must(symlink("nothing", "broken"), "symlink");
    report("truncate to less than nothing", truncate("f", -1));
    report("truncate a folder", truncate(".", 1));
    report("truncate a link", truncate("l", 3));
    report("omit", utimensat(AT_FDCWD, "f", omit, 0));
    stat("f", &st);
    printf("times: %ld %ld\n", (long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec);
    report("bad times", utimensat(AT_FDCWD, "f", bad, 0));
    report("times of a link", utimensat(AT_FDCWD, "broken", omit, AT_SYMLINK_NOFOLLOW));
    lstat("broken", &st);
    printf("times: %ld %ld\n", (long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec);
    report("times of nothing", utimensat(AT_FDCWD, "broken", omit, 0));
    report("times, unknown flags", utimensat(AT_FDCWD, "f", omit, 0x4000));
    report("times of no descriptor", (int)syscall(SYS_utimensat, 77, NULL, omit, 0));
    report("times, bad pointer", (int)syscall(SYS_utimensat, AT_FDCWD, "f", 8, 0));
    report("mode of a link", fchmodat(AT_FDCWD, "l", 0600, AT_SYMLINK_NOFOLLOW));
    report("mode of nothing", chmod("nothing", 0600));
    report("mode of no descriptor", fchmod(77, 0600));
    report("owner of a link", lchown("l", getuid(), getgid()));
    report("owner unchanged", chown("f", (uid_t)-1, (gid_t)-1));
    report("attribute", setxattr("f", "user.a", "1234", 4, XATTR_CREATE));
    report("attribute again", setxattr("f", "user.a", "1234", 4, XATTR_CREATE));
    report("attribute anew", setxattr("f", "user.b", "1234", 4, XATTR_REPLACE));
    report("attribute, empty", setxattr("f", "user.c", NULL, 0, 0));
    report("attribute, bad name", setxattr("f", "nonsense", "1", 1, 0));
    report("attribute, no name", setxattr("f", "", "1", 1, 0));
    report("attribute, bad flags", setxattr("f", "user.d", "1", 1, 77));
    report("attribute, too large", syscall(SYS_setxattr, "f", "user.d", "1", 1 << 20, 0));
    report("attribute, bad pointer", syscall(SYS_setxattr, "f", "user.d", 8, 5, 0));
    report("attribute of a link", lsetxattr("l", "user.a", "1", 1, 0));
    report("no attribute", removexattr("f", "user.z"));
    report("attribute removed", removexattr("f", "user.a"));
    int fd = open("f", O_PATH);
    report("mode of a name only", fchmod(fd, 0600));
    report("attribute of a name only", fsetxattr(fd, "user.a", "1", 1, 0));
    report("owner of a name only", fchown(fd, getuid(), getgid()));
    return 0;
}

const struct attack attacks_like[] = {
    {"like-strings", 0, like_strings},
    {"like-threads", 0, like_threads},
    {"like-after-exec", 0, like_after_exec},
    {"like-magic", 0, like_magic},
    {"like-open", 0, like_open},
    {"like-results", 0, like_results},
    {"like-umask", 0, like_umask},
    {"like-masks", 0, like_masks},
    {"like-names", 0, like_names},
    {"like-attributes", 0, like_attributes},
    {0},
};
