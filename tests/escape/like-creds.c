/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Everyday calls under other credentials than those at start: see like.c. */

#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape.h"
#include "like.h"

static void owner_of(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0)
        printf("%s: owner %u, group %u\n", path, st.st_uid, st.st_gid);
    mode_of(path);
}

/* What another user tries in a world-writable folder. */
static void try_everything(const char *who)
{
    char name[64];
    printf("as %s\n", who);
    snprintf(name, sizeof(name), "made-by-%s", who);
    report_fd("create", open(name, O_WRONLY | O_CREAT | O_EXCL, 0666));
    owner_of(name);
    report("give away", chown(name, 7, (gid_t)-1));
    report("give to a group", chown(name, (uid_t)-1, 4243));
    owner_of(name);
    snprintf(name, sizeof(name), "folder-of-%s", who);
    report("make a folder", mkdir(name, 0777));
    owner_of(name);
    report_fd("create in a closed folder", open("closed/x", O_WRONLY | O_CREAT | O_EXCL, 0666));
    report("and remove it", unlink("closed/x"));
    int here = open(".", O_RDONLY | O_DIRECTORY);
    report_fd("create from a descriptor", openat(here, "by-fd", O_WRONLY | O_CREAT | O_EXCL, 0666));
    report("mode by descriptor", fchmodat(here, "by-fd", 0600, 0));
    report("remove from a descriptor", unlinkat(here, "by-fd", 0));
    close(here);
    report_fd("write root's", open("of-root", O_WRONLY));
    report_fd("write the group's", open("of-group", O_WRONLY));
    report_fd("write another's", open("of-other", O_WRONLY));
    report("mode of another's", chmod("of-other", 0640));
    report("times of another's", utimensat(AT_FDCWD, "of-other", NULL, 0));
    report("link to another's", link("of-other", "sticky/link"));
    report("remove the link", unlink("sticky/link"));
    report("rename in a sticky folder", rename("sticky/mine", "sticky/yours"));
    report("and back", rename("sticky/yours", "sticky/mine"));
}

struct somebody {
    const char *name;
    uid_t uid;
    gid_t gid, group; /* group: the only supplementary one, or 0 */
    int how;
};

enum { BY_IDS, BY_EFFECTIVE_IDS, BY_FILE_IDS, BY_CAPABILITIES };

static void become(const struct somebody *s)
{
    gid_t groups[] = {s->group};
    struct {
        uint32_t version;
        int pid;
    } head = {0x20080522, 0};
    uint32_t sets[6];
    must((int)syscall(SYS_setgroups, s->group ? 1 : 0, groups), "setgroups");
    if (s->how == BY_CAPABILITIES) {
        must((int)syscall(SYS_capget, &head, sets), "capget");
        sets[0] = 0;
        must((int)syscall(SYS_capset, &head, sets), "capset");
    } else if (s->how == BY_FILE_IDS) {
        syscall(SYS_setfsgid, s->gid);
        syscall(SYS_setfsuid, s->uid);
    } else {
        bool all = s->how == BY_IDS;
        must((int)syscall(SYS_setresgid, all ? s->gid : 0, s->gid, all ? s->gid : 0), "setresgid");
        must((int)syscall(SYS_setresuid, all ? s->uid : 0, s->uid, all ? s->uid : 0), "setresuid");
    }
}

static void make_for(const char *path, uid_t uid, gid_t gid, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    must(fd, path);
    must(fchown(fd, uid, gid), path);
    must(fchmod(fd, mode), path);
    close(fd);
}

/* Root's children change to other users, in every possible way. */
static int like_creds(char **a)
{
    static const struct somebody all[] = {
        {"root", 0, 0, 0, BY_IDS},
        {"user", 4242, 4242, 0, BY_IDS},
        {"member", 4242, 4242, 4243, BY_IDS},
        {"effective", 4242, 4242, 0, BY_EFFECTIVE_IDS},
        {"files", 4242, 4242, 0, BY_FILE_IDS},
        {"powerless", 0, 0, 0, BY_CAPABILITIES},
    };
    (void)a;
    if (geteuid() != 0) {
        puts("nobody can become somebody else");
        return 0;
    }
    umask(0);
    must(mkdir("open", 0777), "mkdir");
    must(chdir("open"), "chdir");
    must(mkdir("closed", 0700), "mkdir");
    must(mkdir("sticky", 01777), "mkdir");
    must(chmod("sticky", 01777), "chmod");
    make_for("of-root", 0, 0, 0600);
    make_for("of-group", 7, 4243, 0660);
    make_for("of-other", 7, 7, 0600);
    make_for("sticky/mine", 7, 7, 0600);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            become(&all[i]);
            try_everything(all[i].name);
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    report_fd("root again", open("closed/again", O_WRONLY | O_CREAT | O_EXCL, 0666));
    owner_of("closed/again");
    return 0;
}

const struct attack attacks_like_creds[] = {{"like-creds", 0, like_creds}, {0}};
