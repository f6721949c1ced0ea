/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What every program needs, whatever the policy allows of files and hosts: nearly constant texts.
 * On Linux macOS's own operations are left out, so that `--dry-run` and `buckle check` don't list
 * irrelevant rules.
 */

#include <string.h>

#include "settings/sbpl-int.h"

/* ---- processes ---- */

static const char process_macos[] =
    "; Programs may run any program; the same policy applies to all of them.\n"
    "(allow process-exec)\n"
    "(allow process-fork)\n"
    "; They can see and signal only each other.\n"
    "(allow process-info* (target same-sandbox))\n"
    "(allow signal (target same-sandbox))\n"
    "(allow mach-priv-task-port (target same-sandbox))\n"
    "\n"
    "(allow user-preference-read)\n"
    "; Version 1 of the language allows these by default.\n"
    "(deny nvram*)\n";

static const char process_linux[] =
    "; Programs may run any program; the same policy applies to all of them.\n"
    "(allow process-exec* process-fork)\n"
    "(allow file-map-executable)\n"
    "; They can see and signal only each other.\n"
    "(deny process-info* signal)\n"
    "(allow process-info* signal (target same-sandbox))\n"
    "(allow system-sched (target self) (target same-sandbox))\n";

void write_process(struct writer *w)
{
    write_section(w, "process");
    buf_str(w->out, w->t->macos ? process_macos : process_linux);
}

/* ---- Mach ---- */

static const char *const mach_services[] = {
    "com.apple.audio.systemsoundserver",
    "com.apple.distributed_notifications@Uv3",
    "com.apple.FontObjectsServer",
    "com.apple.fonts",
    "com.apple.logd",
    "com.apple.lsd.mapdb",
    "com.apple.PowerManagement.control",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
    "com.apple.bsd.dirhelper",
    "com.apple.securityd.xpc",
    "com.apple.coreservices.launchservicesd",
};
/* trustd fetches what a certificate names for any process that asks it. */
static const char *const trust_services[] = {"com.apple.trustd.agent"};
static const char *const keychain_services[] = {"com.apple.SecurityServer", "com.apple.secd",
                                                "com.apple.security.agent", "com.apple.ocspd"};
static const char *const apple_event_services[] = {"com.apple.coreservices.appleevents",
                                                   "com.apple.coreservices.quarantine-resolver",
                                                   "com.apple.lsd.open", "com.apple.lsd.modifydb"};

static void mach_rule(struct writer *w, const char *comment, const char *const *names, size_t n)
{
    buf_fmt(w->out, "; %s\n", comment);
    write_open(w, "allow", "mach-lookup");
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]);
        bool prefix = len > 0 && names[i][len - 1] == '*';
        buf_fmt(w->out, "\n    (global-name%s ", prefix ? "-prefix" : "");
        buf_sbpl(w->out, names[i], prefix ? len - 1 : len);
        buf_chr(w->out, ')');
    }
    buf_str(w->out, ")\n");
}

#define MACH_RULE(w, comment, list) mach_rule(w, comment, list, sizeof(list) / sizeof((list)[0]))

void write_mach(struct writer *w)
{
    const struct access *p = w->p;
    if (!w->t->macos)
        return;
    write_section(w, "Mach services");
    MACH_RULE(w, "Services that programs need in order to start.", mach_services);
    if (p->weaker_trust)
        MACH_RULE(w, "The system's certificate checks.", trust_services);
    if (p->keychain)
        MACH_RULE(w, "The keychain.", keychain_services);
    if (p->apple_events) {
        MACH_RULE(w, "Other applications, through Apple events.", apple_event_services);
        buf_str(w->out, "(allow appleevent-send)\n(allow lsopen)\n");
    }
    if (p->mach_lookups.n)
        mach_rule(w, "Asked for.", p->mach_lookups.at, p->mach_lookups.n);
}

/* ---- POSIX IPC, IOKit, sysctl ---- */

void write_posix_ipc(struct writer *w)
{
    write_section(w, "POSIX IPC");
    buf_str(w->out, "; Shared memory and semaphores, which test runners and databases use.\n");
    if (w->t->macos)
        buf_str(w->out, "(allow ipc-posix-shm)\n(allow ipc-posix-sem)\n");
    else
        buf_str(w->out, "(allow ipc-posix* ipc-sysv*)\n");
}

void write_iokit(struct writer *w)
{
    if (!w->t->macos)
        return;
    write_section(w, "IOKit");
    buf_str(w->out, "(allow iokit-open\n"
                    "    (iokit-registry-entry-class \"IOSurfaceRootUserClient\")\n"
                    "    (iokit-registry-entry-class \"RootDomainUserClient\")\n"
                    "    (iokit-user-client-class \"IOSurfaceSendRight\"))\n"
                    "(allow iokit-get-properties)\n"
                    "\n"
                    "; System sockets, which reach no network.\n"
                    "(allow system-socket\n"
                    "    (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))\n");
}

static const char sysctl_macos[] =
    "; The kind of machine, but not its users or what they run.\n"
    "(allow sysctl-read\n"
    "    (sysctl-name-prefix \"hw.\")\n"
    "    (sysctl-name-prefix \"machdep.cpu.\")\n"
    "    (sysctl-name\n"
    "        \"kern.argmax\" \"kern.bootargs\" \"kern.hostname\" \"kern.iossupportversion\"\n"
    "        \"kern.maxfiles\" \"kern.maxfilesperproc\" \"kern.maxproc\" \"kern.maxprocperuid\"\n"
    "        \"kern.ngroups\" \"kern.osproductversion\" \"kern.osrelease\" \"kern.ostype\"\n"
    "        \"kern.osvariant_status\" \"kern.osversion\" \"kern.secure_kernel\"\n"
    "        \"kern.tcsm_available\" \"kern.tcsm_enable\" \"kern.usrstack64\" \"kern.version\"\n"
    "        \"kern.willshutdown\" \"machdep.ptrauth_enabled\" "
    "\"security.mac.lockdown_mode_state\"\n"
    "        \"sysctl.proc_cputype\" \"sysctl.proc_translated\" \"vm.loadavg\"))\n"
    "(allow sysctl-write (sysctl-name \"kern.tcsm_enable\"))\n";

void write_sysctl(struct writer *w)
{
    write_section(w, "sysctl");
    buf_str(w->out, w->t->macos ? sysctl_macos : "(allow sysctl-read)\n");
}

/* ---- devices ---- */

static const char devices_macos[] = "; Devices that only read or write bytes.\n"
                                    "(allow file-read* file-read-data file-write-data file-ioctl\n"
                                    "    (literal \"/dev/null\")\n"
                                    "    (literal \"/dev/zero\")\n"
                                    "    (literal \"/dev/tty\")\n"
                                    "    (literal \"/dev/dtracehelper\")\n"
                                    "    (literal \"/dev/autofs_nowait\")\n"
                                    "    (literal \"/dev/stdin\")\n"
                                    "    (literal \"/dev/stdout\")\n"
                                    "    (literal \"/dev/stderr\")\n"
                                    "    (subpath \"/dev/fd\"))\n"
                                    "(allow file-read* file-read-data file-ioctl\n"
                                    "    (literal \"/dev/random\")\n"
                                    "    (literal \"/dev/urandom\"))\n";

static const char devices_linux[] =
    "; Devices that only read or write bytes, terminals, and the files of shared memory.\n"
    "(allow file-read* file-read-data\n"
    "    (literal \"/dev\" \"/dev/null\" \"/dev/zero\" \"/dev/full\" \"/dev/random\" "
    "\"/dev/urandom\"\n"
    "             \"/dev/tty\" \"/dev/ptmx\")\n"
    "    (subpath \"/dev/fd\" \"/dev/pts\" \"/dev/shm\")\n"
    "    (regex #\"^/proc/(self(/|$)|[0-9]+(/|$)|[a-z]+$|$)\"))\n"
    "(allow file-ioctl\n"
    "    (literal \"/dev/null\" \"/dev/zero\" \"/dev/full\" \"/dev/tty\" \"/dev/ptmx\")\n"
    "    (regex #\"^/dev/pts/([0-9]+|ptmx)$\"))\n"
    "(allow file-write-data\n"
    "    (literal \"/dev/null\" \"/dev/zero\" \"/dev/full\" \"/dev/tty\" \"/dev/ptmx\")\n"
    "    (regex #\"^/dev/pts/([0-9]+|ptmx)$\"))\n"
    "(allow file-write-mode file-write-owner file-write-times\n"
    "    (regex #\"^/dev/pts/[0-9]+$\"))\n"
    "(allow file-write*\n"
    "    (regex #\"^/dev/shm/[^/]+$\"))\n"
    "; What a process may set for itself.\n"
    "(allow file-write-data\n"
    "    (regex #\"^/proc/[0-9]+/(task/[0-9]+/)?(comm|oom_adj|oom_score_adj|coredump_filter|"
    "timerslack_ns|clear_refs|mem)$\"))\n"
    "(allow pseudo-tty)\n";

void write_devices(struct writer *w)
{
    write_section(w, "devices");
    buf_str(w->out, w->t->macos ? devices_macos : devices_linux);
}

/* ---- terminals ---- */

static const char terminals_macos[] = "(allow pseudo-tty)\n"
                                      "(allow file-ioctl\n"
                                      "    (literal \"/dev/ptmx\")\n"
                                      "    (regex #\"^/dev/ttys\"))\n"
                                      "(allow file-read* file-read-data file-write*\n"
                                      "    (literal \"/dev/ptmx\")\n"
                                      "    (regex #\"^/dev/ttys\"))\n";

void write_terminals(struct writer *w)
{
    if (!w->t->macos || !w->p->pty)
        return;
    write_section(w, "pseudo-terminals");
    buf_str(w->out, terminals_macos);
}
