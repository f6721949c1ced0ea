/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Remedies in the words of the command line. The library knows remedies as enum bk_remedy and words
 * them without flags (base/remedies.def), because its users have none to give.
 */

#include "cli/remedy-words.h"

#include "base/err.h"

static const char *const words[REMEDY_COUNT] = {
    [REMEDY_ACCEPT_WEAKER] = "`buckle doctor` explains why; --accept-weaker continues without it",
    [REMEDY_ACCEPT_CAPABILITY] = "--accept-weaker grants it anyway",
    [REMEDY_LIST_ABILITIES] = "`buckle doctor --json` lists them",
    [REMEDY_ANY_INTERFACE] =
        "--listen-any-interface accepts it: other machines reach the proxy then",
    [REMEDY_LIST_KEYS] = "`buckle settings --keys` lists them",
    [REMEDY_LIST_PRESETS] = "no presets file was found; --list-presets lists the built-in ones",
    [REMEDY_FILTER_NETWORK] = "use a profile that allows only some hosts, or add --deny-net",
    [REMEDY_STRICT_READS_WITHOUT] = "--strict-reads does without them",
    [REMEDY_STRICT_READS_JUDGE] = "--strict-reads judges instead",
    [REMEDY_STRICT_READS_ASK] = "--strict-reads asks",
    [REMEDY_ALLOW_WRITE] = "--allow-write",
    [REMEDY_ALLOW_PROTECTED] = "--allow-protected",
    [REMEDY_ALLOW_READ] = "--allow-read",
    [REMEDY_ALLOW_NET] = "--allow-net",
    [REMEDY_ALLOW_SOCKET] = "--allow-socket",
    [REMEDY_ALLOW_COMMAND] = "to agree in advance: --allow-command",
    [REMEDY_ALLOW_USERNS] = "--allow-userns",
    [REMEDY_PRESET] = "--preset",
    [REMEDY_WATCH_NET] = "--watch-net shows which",
    [REMEDY_WITH_WEAKER] = "with --accept-weaker",
    [REMEDY_SHOW_PLAN] = "`buckle run --dry-run` names them",
    [REMEDY_FOLD_CASE] = "read it with --fold-case",
    [REMEDY_MCP_MODE_OPEN] = "the user can start `buckle mcp --mode open`",
    [REMEDY_MCP_HERE] = "start the server with --here",
};

/* The compat names have the flags of the programs that they replace. */
static const char *const compat_words[REMEDY_COUNT] = {
    [REMEDY_ACCEPT_WEAKER] =
        "`buckle doctor` explains why; `buckle run --accept-weaker` continues without it",
};

void cli_word_remedies(bool compat)
{
    static const char *chosen[REMEDY_COUNT];
    for (int i = 0; i < REMEDY_COUNT; i++)
        chosen[i] = compat && compat_words[i] ? compat_words[i] : words[i];
    remedy_use(chosen);
}
