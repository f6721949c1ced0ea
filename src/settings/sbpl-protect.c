/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Names that no sandboxed process may write, at any depth, whether they exist or not: programs
 * outside would run or obey them later. The patterns match paths, so nothing is created on disk,
 * and new files are covered.
 *
 * macOS's file systems ignore case: there every letter of a pattern matches both.
 */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "settings/sbpl-int.h"
#include "vocab/protected-classes.h"

struct protection {
    const char *comment, *reason;
    enum protected_class class;
    bool ownable; /* free in folders that the command created, where Linux's judge knows them */
    const char *patterns[4];
};

static const struct protection protections[] = {
    {"Shells run these: .bashrc .bash_profile .zshrc .zprofile .profile.",
     "protected: every new shell runs it",
     PROTECTED_SHELLS,
     true,
     {"/\\.(bashrc|bash_profile|zshrc|zprofile|profile)$"}},
    {"Tools obey these: .ripgreprc.",
     "protected: tells tools what to run",
     PROTECTED_TOOLS,
     true,
     {"/\\.ripgreprc$"}},
    {"Git obeys .gitconfig.",
     "protected: tells git what to run",
     PROTECTED_GIT_SETTINGS,
     true,
     {"/\\.gitconfig$"}},
    {"Editors run tasks from .vscode and .idea.",
     "protected: editors run tasks from it",
     PROTECTED_EDITORS,
     true,
     {"/\\.(vscode|idea)(/|$)"}},
    {"Coding agents obey .mcp.json, .claude/commands, .claude/agents and .claude/settings*.json.",
     "protected: decides what a coding agent runs and may do",
     PROTECTED_AGENTS,
     true,
     {"/\\.mcp\\.json$", "/\\.claude/((commands|agents)(/|$)|settings[^/]*\\.json$)"}},
    {"Settings of sandboxes: .srt-settings.json, .buckle*, .config/buckle, .config/cage.",
     "protected: decides what sandboxes allow",
     PROTECTED_NO_CLASS,
     false,
     {"/\\.srt-settings\\.json$", "/\\.buckle[^/]*(/|$)", "/\\.config/(buckle|cage)(/|$)"}},
};

static const char hooks[] = "/\\.git/(modules/.*/)?hooks(/|$)";
static const char git_settings[] = "/\\.git/(modules/.*/)?(config|config\\.worktree)$";
static const char git_modules[] = "/\\.gitmodules$";
static const char git_worktree[] = "/\\.git/worktrees/[^/]*/config\\.worktree$";
/* another folder's settings would replace the repository's */
static const char git_commondir[] = "/\\.git/(modules/.*/)?commondir$";
/* Folders around protected ones. On Linux .config, which is common, may be moved: the judge
 * inspects what is moved. */
static const char holders[] = "/\\.(git|git/modules|claude|config)$";
static const char moved_holders[] = "/\\.(git|git/modules|claude)$";

static void write_pattern(struct writer *w, const char *pattern)
{
    bool set = false;
    buf_str(w->out, "#\"");
    for (const char *s = pattern; *s; s++) {
        set = (set || *s == '[') && *s != ']';
        if (w->t->macos && !set && isalpha((unsigned char)*s))
            buf_fmt(w->out, "[%c%c]", *s, toupper((unsigned char)*s));
        else
            buf_chr(w->out, *s);
    }
    buf_chr(w->out, '"');
}

static void write_regex(struct writer *w, const char *const *patterns, size_t n)
{
    buf_str(w->out, "(regex");
    for (size_t i = 0; i < n && patterns[i]; i++) {
        buf_str(w->out, i ? "\n        " : " ");
        write_pattern(w, patterns[i]);
    }
    buf_chr(w->out, ')');
}

/* With a tag all denials have the same message and are one rule. */
static void begin(struct writer *w, bool first, const char *comment)
{
    if (!w->p->tag) {
        buf_fmt(w->out, "; %s\n", comment);
        write_open(w, "deny", write_operations(w));
        return;
    }
    if (first)
        write_open(w, "deny", write_operations(w));
    buf_fmt(w->out, "\n    ; %s", comment);
}

static void end(struct writer *w, bool last, const char *reason, enum protected_class class)
{
    char message[128];
    snprintf(message, sizeof(message), class == PROTECTED_NO_CLASS ? "%s" : "%s (%s)", reason,
             class == PROTECTED_NO_CLASS ? "" : protected_classes[class].name);
    if (!w->p->tag || last)
        write_close(w, message);
}

static bool is_allowed(const struct writer *w, enum protected_class class)
{
    return class != PROTECTED_NO_CLASS && (w->p->allow_protected >> class & 1);
}

/* Where flags can allow classes later: their rules come after this text, in the same program. */
static bool is_lifted_later(const struct writer *w, enum protected_class class)
{
    return class != PROTECTED_NO_CLASS && w->p->as_shipped && w->t->flattened;
}

static void write_unless_allowed(struct writer *w, enum protected_class class)
{
    buf_fmt(w->out, "\n        (require-not (extension \"%s\"))",
            protected_classes[class].extension);
}

/* A repository that the command created itself may be removed: on Linux the judge grants this
 * extension for it. */
static const char created[] = "(extension \"buckle.created-repository\")";
/* A name is removed, not moved. */
static const char removal[] = "(extension \"buckle.removal\")";

/* The patterns, unless Linux's judge has inspected the change; and the changes that it finds
 * harmful (see profiles/protected.sb). */
static void write_judged(struct writer *w, enum protected_class class, const char *const *patterns,
                         size_t n, const char *harm)
{
    bool later = is_lifted_later(w, class);
    if (n > 0) {
        buf_str(w->out, w->t->macos && !later ? "\n    " : "\n    (require-all\n        ");
        write_regex(w, patterns, n);
    }
    if (n > 0 && !w->t->macos)
        buf_str(w->out, "\n        (require-not (extension \"buckle.git-judged\"))");
    if (n > 0 && later)
        write_unless_allowed(w, class);
    if (n > 0 && (!w->t->macos || later))
        buf_chr(w->out, ')');
    if (!w->t->macos && harm)
        buf_fmt(w->out, "\n    (extension \"buckle.git-%s\")", harm);
}

/* What git runs. */
static void write_git_hooks(struct writer *w, bool first)
{
    const char *const run[] = {hooks};
    begin(w, first, "git runs hooks.");
    write_judged(w, PROTECTED_GIT_HOOKS, run, 1, "hooks");
    end(w, false, "protected: git would run it", PROTECTED_GIT_HOOKS);
    if (w->t->macos)
        return;
    begin(w, false, "git runs these when a rebase continues.");
    write_judged(w, PROTECTED_GIT_HOOKS, NULL, 0, "state");
    end(w, false, "protected: git would run it when the rebase continues", PROTECTED_GIT_HOOKS);
}

static void write_git_settings(struct writer *w, bool first)
{
    const char *const settings[] = {git_commondir, git_modules, git_settings, git_worktree};
    bool open = w->p->allow_git_config;
    if (!w->t->macos) {
        begin(w, first, "These decide whose settings and hooks git obeys.");
        write_judged(w, PROTECTED_GIT_SETTINGS, NULL, 0, "pointer");
        end(w, false, "protected: decides whose settings and hooks git obeys",
            PROTECTED_GIT_SETTINGS);
        first = false;
    }
    begin(w, first, "git runs programs that a repository's settings name.");
    write_judged(w, PROTECTED_GIT_SETTINGS, settings, open ? 2 : 4, open ? NULL : "settings");
    end(w, false, "protected: git runs programs named in a repository's settings",
        PROTECTED_GIT_SETTINGS);
}

/* Moving such a folder away and creating another would replace protected files; a symlink in its
 * place would lead to unprotected names. */
static void write_holders(struct writer *w)
{
    const char *const folder[] = {holders};
    const char *const moved[] = {w->t->macos ? holders : moved_holders};
    buf_str(w->out, "; The folders that contain these cannot be moved or replaced by a symlink.\n");
    write_open(w, "deny", "file-write-unlink");
    buf_str(w->out, "\n    (require-all (vnode-type DIRECTORY) ");
    write_regex(w, moved, 1);
    if (!w->t->macos)
        buf_fmt(w->out, " (require-not %s)\n        (require-any (require-not %s) %s)", created,
                removal, "(regex #\"/\\.claude$\")");
    buf_chr(w->out, ')');
    write_close(w, "protected: contains settings that programs outside obey");
    write_open(w, "deny", "file-write-create");
    buf_str(w->out, "\n    (require-all (vnode-type SYMLINK) ");
    if (!w->t->macos) /* or of any folder that was there before: see profiles/protected.sb */
        buf_str(w->out, "(require-any (extension \"buckle.replaced-folder\") ");
    write_regex(w, folder, 1);
    buf_str(w->out, w->t->macos ? ")" : "))");
    write_close(w, "protected: a symlink here would bypass protected names");
}

static void write_names(struct writer *w, const struct protection *p, bool first, bool last)
{
    bool ownable = p->ownable && !w->t->macos, later = is_lifted_later(w, p->class);
    begin(w, first, p->comment);
    buf_str(w->out, ownable || later ? "\n    (require-all\n        " : "\n    ");
    write_regex(w, p->patterns, 4);
    if (ownable)
        buf_str(w->out, "\n        (require-not (extension \"buckle.own-folder\"))");
    /* the others may be start-up files in the home folder, which this text does not know */
    if (ownable && p->class == PROTECTED_EDITORS)
        buf_str(w->out, "\n        (require-not (extension \"buckle.removal\"))");
    if (later)
        write_unless_allowed(w, p->class);
    if (ownable || later)
        buf_chr(w->out, ')');
    end(w, last, p->reason, p->class);
}

/* Settings of sandboxes cannot be allowed, so there is always a last rule. */
void write_protected(struct writer *w)
{
    size_t n = sizeof(protections) / sizeof(protections[0]);
    bool first = true;
    for (size_t i = 0; i + 1 < n; i++)
        if (!is_allowed(w, protections[i].class)) {
            write_names(w, &protections[i], first, false);
            first = false;
        }
    if (!is_allowed(w, PROTECTED_GIT_HOOKS)) {
        write_git_hooks(w, first);
        first = false;
    }
    if (!is_allowed(w, PROTECTED_GIT_SETTINGS)) {
        write_git_settings(w, first);
        first = false;
    }
    write_names(w, &protections[n - 1], first, true);
    write_holders(w);
    if (!w->t->macos)
        buf_str(w->out, "; Targets of symlinks that have these names.\n(import \"links.sb\")\n");
}
