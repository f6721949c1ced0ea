/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BUCKLE_H
#define BUCKLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Buckle as a library: load sandbox profiles (SBPL) and ask them questions; run commands under
 * them; keep what was denied; decide what becomes of an agent's commands; sandbox the calling
 * process itself.
 *
 * Errors. What can fail answers NULL, -1 or BUCKLE_FAILED and, when `error` is not NULL, stores an
 * error there that the caller frees. Setters without `error` fail only when memory is short.
 *
 * Memory. Every object has one `…_free()`, which takes NULL. Texts that are passed in are copied.
 * A `char *` that is returned belongs to the caller: buckle_free(). A `const char *` belongs to
 * the object it was asked of, and lives as long as that.
 *
 * Threads. A profile never changes and may be shared. A judge, options, gates and a command belong
 * to one thread at a time. A run, a store and a manager may be used from any thread.
 *
 * All types are opaque. Functions are added and never change; a name that is taken back stays for
 * as long as the library's number (libbuckle.so.N) does.
 */

#define BUCKLE_VERSION_MAJOR 0
#define BUCKLE_VERSION_MINOR 1
#define BUCKLE_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BUCKLE_API __attribute__((visibility("default")))
#else
#define BUCKLE_API
#endif

struct buckle_error;
struct buckle_options;
struct buckle_profile;
struct buckle_judge;
struct buckle_command;
struct buckle_run;
struct buckle_event;
struct buckle_question;
struct buckle_store;
struct buckle_violations;
struct buckle_gates;
struct buckle_manager;

/* "0.1.0": of the library that runs, where the macros above are of the one compiled with. */
BUCKLE_API const char *buckle_version(void);
BUCKLE_API void buckle_free(void *text);

/* ---- options: what a profile may ask for while it is loaded ---- */

/* NULL when out of memory. Strings are copied; each setter returns 0, or -1 when out of memory. */
BUCKLE_API struct buckle_options *buckle_options_new(void);
BUCKLE_API void buckle_options_free(struct buckle_options *options);
BUCKLE_API int buckle_options_param(struct buckle_options *options, const char *key,
                                    const char *value);
BUCKLE_API int buckle_options_import_dir(struct buckle_options *options, const char *dir);
BUCKLE_API int buckle_options_entitlements(struct buckle_options *options, const char *path);
/* Compare paths and names without regard to case, as macOS does. Off by default. */
BUCKLE_API void buckle_options_fold_case(struct buckle_options *options, int on);

/* ---- profiles ---- */

/* A profile is SBPL or compiled; its bytes show which. options may be NULL and may be freed
 * after the call. */
BUCKLE_API struct buckle_profile *buckle_load_file(const char *path,
                                                   const struct buckle_options *options,
                                                   struct buckle_error **error);
/* name is what messages call the text. */
BUCKLE_API struct buckle_profile *buckle_load_text(const char *name, const char *text, size_t len,
                                                   const struct buckle_options *options,
                                                   struct buckle_error **error);
/* Its judges go first. NULL is fine. */
BUCKLE_API void buckle_profile_free(struct buckle_profile *profile);

/* ---- questions ---- */

enum buckle_verdict { BUCKLE_FAILED = -1, BUCKLE_DENY = 0, BUCKLE_ALLOW = 1 };

BUCKLE_API struct buckle_judge *buckle_judge_new(const struct buckle_profile *profile,
                                                 struct buckle_error **error);
BUCKLE_API void buckle_judge_free(struct buckle_judge *judge);

/* A policy stack: the platform's profile has to allow what the judge's own does, and what either
 * denies is denied. Platforms are asked in the order in which they are added, before the judge's
 * own profile; each must outlive the judge. -1 when out of memory. */
BUCKLE_API int buckle_judge_platform(struct buckle_judge *judge,
                                     const struct buckle_profile *platform);
/* An extension that the process holds, of that class, for a path and what lies below it, or for a
 * name; value may be NULL: for anything. It opens only what a filter (extension …) asks for. -1
 * when out of memory. */
BUCKLE_API int buckle_judge_extension(struct buckle_judge *judge, const char *kind,
                                      const char *value);
/* Takes all extensions back. */
BUCKLE_API void buckle_judge_revoke(struct buckle_judge *judge);

/* operation: "file-read-data". arguments: what it acts on (a path, a name, an address), then
 * further facts as "filter=value". BUCKLE_FAILED means that the question made no sense; treat it
 * as a deny. */
BUCKLE_API enum buckle_verdict buckle_judge(struct buckle_judge *judge, const char *operation,
                                            const char *const *arguments, size_t count,
                                            struct buckle_error **error);

/* The rule behind the judge's last verdict. file and text are NULL and line is 0 when no written
 * rule decided; they are valid until the profile is freed. */
BUCKLE_API const char *buckle_rule_file(const struct buckle_judge *judge);
BUCKLE_API unsigned buckle_rule_line(const struct buckle_judge *judge);
BUCKLE_API unsigned buckle_rule_column(const struct buckle_judge *judge);
BUCKLE_API const char *buckle_rule_text(const struct buckle_judge *judge);
/* Which layer decided: 0 the judge's own profile, else the nth platform. */
BUCKLE_API unsigned buckle_rule_layer(const struct buckle_judge *judge);

/* How the question is decided, in words. */
BUCKLE_API char *buckle_explain(struct buckle_judge *judge, const char *operation,
                                const char *const *arguments, size_t count,
                                struct buckle_error **error);

/* ---- commands: what is to be run, and how ---- */

/* argv ends in NULL; NULL when only a plan or buckle_apply() is wanted. */
BUCKLE_API struct buckle_command *buckle_command_new(const char *const *argv);
BUCKLE_API void buckle_command_free(struct buckle_command *command);

/* The policy: a profile, or settings in its place; then texts; then rules. Without any of them the
 * shipped profile `default`. The machine's own policy (/etc/buckle/policy.json) always counts.
 *
 * A profile is shipped (a bare word) or a file (it has a slash, or a suffix such as .sb). */
BUCKLE_API int buckle_command_profile(struct buckle_command *command, const char *profile);
/* Settings as JSON, of an embedding program or a person; see docs/settings.md. */
BUCKLE_API int buckle_command_settings(struct buckle_command *command, const char *json,
                                       size_t len);
/* Whether settings files of the user and the project count as well. Off by default. */
BUCKLE_API void buckle_command_found_settings(struct buckle_command *command, int on);
/* SBPL. The first text without a profile is the whole policy. */
BUCKLE_API int buckle_command_text(struct buckle_command *command, const char *name,
                                   const char *text, size_t len);
/* As the flags of `buckle run`: "allow-read", "allow-write", "deny-read", "deny-write" with a path
 * or a glob; "allow-net", "deny-net" with a host. */
BUCKLE_API int buckle_command_rule(struct buckle_command *command, const char *rule,
                                   const char *value);
BUCKLE_API int buckle_command_param(struct buckle_command *command, const char *key,
                                    const char *value);

/* Where it begins, and what the policy takes for the working directory. Without it the caller's,
 * which must then be neither / nor the home directory. */
BUCKLE_API int buckle_command_directory(struct buckle_command *command, const char *path);
/* A TMPDIR that stays; without it each run has one of its own. */
BUCKLE_API int buckle_command_tmpdir(struct buckle_command *command, const char *path);
/* The environment is the caller's, less what looks like a secret and is not kept by name. */
BUCKLE_API int buckle_command_set_env(struct buckle_command *command, const char *name,
                                      const char *value);
BUCKLE_API int buckle_command_keep_env(struct buckle_command *command, const char *name);
/* What becomes its descriptors 0, 1 and 2; -1 is /dev/null. They are the caller's own by default,
 * are looked up when the run starts, and stay the caller's to close. */
BUCKLE_API void buckle_command_stdio(struct buckle_command *command, int in, int out, int err);
BUCKLE_API int buckle_command_keep_fd(struct buckle_command *command, int fd);

/* Limits; 0 is none. Memory and processes are those of the whole sandbox where a control group can
 * be had, else of each process and of the user. */
BUCKLE_API void buckle_command_timeout(struct buckle_command *command, uint32_t milliseconds);
BUCKLE_API void buckle_command_max_memory(struct buckle_command *command, uint64_t bytes);
BUCKLE_API void buckle_command_max_procs(struct buckle_command *command, uint32_t count);

enum buckle_flag {
    BUCKLE_NEW_SESSION = 1, /* a session of its own: no terminal, nothing typed there reaches it */
    BUCKLE_WAIT_ALL,        /* background processes may finish */
    BUCKLE_UPDATABLE,       /* everything can change while it runs; slower */
    BUCKLE_GRANTABLE,       /* everything can be granted while it runs */
    BUCKLE_WATCH_NET,       /* denied hosts are told by name, even where none is allowed */
    BUCKLE_STRICT_READS,    /* reading is judged where a sentry would do: exact, and slow */
    BUCKLE_ALLOW_USERNS,    /* programs inside may make user namespaces */
    BUCKLE_ACCEPT_WEAKER,   /* go on where this host cannot enforce part of the policy */
    BUCKLE_WHOLE_ENV        /* nothing is removed from the environment */
};
/* -1 when there is no such flag. */
BUCKLE_API int buckle_command_flag(struct buckle_command *command, enum buckle_flag flag, int on);

/* ---- what happens while it runs ---- */

/* Called for what the policy denied, or allowed with a report, by whoever dispatches the run. */
typedef void buckle_event_fn(void *arg, struct buckle_run *run, const struct buckle_event *event);
BUCKLE_API void buckle_command_on_event(struct buckle_command *command, buckle_event_fn *fn,
                                        void *arg);
/* Denials go to a store as well, as those of the command of that number and text. The store has to
 * outlive the run. */
BUCKLE_API int buckle_command_store(struct buckle_command *command, struct buckle_store *store,
                                    uint64_t id, const char *text);

BUCKLE_API int buckle_event_denied(const struct buckle_event *event);
BUCKLE_API uint64_t buckle_event_time(const struct buckle_event *event); /* ns since 1970 */
BUCKLE_API int buckle_event_pid(const struct buckle_event *event);
BUCKLE_API const char *buckle_event_program(const struct buckle_event *event);
BUCKLE_API const char *buckle_event_operation(const struct buckle_event *event);
BUCKLE_API const char *buckle_event_target(const struct buckle_event *event); /* path, host, … */
/* `name(pid) deny(1) operation path`, safe for a terminal. */
BUCKLE_API const char *buckle_event_line(const struct buckle_event *event);
/* Everything, with the rule behind it: one object. */
BUCKLE_API const char *buckle_event_json(const struct buckle_event *event);
/* How many were lost before this one because nobody dispatched. */
BUCKLE_API uint64_t buckle_event_lost(const struct buckle_event *event);

/* Called when a program wants to reach a host that no rule names; without it the answer is no.
 * Answer by buckle_run_answer(), now or later, from any thread. The same number comes once more,
 * withdrawn, when nobody waits for the answer any longer. */
typedef void buckle_question_fn(void *arg, struct buckle_run *run,
                                const struct buckle_question *question);
/* Afterwards the answer is no; 0: after a minute. */
BUCKLE_API void buckle_command_on_question(struct buckle_command *command, buckle_question_fn *fn,
                                           void *arg, uint32_t wait_ms);

BUCKLE_API uint32_t buckle_question_id(const struct buckle_question *question);
BUCKLE_API int buckle_question_withdrawn(const struct buckle_question *question);
BUCKLE_API const char *buckle_question_host(const struct buckle_question *question);
BUCKLE_API unsigned buckle_question_port(const struct buckle_question *question);
BUCKLE_API int buckle_question_udp(const struct buckle_question *question);
BUCKLE_API const char *buckle_question_program(const struct buckle_question *question);
BUCKLE_API int buckle_question_pid(const struct buckle_question *question);

enum buckle_answer {
    BUCKLE_ANSWER_DENY = 0,
    BUCKLE_ANSWER_ONCE = 1,    /* those that wait now, and nobody after them */
    BUCKLE_ANSWER_RUN = 2,     /* this host and port from now on */
    BUCKLE_ANSWER_DENY_ALL = 3 /* and nobody wants to be asked again */
};
BUCKLE_API int buckle_run_answer(struct buckle_run *run, uint32_t id, enum buckle_answer answer);

/* ---- running ---- */

/* How the policy would be enforced here, as text or JSON. Nothing is run. */
BUCKLE_API char *buckle_plan(const struct buckle_command *command, int json,
                             struct buckle_error **error);

/* Starts it, and does not wait: the dispatching functions report what goes wrong. The command
 * may be freed, or started again. Any number may run at once. */
BUCKLE_API struct buckle_run *buckle_start(const struct buckle_command *command,
                                           struct buckle_error **error);

/* The same in two steps, for programs that run one command after another: the first makes the whole
 * sandbox and holds its command right before its exec, while the program does something else; the
 * second says what to execute there. Only exec is left to wait for then. The command must neither
 * change nor be freed before the second step. Its environment and its policy are those of the first
 * step; before the second returns, all that the sandbox was made from is checked, and if anything
 * has changed since, it is made anew. A prepared run that is freed runs nothing. */
BUCKLE_API struct buckle_run *buckle_prepare(const struct buckle_command *command,
                                             struct buckle_error **error);
/* argv ends in NULL; NULL: the command's own. stdio: three descriptors as of
 * buckle_command_stdio(), or NULL: the command's. Once for each run. */
BUCKLE_API int buckle_run_begin(struct buckle_run *run, const char *const *argv, const int *stdio,
                                struct buckle_error **error);

/* Readable when there is something to dispatch. For poll(); neither read nor close it. */
BUCKLE_API int buckle_run_fd(const struct buckle_run *run);
/* Calls back for everything that has come, waiting for it no longer than this (-1: for ever). 1
 * when the command has ended, 0 when not yet, -1 when it could not be run or was lost. Callbacks
 * are called one at a time, in the order of what happened; they may call anything for this run but
 * this function, buckle_run_wait() and buckle_run_free(). */
BUCKLE_API int buckle_run_dispatch(struct buckle_run *run, int milliseconds,
                                   struct buckle_error **error);
/* Dispatches until the end: 0, or -1. */
BUCKLE_API int buckle_run_wait(struct buckle_run *run, struct buckle_error **error);

/* Once it has ended: as shells have it (128 and the signal's number; 124 after its time), or -1. */
BUCKLE_API int buckle_run_status(const struct buckle_run *run);
BUCKLE_API int buckle_run_signal_number(const struct buckle_run *run); /* that ended it, or 0 */
BUCKLE_API int buckle_run_timed_out(const struct buckle_run *run);
BUCKLE_API int buckle_run_cancelled(const struct buckle_run *run);

/* Ends the command and everything it started: SIGTERM, and two seconds later, or when this is
 * called again, SIGKILL. Does not wait. */
BUCKLE_API int buckle_run_cancel(struct buckle_run *run);
BUCKLE_API int buckle_run_signal(struct buckle_run *run, int signal);

/* Another policy for the running command, of settings (JSON) or of a text (SBPL, which imports
 * shipped profiles only). On failure the old one stays. *waits, when not NULL, gets what has to
 * wait for the next command, a line each, or NULL. */
BUCKLE_API int buckle_run_update_settings(struct buckle_run *run, const char *json, size_t len,
                                          char **waits, struct buckle_error **error);
BUCKLE_API int buckle_run_update_text(struct buckle_run *run, const char *text, size_t len,
                                      char **waits, struct buckle_error **error);
/* More, narrowly, until it ends: "allow-read", "allow-write" with a path, "allow-net" with a host.
 * An event tells of it. */
BUCKLE_API int buckle_run_grant(struct buckle_run *run, const char *rule, const char *value,
                                char **waits, struct buckle_error **error);

/* Ends what still runs, at once. No other thread may be using it any longer. */
BUCKLE_API void buckle_run_free(struct buckle_run *run);

/* ---- violations ---- */

/* Keeps the newest ones; 0: a hundred. NULL when out of memory, or more than a million. */
BUCKLE_API struct buckle_store *buckle_store_new(size_t size);
BUCKLE_API void buckle_store_free(struct buckle_store *store);
/* json may be NULL. 1, or 0 when it is ignored. */
BUCKLE_API int buckle_store_add(struct buckle_store *store, uint64_t command_id,
                                const char *command, const char *line, const char *json);
BUCKLE_API uint64_t buckle_store_total(struct buckle_store *store); /* of all there ever were */
BUCKLE_API size_t buckle_store_count(struct buckle_store *store);   /* of those still there */
BUCKLE_API void buckle_store_clear(struct buckle_store *store);     /* keeps the total */
/* What is not to be stored: lines that contain texts[i], of commands whose text contains
 * commands[i], or of all ("*"). Replaces what was ignored before. */
BUCKLE_API int buckle_store_ignore(struct buckle_store *store, const char *const *commands,
                                   const char *const *texts, size_t count);
/* Called at once and after every change, in the thread that made it, one call at a time. It may
 * call everything but these two. A number (above 0), or -1. Once unsubscribed, no call is under
 * way. */
typedef void buckle_store_fn(void *arg, struct buckle_store *store);
BUCKLE_API int buckle_store_subscribe(struct buckle_store *store, buckle_store_fn *fn, void *arg);
BUCKLE_API void buckle_store_unsubscribe(struct buckle_store *store, int number);

/* Copies of the newest, oldest first. limit 0: all; command_id 0 and command NULL: of every
 * command; after: only those with a higher number. */
BUCKLE_API struct buckle_violations *buckle_store_get(struct buckle_store *store, size_t limit,
                                                      uint64_t command_id, const char *command,
                                                      uint64_t after);
BUCKLE_API void buckle_violations_free(struct buckle_violations *list);
BUCKLE_API size_t buckle_violations_count(const struct buckle_violations *list);
/* at: from 0 to count - 1. */
BUCKLE_API uint64_t buckle_violation_number(const struct buckle_violations *list, size_t at);
BUCKLE_API uint64_t buckle_violation_time(const struct buckle_violations *list, size_t at);
BUCKLE_API uint64_t buckle_violation_command_id(const struct buckle_violations *list, size_t at);
BUCKLE_API const char *buckle_violation_command(const struct buckle_violations *list, size_t at);
BUCKLE_API const char *buckle_violation_line(const struct buckle_violations *list, size_t at);
BUCKLE_API const char *buckle_violation_json(const struct buckle_violations *list, size_t at);

/* A command's error output for an agent: its own tags disarmed, and <sandbox_violations> appended.
 * And the same for a person: without any such block. NULL when out of memory. */
BUCKLE_API char *buckle_annotate(const char *text, size_t len,
                                 const struct buckle_violations *list);
BUCKLE_API char *buckle_strip(const char *text, size_t len);

/* Tags that lead from a line of macOS's log to a command: CMD64_…_END_SESSION. */
BUCKLE_API char *buckle_tag_session(void); /* a new one; NULL when there are no random numbers */
BUCKLE_API char *buckle_tag_encode(const char *command, const char *session);
/* The first tag in a text: 1 and its parts, or 0. Either may be NULL. Only a command's first
 * hundred bytes are in its tag. */
BUCKLE_API int buckle_tag_decode(const char *text, char **command, char **session);

/* ---- what becomes of an agent's commands ---- */

enum buckle_mode { BUCKLE_MODE_PROMPT, BUCKLE_MODE_OPEN, BUCKLE_MODE_NONE };
enum buckle_decision {
    BUCKLE_RUN_SANDBOXED,
    BUCKLE_ASK, /* the person; *sandboxed says how it runs then: approval never lifts the sandbox */
    BUCKLE_RUN_OUTSIDE,
    BUCKLE_REFUSE
};

/* What decides, as settings have it: enabled, asked for what runs inside, bypass not allowed,
 * nothing excluded, mode prompt. */
BUCKLE_API struct buckle_gates *buckle_gates_new(void);
BUCKLE_API void buckle_gates_free(struct buckle_gates *gates);
BUCKLE_API void buckle_gates_enabled(struct buckle_gates *gates, int on);
BUCKLE_API void buckle_gates_auto_allow(struct buckle_gates *gates, int on);
BUCKLE_API void buckle_gates_allow_unsandboxed(struct buckle_gates *gates, int on);
BUCKLE_API void buckle_gates_mode(struct buckle_gates *gates, enum buckle_mode mode);
BUCKLE_API void buckle_gates_planning(struct buckle_gates *gates, int on);
/* `docker ps`, `docker:*`, `npm run *` */
BUCKLE_API int buckle_gates_exclude(struct buckle_gates *gates, const char *pattern);
/* A pure function. sandboxed and reason may be NULL; the reason is a constant. */
BUCKLE_API enum buckle_decision buckle_decide(const struct buckle_gates *gates, const char *command,
                                              int bypass, int *sandboxed, const char **reason);

/* ---- macOS ---- */

/* One line for a shell there that runs the command under these settings: `env … sandbox-exec -p
 * PROFILE SHELL -c COMMAND`. shell NULL: bash. Ports of proxies on that machine, or 0. */
BUCKLE_API char *buckle_wrap(const char *settings, size_t len, const char *command,
                             const char *shell, unsigned http_port, unsigned socks_port,
                             struct buckle_error **error);

/* ---- this host ---- */

/* Whether commands can be run here at all: 1 or 0. */
BUCKLE_API int buckle_supported_platform(void);
/* What this host can enforce, tried out, with remedies for what it lacks: one JSON object, as
 * `buckle doctor --json` prints it. *full, when not NULL: whether the default profile can be
 * enforced without weakening it. */
BUCKLE_API char *buckle_dependencies(int *full, struct buckle_error **error);

/* ---- a manager: settings, and everything that runs under them ---- */

/* For a project's folder; NULL: the working directory. */
BUCKLE_API struct buckle_manager *buckle_manager_new(const char *directory);
/* Ends what still runs under it. Its runs have been freed, or are never touched again. */
BUCKLE_API void buckle_manager_free(struct buckle_manager *manager);

/* Reads settings (JSON, or NULL; those of user, project and machine count besides), and sees to it
 * that this host can enforce them. Calls at the same time share one start; a failed one can be
 * tried again; once started it does nothing. */
BUCKLE_API int buckle_manager_start(struct buckle_manager *manager, const char *settings,
                                    size_t len, struct buckle_error **error);
BUCKLE_API int buckle_manager_started(struct buckle_manager *manager);
/* Other settings, for the next command and those that run. -1 when they are wrong, and the old ones
 * stay; 1 when a command that runs keeps part of its old policy until it ends; else 0. */
BUCKLE_API int buckle_manager_update(struct buckle_manager *manager, const char *settings,
                                     size_t len, struct buckle_error **error);
/* Ends all that runs, forgets settings and violations; to be started again. */
BUCKLE_API void buckle_manager_reset(struct buckle_manager *manager);

/* Without a start these answer as if everything were closed: 0, NULL. */
BUCKLE_API int buckle_manager_enabled(struct buckle_manager *manager);
BUCKLE_API int buckle_manager_unsandboxed_allowed(struct buckle_manager *manager);
enum buckle_config {
    BUCKLE_CONFIG_READ,  /* {"denyRead": […], "allowRead": […]} */
    BUCKLE_CONFIG_WRITE, /* {"writesEverything": …, "allowWrite": […], "denyWrite": […]} */
    BUCKLE_CONFIG_NETWORK, /* {"networkOpen": …, "allowedDomains": […], "deniedDomains": […], …} */
    BUCKLE_CONFIG_SOCKETS,  /* {"allowAllUnixSockets": …, "allowUnixSockets": […]} */
    BUCKLE_CONFIG_IGNORED,  /* {"ignoreViolations": [{"command": …, "text": …}]} */
    BUCKLE_CONFIG_EXCLUDED, /* {"excludedCommands": […]} */
    BUCKLE_CONFIG_ALL
};
BUCKLE_API char *buckle_manager_config(struct buckle_manager *manager, enum buckle_config which);
/* What a model should be told; empty when commands do not run in a sandbox. */
BUCKLE_API char *buckle_manager_summary(struct buckle_manager *manager, int json);

/* How much the person wants to be asked; and whether a plan is being made. */
BUCKLE_API void buckle_manager_mode(struct buckle_manager *manager, enum buckle_mode mode,
                                    int planning);
/* Without a start: refuse. */
BUCKLE_API enum buckle_decision buckle_manager_decide(struct buckle_manager *manager,
                                                      const char *command, int bypass,
                                                      int *sandboxed, const char **reason);
/* A shell's command line under the settings as they are now, to be started (and set up further) by
 * the caller: with the manager's TMPDIR, and its store hearing of denials. shell NULL: bash. *id,
 * when not NULL, is what the store knows the command by. */
BUCKLE_API struct buckle_command *buckle_manager_command(struct buckle_manager *manager,
                                                         const char *command, const char *shell,
                                                         uint64_t *id, struct buckle_error **error);
BUCKLE_API char *buckle_manager_wrap(struct buckle_manager *manager, const char *command,
                                     const char *shell, unsigned http_port, unsigned socks_port,
                                     struct buckle_error **error);
/* The manager's own. */
BUCKLE_API struct buckle_store *buckle_manager_store(struct buckle_manager *manager);
/* A command's error output with what its store has of it; id 0: by the command's text. */
BUCKLE_API char *buckle_manager_annotate(struct buckle_manager *manager, uint64_t id,
                                         const char *command, const char *text, size_t len);

/* ---- the calling process ---- */

/* Sandboxes this process and all it starts from now on, for good, under the policy of a command
 * whose argv does not matter. Only while the process has one thread. What is open stays open. When
 * it fails nothing has changed, unless buckle_error_half() says that part of it holds already: then
 * end. Denials are written to report_fd, a line of JSON each, unless it is -1 or would block.
 *
 * Weaker than running a command: see docs/library.md. Policies that cannot be held this way (hosts
 * by name) are refused. */
BUCKLE_API int buckle_apply(const struct buckle_command *policy, int report_fd,
                            struct buckle_error **error);
BUCKLE_API int buckle_error_half(const struct buckle_error *error);

/* ---- errors ---- */

/* All findings as a compiler prints them: place, message, source line, caret, hint. */
BUCKLE_API const char *buckle_error_report(const struct buckle_error *error);
/* The first one, in parts. Never NULL; "" and 0 when there is none. */
BUCKLE_API const char *buckle_error_message(const struct buckle_error *error);
BUCKLE_API const char *buckle_error_hint(const struct buckle_error *error);
BUCKLE_API const char *buckle_error_file(const struct buckle_error *error);
BUCKLE_API unsigned buckle_error_line(const struct buckle_error *error);
BUCKLE_API unsigned buckle_error_column(const struct buckle_error *error);
BUCKLE_API void buckle_error_free(struct buckle_error *error);

#ifdef __cplusplus
}
#endif

#endif
