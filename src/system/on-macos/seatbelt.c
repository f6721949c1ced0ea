/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * sandbox_init_with_parameters() compiles a profile's text and applies it. Where it is missing,
 * libsandbox has its two halves. They are looked up by name: no header declares them, and a program
 * that was linked against them would not start on a system without.
 */

#include "system/seatbelt.h"

#include <dlfcn.h>
#include <mach/message.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef int init_fn(const char *profile, uint64_t flags, const char *const params[], char **error);
typedef void *compile_fn(const char *profile, void *params, char **error);
typedef int apply_fn(void *compiled);
typedef void free_fn(void *thing);
typedef int check_fn(pid_t pid, const char *operation, int type, ...);
typedef int check_token_fn(audit_token_t token, const char *operation, int type, ...);

static const char libsandbox[] = "/usr/lib/libsandbox.1.dylib";

/* Either all of `whole`, or all of the rest. */
struct entry {
    init_fn *whole;
    free_fn *free_error;
    compile_fn *compile;
    apply_fn *apply;
    free_fn *free_profile;
};

static bool find_entry(struct entry *e)
{
    *e = (struct entry){.whole = (init_fn *)dlsym(RTLD_DEFAULT, "sandbox_init_with_parameters"),
                        .free_error = (free_fn *)dlsym(RTLD_DEFAULT, "sandbox_free_error")};
    if (e->whole)
        return true;
    void *lib = dlopen(libsandbox, RTLD_LAZY | RTLD_LOCAL);
    if (!lib)
        return false;
    e->compile = (compile_fn *)dlsym(lib, "sandbox_compile_string");
    e->apply = (apply_fn *)dlsym(lib, "sandbox_apply");
    e->free_profile = (free_fn *)dlsym(lib, "sandbox_free_profile");
    return e->compile && e->apply;
}

bool seatbelt_can_enter(void)
{
    struct entry e;
    return find_entry(&e);
}

static int fail(const struct entry *e, char *error, char *why, size_t n)
{
    snprintf(why, n, "%s", error ? error : "no reason given");
    if (error && e->free_error)
        e->free_error(error);
    return -1;
}

int seatbelt_enter(const char *profile, char *why, size_t n)
{
    static const char *const no_params[] = {NULL};
    struct entry e;
    char *error = NULL;
    if (!find_entry(&e))
        return fail(&e, NULL, why, n);
    if (e.whole)
        return e.whole(profile, 0, no_params, &error) == 0 ? 0 : fail(&e, error, why, n);
    void *compiled = e.compile(profile, NULL, &error);
    if (!compiled)
        return fail(&e, error, why, n);
    int applied = e.apply(compiled);
    if (e.free_profile)
        e.free_profile(compiled);
    return applied == 0 ? 0 : fail(&e, NULL, why, n);
}

/* ---- others ---- */

/* Without an operation it asks whether there is a sandbox at all. */
bool seatbelt_confines(pid_t pid)
{
    check_fn *check = (check_fn *)dlsym(RTLD_DEFAULT, "sandbox_check");
    return !check || check(pid, NULL, 0) != 0;
}

/* The token names the process itself, not a number that another may have by now. */
bool seatbelt_confines_peer(int sock)
{
    check_token_fn *check = (check_token_fn *)dlsym(RTLD_DEFAULT, "sandbox_check_by_audit_token");
    audit_token_t token;
    pid_t pid = 0;
    socklen_t n = sizeof(token), npid = sizeof(pid);
    if (check && getsockopt(sock, SOL_LOCAL, LOCAL_PEERTOKEN, &token, &n) == 0)
        return check(token, NULL, 0) != 0;
    return getsockopt(sock, SOL_LOCAL, LOCAL_PEERPID, &pid, &npid) < 0 || seatbelt_confines(pid);
}
