/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The vocabulary as the language uses it: names, forms, legal filters, suggestions.
 * test-vocab-tables.c checks it against the published tables row by row.
 */

#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "vocab/implied.h"
#include "vocab/os.h"
#include "vocab/rule-words.h"
#include "vocab/vocab.h"

static struct vocab_word find(const char *name, enum vocab_kind want)
{
    return vocab_find(name, strlen(name), want);
}

static void test_index(void)
{
    bool sorted = true, found = true, named = true;
    for (size_t i = 0; i < vocab_spelling_count(); i++) {
        struct vocab_word word;
        const char *name = vocab_spelling_at(i, &word);
        if (i && strcmp(vocab_spelling_at(i - 1, NULL), name) > 0)
            sorted = false;
        struct vocab_word again = find(name, word.kind);
        if (again.kind != word.kind || (again.id != word.id && word.kind != WORD_CONSTANT))
            found = false;
        if (!vocab_word_name(&word))
            named = false;
    }
    ok(sorted, "the index is sorted");
    ok(found, "every spelling is found under its kind");
    ok(named, "every word has a canonical name");
    ok(vocab_spelling_count() >= OP_COUNT + FILTER_COUNT + MOD_COUNT + vocab_constant_count,
       "the index holds every table (%zu)", vocab_spelling_count());
}

static void test_every_row_is_found(void)
{
    int lost = 0;
    for (unsigned i = 0; i < OP_COUNT; i++) {
        struct vocab_word w = find(vocab_ops[i].name, WORD_OP);
        lost += w.kind != WORD_OP || w.id != i || w.alias || w.extension != vocab_ops[i].extension;
    }
    is_int(lost, 0, "operations lead back to their rows");
    lost = 0;
    for (unsigned i = 0; i < FILTER_COUNT; i++) {
        struct vocab_word w = find(vocab_filters[i].name, WORD_FILTER);
        lost += w.kind != WORD_FILTER || w.id != i || w.alias;
    }
    is_int(lost, 0, "filters lead back to their rows");
    lost = 0;
    for (unsigned i = 0; i < MOD_COUNT; i++) {
        struct vocab_word w = find(vocab_modifiers[i].name, WORD_MODIFIER);
        lost += w.kind != WORD_MODIFIER || w.id != i || w.alias;
    }
    is_int(lost, 0, "modifiers lead back to their rows");
    lost = 0;
    for (size_t i = 0; i < vocab_constant_count; i++)
        lost += find(vocab_constant_name(i), WORD_CONSTANT).kind != WORD_CONSTANT;
    is_int(lost, 0, "constants are found");
}

static void test_unknown_names(void)
{
    is_int(find("file-raed*", WORD_NONE).kind, WORD_NONE, "a misspelling is nothing");
    is_int(find("", WORD_NONE).kind, WORD_NONE, "the empty name is nothing");
    is_int(find("zzz", WORD_NONE).kind, WORD_NONE, "past the last name");
    is_int(find("file-read*", WORD_FILTER).kind, WORD_NONE, "an operation is no filter");
    is_int(vocab_find("file-read*x", 10, WORD_NONE).id, OP_FILE_READ, "the length is respected");
    is_int(vocab_find("file-read*", 9, WORD_NONE).kind, WORD_NONE, "a leading part is no name");
    is_int(vocab_find("path\0", 5, WORD_NONE).kind, WORD_NONE, "a NUL is part of the name");
}

static void test_op_aliases(void)
{
    static const struct {
        const char *name;
        enum vocab_op op;
        bool extension;
    } rows[] = {
        {"iokit-open", OP_IOKIT_OPEN_USER_CLIENT, false},
        {"file-unlink", OP_FILE_WRITE_UNLINK, false},
        {"file-write-mount", OP_FILE_MOUNT, false},
        {"file-write-unmount", OP_FILE_UNMOUNT, false},
        {"process-exec", OP_PROCESS_EXEC, false},
        {"ipc-posix-sem", OP_IPC_POSIX_SEM, false},
        {"ipc-posix-shm", OP_IPC_POSIX_SHM, false},
        {"sysctl", OP_SYSCTL, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct vocab_word w = find(rows[i].name, WORD_OP);
        ok(w.kind == WORD_OP && w.id == rows[i].op && w.alias && w.extension == rows[i].extension,
           "%s is another name of %s", rows[i].name, vocab_ops[rows[i].op].name);
    }
    is_str(vocab_op_name_in(OP_IOKIT_OPEN, VOCAB_MACOS_10_15), "iokit-open", "its name in 10.15");
    is_str(vocab_op_name_in(OP_IOKIT_OPEN, VOCAB_MACOS_12_5), "iokit-open*", "its name in 12.5");
    is_str(vocab_op_name_in(OP_PROCESS_EXEC, VOCAB_IOS_4), "process-exec", "its name in iOS 4");
    is_str(vocab_op_name_in(OP_PROCESS_EXEC, VOCAB_OS_ANY), "process-exec*", "its name today");
}

static void check_form(const char *name, enum vocab_filter filter, enum vocab_form form)
{
    struct vocab_word w = find(name, WORD_FILTER);
    ok(w.kind == WORD_FILTER && w.id == filter && w.form == form, "%s is form %d of %s", name, form,
       vocab_filters[filter].name);
}

static void test_filter_forms(void)
{
    check_form("path", FILTER_PATH, FORM_LITERAL);
    check_form("literal", FILTER_PATH, FORM_LITERAL);
    check_form("path-literal", FILTER_PATH, FORM_LITERAL);
    check_form("subpath", FILTER_PATH, FORM_SUBPATH);
    check_form("path-subpath", FILTER_PATH, FORM_SUBPATH);
    check_form("prefix", FILTER_PATH, FORM_PREFIX);
    check_form("path-prefix", FILTER_PATH, FORM_PREFIX);
    check_form("regex", FILTER_PATH, FORM_REGEX);
    check_form("path-regex", FILTER_PATH, FORM_REGEX);
    check_form("glob", FILTER_PATH, FORM_GLOB);
    check_form("mount-relative-path", FILTER_MOUNT_RELATIVE_PATH, FORM_LITERAL);
    check_form("mount-relative-literal", FILTER_MOUNT_RELATIVE_PATH, FORM_LITERAL);
    check_form("mount-relative-subpath", FILTER_MOUNT_RELATIVE_PATH, FORM_SUBPATH);
    check_form("mount-relative-regex", FILTER_MOUNT_RELATIVE_PATH, FORM_REGEX);
    check_form("process-path-prefix", FILTER_PROCESS_PATH, FORM_PREFIX);
    check_form("process-path-subpath", FILTER_PROCESS_PATH, FORM_SUBPATH);
    check_form("xattr-prefix", FILTER_XATTR, FORM_PREFIX);
    check_form("global-name", FILTER_GLOBAL_NAME, FORM_LITERAL);
    check_form("global-name-regex", FILTER_GLOBAL_NAME, FORM_REGEX);
    check_form("sysctl-name-regex", FILTER_SYSCTL_NAME, FORM_REGEX);
    check_form("ipc-posix-name-prefix", FILTER_IPC_POSIX_NAME, FORM_PREFIX);
    check_form("preference-domain-prefix", FILTER_PREFERENCE_DOMAIN, FORM_PREFIX);
    check_form("iokit-user-client-class", FILTER_IOKIT_REGISTRY_ENTRY_CLASS, FORM_LITERAL);
    check_form("iokit-registry-entry-class-prefix", FILTER_IOKIT_REGISTRY_ENTRY_CLASS, FORM_PREFIX);
    check_form("extension", FILTER_EXTENSION, FORM_PLAIN);
    check_form("from", FILTER_LOCAL, FORM_PLAIN);
    check_form("to", FILTER_REMOTE, FORM_PLAIN);
    ok(find("from", WORD_FILTER).alias && !find("subpath", WORD_FILTER).alias,
       "another name is an alias, a form is not");
    ok(find("glob", WORD_FILTER).extension && !find("regex", WORD_FILTER).extension,
       "glob is ours, regex is Apple's");
    is_int(find("extension-regex", WORD_NONE).kind, WORD_NONE, "a plain name has no regex form");
    is_int(find("global-name-subpath", WORD_NONE).kind, WORD_NONE, "a name has no subpath form");
    is_int(find("uid-prefix", WORD_NONE).kind, WORD_NONE, "a number has no prefix form");
}

static void test_spellings(void)
{
    is_str(vocab_filter_spelling(FILTER_PATH, FORM_SUBPATH), "subpath", "path, subpath");
    is_str(vocab_filter_spelling(FILTER_PATH, FORM_LITERAL), "literal", "path, literal");
    is_str(vocab_filter_spelling(FILTER_PATH, FORM_PLAIN), "path", "path, plain");
    is_str(vocab_filter_spelling(FILTER_GLOBAL_NAME, FORM_PREFIX), "global-name-prefix",
           "global-name, prefix");
    is_str(vocab_filter_spelling(FILTER_GLOBAL_NAME, FORM_LITERAL), "global-name",
           "global-name, literal");
    is_str(vocab_filter_spelling(FILTER_MOUNT_RELATIVE_PATH, FORM_REGEX), "mount-relative-regex",
           "mount-relative-path, regex");
    is_str(vocab_filter_spelling(FILTER_IOKIT_REGISTRY_ENTRY_CLASS, FORM_REGEX),
           "iokit-registry-entry-class-regex", "the newer name is printed");
    is_str(vocab_filter_spelling(FILTER_TARGET, FORM_REGEX), NULL, "target has no regex");
    is_str(vocab_filter_spelling(FILTER_GLOBAL_NAME, FORM_SUBPATH), NULL, "names have no subpath");
    is_str(vocab_filter_spelling(FILTER_NONE, FORM_PLAIN), NULL, "no filter, no spelling");
}

static int64_t filter_value(enum vocab_filter filter, const char *name)
{
    int64_t value = -100;
    return vocab_filter_constant(filter, name, strlen(name), &value) ? value : -100;
}

static int64_t modifier_value(enum vocab_modifier mod, const char *name)
{
    int64_t value = -100;
    return vocab_modifier_constant(mod, name, strlen(name), &value) ? value : -100;
}

static void test_constants(void)
{
    is_int(filter_value(FILTER_SYSCALL_NUMBER, "SYS_open"), 5, "SYS_open");
    is_int(filter_value(FILTER_SOCKET_DOMAIN, "AF_UNIX"), 1, "AF_UNIX");
    is_int(filter_value(FILTER_SOCKET_PROTOCOL, "IPPROTO_TCP"), 6, "IPPROTO_TCP as a protocol");
    is_int(filter_value(FILTER_SOCKET_PROTOCOL, "IPPROTO_UDP"), 17, "IPPROTO_UDP as a protocol");
    is_int(filter_value(FILTER_TARGET, "other"), 3, "other is others");
    is_int(filter_value(FILTER_VNODE_TYPE, "DIR"), 2, "DIR is DIRECTORY");
    is_int(filter_value(FILTER_REMOTE, "tcp"), 7, "remote knows the protocols that local knows");
    is_int(filter_value(FILTER_SOCKET_OPTION_NAME, "SO_LINGER"), 128, "SO_LINGER is the first");
    is_int(filter_value(FILTER_TARGET, "SYS_open"), -100, "a target is no system call");
    is_int(filter_value(FILTER_TARGET, "platform-binary"), -100, "only a semaphore's owner is");
    is_int(filter_value(FILTER_PATH, "self"), -100, "a path has no constants");
    is_int(modifier_value(MOD_SEND_SIGNAL, "SIGUSR1"), 30, "signals keep Darwin's numbers");
    is_int(modifier_value(MOD_ERRNO, "EAGAIN"), 35, "errors keep Darwin's numbers");
    is_int(modifier_value(MOD_ERRNO, "EOPNOTSUPP"), 102, "EOPNOTSUPP is the modern one");
    is_int(modifier_value(MOD_ERRNO, "SIGKILL"), -100, "a signal is no error");
    is_str(vocab_filter_constant_name(FILTER_TARGET, 3), "others", "3 is printed as others");
    is_str(vocab_filter_constant_name(FILTER_VNODE_TYPE, 2), "DIRECTORY", "2 as DIRECTORY");
    is_str(vocab_filter_constant_name(FILTER_TARGET, 99), NULL, "99 has no name");
    is_str(vocab_modifier_constant_name(MOD_ERRNO, 45), "ENOTSUP", "45 is ENOTSUP");
    is_str(vocab_modifier_constant_name(MOD_SEND_SIGNAL, 9), "SIGKILL", "9 is SIGKILL");
    struct vocab_word dir = find("DIR", WORD_CONSTANT);
    ok(dir.extension && dir.alias, "DIR is an extension");
    is_str(vocab_word_name(&dir), "DIRECTORY", "and is called DIRECTORY");
}

static void test_takes(void)
{
    ok(vocab_op_takes_filter(OP_FILE_READ_DATA, FILTER_PATH), "file-read-data takes a path");
    ok(!vocab_op_takes_filter(OP_FILE_READ_DATA, FILTER_GLOBAL_NAME), "but no Mach name");
    ok(!vocab_op_takes_filter(OP_FILE_READ_DATA, FILTER_XATTR), "and no attribute of a sibling");
    ok(vocab_op_takes_filter(OP_FILE_READ, FILTER_XATTR), "file-read* does, for file-read-xattr");
    ok(vocab_op_takes_filter(OP_IOKIT, FILTER_IOKIT_REGISTRY_ENTRY_CLASS), "iokit*, for its own");
    ok(vocab_op_takes_filter(OP_DEFAULT, FILTER_PATH), "default takes what anything takes");
    ok(!vocab_op_takes_filter(OP_DEFAULT, FILTER_IOKIT_METHOD_NUMBER),
       "except what lives in message filters");
    ok(vocab_op_takes_filter(OP_PROCESS_FORK, FILTER_EXTENSION), "extensions go anywhere");
    ok(vocab_op_takes_filter(OP_PROCESS_FORK, FILTER_ENTITLEMENT_IS_PRESENT),
       "entitlements as well");
    ok(!vocab_op_takes_filter(OP_STORAGE_CLASS_MAP, FILTER_EXTENSION), "but in storage-class-map");
    ok(vocab_op_takes_filter(OP_MACH_MESSAGE_SEND, FILTER_EXTENSION),
       "message rules take extensions");
    ok(!vocab_op_takes_filter(OP_MACH_MESSAGE_SEND, FILTER_PATH), "which know no path");
    ok(vocab_op_takes_filter(OP_MACH_MESSAGE_SEND, FILTER_KERNEL_MIG_ROUTINE),
       "messages by routine");
    ok(vocab_op_takes_filter(OP_NETWORK_LISTEN, FILTER_LOCAL), "network-listen takes an address");
    ok(vocab_op_takes_filter(OP_NETWORK_OUTBOUND, FILTER_DOMAIN),
       "network-outbound takes a domain");
    ok(!vocab_op_takes_filter(OP_COUNT, FILTER_PATH), "an operation out of range takes nothing");
    ok(vocab_op_takes_modifier(OP_PROCESS_EXEC, MOD_NO_SANDBOX), "process-exec* with no-sandbox");
    ok(!vocab_op_takes_modifier(OP_FILE_READ, MOD_NO_SANDBOX), "file-read* without");
    ok(vocab_op_takes_modifier(OP_SYSTEM_PRIVILEGE, MOD_GRANT), "system-privilege with grant");
    ok(vocab_op_takes_modifier(OP_IOKIT_OPEN_USER_CLIENT, MOD_MESSAGE_FILTER), "message filters");
    ok(vocab_op_takes_modifier(OP_DEFAULT, MOD_PARTIAL_SYMBOLICATION), "partial-symbolication");
    ok(!vocab_op_takes_modifier(OP_MACH_MESSAGE_SEND, MOD_SEND_SIGNAL), "no signal for a message");
}

static void test_tree(void)
{
    ok(vocab_op_is_within(OP_FILE_READ_DATA, OP_FILE_READ), "file-read-data is within file-read*");
    ok(vocab_op_is_within(OP_FILE_READ_DATA, OP_DEFAULT), "everything is within default");
    ok(vocab_op_is_within(OP_FILE, OP_FILE), "an operation is within itself");
    ok(!vocab_op_is_within(OP_FILE, OP_FILE_READ), "a parent is not within its child");
    ok(!vocab_op_is_within(OP_MACH_MESSAGE_SEND, OP_DEFAULT), "message filters have a root apart");
    ok(!vocab_op_is_within(OP_NONE, OP_NONE), "nothing is within nothing");
    is_int(vocab_ops[OP_NETWORK_LISTEN].parent, OP_NETWORK_INBOUND, "parent of network-listen");
    is_int(vocab_ops[OP_IPC_POSIX_SHM_READ_DATA].parent, OP_IPC_POSIX_SHM_READ,
           "parent of ipc-posix-shm-read-data");
    is_int(vocab_ops[OP_PROCESS_LEGACY_CODESIGNING_STATUS_GET].parent,
           OP_PROCESS_LEGACY_CODESIGNING_STATUS, "legacy codesigning keeps its shape");
}

static void test_subjects(void)
{
    static const struct {
        enum vocab_op op;
        enum vocab_filter filter;
    } rows[] = {
        {OP_FILE_READ, FILTER_PATH},
        {OP_FILE_READ_XATTR, FILTER_PATH},
        {OP_FILE_IOCTL, FILTER_PATH},
        {OP_PROCESS_EXEC, FILTER_PATH},
        {OP_MACH_LOOKUP, FILTER_GLOBAL_NAME},
        {OP_SYSCTL_READ, FILTER_SYSCTL_NAME},
        {OP_NETWORK_OUTBOUND, FILTER_REMOTE},
        {OP_NETWORK, FILTER_REMOTE},
        {OP_NETWORK_INBOUND, FILTER_LOCAL},
        {OP_NETWORK_BIND, FILTER_LOCAL},
        {OP_NETWORK_LISTEN, FILTER_LOCAL},
        {OP_SIGNAL, FILTER_TARGET},
        {OP_PROCESS_INFO, FILTER_TARGET},
        {OP_IPC_POSIX_SHM_READ_DATA, FILTER_IPC_POSIX_NAME},
        {OP_IOKIT_OPEN, FILTER_IOKIT_REGISTRY_ENTRY_CLASS},
        {OP_IOKIT_GET_PROPERTIES, FILTER_IOKIT_PROPERTY},
        {OP_USER_PREFERENCE_READ, FILTER_PREFERENCE_DOMAIN},
        {OP_SYSTEM_SOCKET, FILTER_SOCKET_DOMAIN},
        {OP_SYSCALL_UNIX, FILTER_SYSCALL_NUMBER},
        {OP_SYSCALL_MACH, FILTER_MACHTRAP_NUMBER},
        {OP_SYSCALL_MIG, FILTER_KERNEL_MIG_ROUTINE},
        {OP_MACH_MESSAGE_SEND, FILTER_MESSAGE_NUMBER},
        {OP_SYSTEM_FCNTL, FILTER_FCNTL_COMMAND},
        {OP_PROCESS_FORK, FILTER_NONE},
        {OP_DEFAULT, FILTER_NONE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_int(vocab_op_subject(rows[i].op), rows[i].filter, "subject of %s",
               vocab_ops[rows[i].op].name);
}

static void test_implicit(void)
{
    bool signal_self = false, kill_in_v1 = false, sane = true;
    size_t n = 0;
    for (; vocab_implicit_rules[n].op != OP_NONE; n++) {
        const struct vocab_implicit *r = &vocab_implicit_rules[n];
        signal_self |= r->op == OP_SIGNAL && r->filter == FILTER_TARGET &&
                       r->value == filter_value(FILTER_TARGET, "self") && r->versions == 7;
        kill_in_v1 |= r->op == OP_SYSCALL_UNIX && r->versions & 1;
        sane &= vocab_op_takes_filter(r->op, r->filter) && r->versions && r->versions < 8;
    }
    ok(n >= 4, "there are implicit rules");
    ok(signal_self, "signals to oneself in every version");
    ok(!kill_in_v1, "system calls only where they are denied by default");
    ok(sane, "each could be written");
}

static void test_suggest(void)
{
    static const struct {
        const char *wrong, *right;
        unsigned kinds;
    } rows[] = {
        {"file-raed*", "file-read*", 1 << WORD_OP},
        {"file-read", "file-read*", 1 << WORD_OP},
        {"proces-fork", "process-fork", 1 << WORD_OP},
        {"mach-loookup", "mach-lookup", 1 << WORD_OP},
        {"sub-path", "subpath", 1 << WORD_FILTER},
        {"litteral", "literal", 1 << WORD_FILTER},
        {"gloabl-name", "global-name", 1 << WORD_FILTER},
        {"no-reprot", "no-report", 1 << WORD_MODIFIER},
        {"SYS_opne", "SYS_open", 1 << WORD_CONSTANT},
        {"network_outbound", "network-outbound", 1 << WORD_OP},
        {"completely-different-word", NULL, 0xff},
        {"x", NULL, 0xff},
        {"", NULL, 0xff},
        {"file-raed*", NULL, 1 << WORD_MODIFIER},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_str(vocab_suggest(rows[i].wrong, strlen(rows[i].wrong), rows[i].kinds), rows[i].right,
               "suggestion for \"%s\"", rows[i].wrong);

    size_t n = 1 << 20;
    char *huge = malloc(n);
    if (huge) {
        memset(huge, 'f', n);
        is_str(vocab_suggest(huge, n, 0xff), NULL, "a megabyte is near nothing");
    }
    free(huge);
}

static void test_os(void)
{
    static const struct {
        const char *name;
        int os; /* -1: rejected */
    } rows[] = {
        {"14.4.1", VOCAB_MACOS_14_4_1},
        {"macos14.4.1", VOCAB_MACOS_14_4_1},
        {"macOS 14", VOCAB_MACOS_14_4_1},
        {"14", VOCAB_MACOS_14_4_1},
        {"13", VOCAB_MACOS_13_0},
        {"13.0", VOCAB_MACOS_13_0},
        {"10.15", VOCAB_MACOS_10_15},
        {"ios4", VOCAB_IOS_4},
        {"iOS13", VOCAB_IOS_13_0},
        {"ios-9", VOCAB_IOS_9_3},
        {"10", -1},
        {"1", -1},
        {"14.4.10", -1},
        {"ios", -1},
        {"", -1},
        {"14.", -1},
        {"windows", -1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum vocab_os os = VOCAB_OS_ANY;
        bool found = vocab_os_find(rows[i].name, &os);
        is_int(found ? (int)os : -1, rows[i].os, "version \"%s\"", rows[i].name);
        if (!found)
            is_int(os, VOCAB_OS_ANY, "a refused version leaves the answer alone");
    }
    for (int os = 0; os < VOCAB_OS_COUNT; os++) {
        enum vocab_os again = VOCAB_OS_ANY;
        ok(vocab_os_find(vocab_os_name(os), &again) && (int)again == os, "%s leads back to itself",
           vocab_os_name(os));
    }
}

static const char *history(enum vocab_op op)
{
    static char text[128];
    vocab_op_history(op, text, sizeof(text));
    return text;
}

static void test_history(void)
{
    is_str(history(OP_FILE_READ), "", "file-read* was always there");
    is_str(history(OP_FILE_LOCK), "since 14.4.1", "file-lock came");
    is_str(history(OP_SYSTEM_CHUD), "gone in 10.15", "system-chud went");
    is_str(history(OP_PROCESS_CODESIGNING_BLOB_GET), "since 12.5, gone in 14.4.1", "came and went");
    is_str(history(OP_QTN_DOWNLOAD), "only ios8.4.1, and ios9.3", "qtn-download was iOS's");
    is_str(history(OP_NETWORK_LISTEN), "not Apple's", "network-listen is the specification's");
    char tiny[8];
    vocab_op_history(OP_FILE_LOCK, tiny, sizeof(tiny));
    is_str(tiny, "since 1", "a short buffer shortens the text");
    is_int(vocab_op_change(OP_FILE_LOCK, VOCAB_MACOS_13_0, VOCAB_MACOS_14_4_1), VOCAB_ADDED,
           "added");
    is_int(vocab_op_change(OP_FILE_LOCK, VOCAB_MACOS_14_4_1, VOCAB_MACOS_13_0), VOCAB_GONE, "gone");
    is_int(vocab_op_change(OP_IOKIT_OPEN, VOCAB_MACOS_10_15, VOCAB_MACOS_12_5), VOCAB_RENAMED,
           "renamed");
    is_int(vocab_op_change(OP_FILE_READ, VOCAB_MACOS_13_0, VOCAB_MACOS_14_4_1), VOCAB_RENUMBERED,
           "renumbered");
    is_int(vocab_op_change(OP_FILE, VOCAB_MACOS_13_0, VOCAB_MACOS_14_4_1), VOCAB_SAME, "the same");
    is_int(vocab_op_change(OP_PRIV, VOCAB_MACOS_13_0, VOCAB_MACOS_14_4_1), VOCAB_SAME,
           "absent in both is the same");
    is_int(vocab_filter_id_in(FILTER_MOUNT_ROOT_PATH, VOCAB_MACOS_13_0), -1, "not yet in 13.0");
    is_int(vocab_filter_id_in(FILTER_MOUNT_ROOT_PATH, VOCAB_MACOS_14_4_1), 91, "then in 14.4.1");
    is_int(vocab_filter_id_in(FILTER_MOUNT_ROOT_PATH, VOCAB_OS_ANY), 91, "any is the newest");
    is_int(vocab_filter_id_in(FILTER_PATH, VOCAB_MACOS_10_15), -1,
           "filters of 10.15 are not known");
    is_int(vocab_modifier_id_in(MOD_MESSAGE_FILTER, VOCAB_MACOS_14_4_1), 19, "message-filter");
}

static void test_categories(void)
{
    int unnamed = 0;
    for (int c = 0; c < CAT_COUNT; c++)
        unnamed += !vocab_category_name(c) || !vocab_category_words(c);
    is_int(unnamed, 0, "every category has a name and words");
    is_str(vocab_category_words(CAT_PATH), "a path", "words for paths");
}

static void test_rule_words(void)
{
    const struct rule_word *w = rule_word_find("deny-write");
    ok(w && !w->allow && w->op == OP_FILE_WRITE && !rule_word_takes_host(w), "deny-write");
    w = rule_word_find("allow-net");
    ok(w && w->allow && rule_word_takes_host(w), "allow-net");
    ok(!rule_word_find("allow") && !rule_word_find("allow-socket"), "no other word makes a rule");
}

int main(void)
{
    test_index();
    test_every_row_is_found();
    test_unknown_names();
    test_op_aliases();
    test_filter_forms();
    test_spellings();
    test_constants();
    test_takes();
    test_tree();
    test_subjects();
    test_implicit();
    test_suggest();
    test_os();
    test_history();
    test_categories();
    test_rule_words();
    return done_testing();
}
