/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The table of coding agents, and the texts of the files that Buckle adds to them. */

#include "cli/agent/agent-table.h"

#include <string.h>

#include "base/own.h"

/* ---- texts ---- */

static void json_command(struct buf *out, const char *program, const char *rest)
{
    OWN(buf) struct buf command = {0};
    buf_fmt(&command, "%s %s", program, rest);
    buf_json(out, command.s ? command.s : "", command.n);
    out->failed = out->failed || command.failed;
}

static void copilot_hooks(struct buf *out, const char *program)
{
    buf_str(out, "{\n  \"version\": 1,\n  \"hooks\": {\n"
                 "    \"preToolUse\": [{\"type\": \"command\", \"bash\": ");
    json_command(out, program, "hook || exit 2");
    buf_str(out, "}],\n    \"sessionStart\": [{\"type\": \"command\", \"bash\": ");
    json_command(out, program, "hook");
    buf_str(out, "}],\n    \"subagentStart\": [{\"type\": \"command\", \"bash\": ");
    json_command(out, program, "hook");
    buf_str(out, "}]\n  }\n}\n");
}

static void kiro_hooks(struct buf *out, const char *program)
{
    buf_str(out, "{\n  \"version\": \"v1\",\n  \"hooks\": [\n"
                 "    {\"name\": \"buckle\", \"trigger\": \"PreToolUse\", \"matcher\": "
                 "\"^(shell|execute_bash)$\",\n     \"action\": {\"type\": \"command\", "
                 "\"command\": ");
    json_command(out, program, "hook --by-status || exit 2");
    buf_str(
        out,
        "}},\n    {\"name\": \"buckle-summary\", \"trigger\": \"SessionStart\",\n     \"action\": "
        "{\"type\": \"command\", \"command\": ");
    json_command(out, program, "summary");
    buf_str(out, "}}\n  ]\n}\n");
}

static void goose_manifest(struct buf *out, const char *program)
{
    (void)program;
    buf_str(out, "{\n  \"name\": \"buckle\",\n  \"version\": \"1.0.0\",\n"
                 "  \"description\": \"Runs shell commands in Buckle's sandbox\"\n}\n");
}

static void goose_hooks(struct buf *out, const char *program)
{
    buf_str(out, "{\n  \"hooks\": {\n    \"PreToolUse\": [\n"
                 "      {\"matcher\": \"^developer__shell$\",\n"
                 "       \"hooks\": [{\"type\": \"command\", \"on_failure\": \"block\", "
                 "\"command\": ");
    json_command(out, program, "hook --by-status || exit 2");
    buf_str(out, "}]}\n    ]\n  }\n}\n");
}

static void cline_hook(struct buf *out, const char *program)
{
    buf_fmt(out,
            "#!/bin/sh\n# Runs shell commands in Buckle's sandbox (buckle hook --install cline).\n"
            "%s hook --by-status >&2 || printf '{\"cancel\": true, \"errorMessage\": \"Buckle: use "
            "the bash tool of the buckle MCP server\"}\\n'\n",
            program);
}

static void cline_start(struct buf *out, const char *program)
{
    buf_fmt(out,
            "#!/bin/sh\n# Describes Buckle's sandbox (buckle hook --install cline).\n"
            "%s hook || printf '{\"cancel\": false}\\n'\n",
            program);
}

/* The plug-ins ask as any other program does. A command runs inside, or unchanged only if Buckle
 * leaves it to the agent's own rules; everything else is an error, so that nothing runs. They
 * cannot ask the user. */
static const char ask_buckle[] =
    "const { spawnSync } = require(\"node:child_process\")\n"
    "\n"
    "function ask(command, cwd, session, rules) {\n"
    "  const r = spawnSync(\"sh\", [\"-c\", hook], {\n"
    "    input: JSON.stringify({ command, cwd, session_id: session, mode: \"client\", asks: "
    "false, rules }),\n"
    "    encoding: \"utf8\",\n"
    "  })\n"
    "  if (r.error || r.status !== 0) throw new Error(\"buckle: \" + (r.stderr || r.error || \"no "
    "answer\"))\n"
    "  const answer = JSON.parse(r.stdout)\n"
    "  const runs = answer.decision === \"allow\" || answer.decision === \"client\"\n"
    "  if (!runs) throw new Error(\"buckle: \" + (answer.reason || answer.decision))\n"
    "  if (answer.sandboxed !== true) return command\n"
    "  if (typeof answer.command !== \"string\") throw new Error(\"buckle: no command in the "
    "answer\")\n"
    "  return answer.command\n"
    "}\n"
    "\n";

static void plugin_head(struct buf *out, const char *program, const char *name)
{
    buf_fmt(out, "// Runs shell commands in Buckle's sandbox (buckle hook --install %s).\n", name);
    buf_str(out, "import { createRequire } from \"node:module\"\n"
                 "const require = createRequire(import.meta.url)\n"
                 "const hook = ");
    json_command(out, program, "hook");
    buf_fmt(out, "\n%s", ask_buckle);
}

/* OpenCode applies its rules to our command, so they go to the hook, which has the original one. */
static const char opencode_rules[] =
    "let config = {}\n"
    "const agents = new Map()\n"
    "\n"
    "// OpenCode's rules about a shell command, in its order: the last that fits decides\n"
    "function listed(permission) {\n"
    "  if (typeof permission === \"string\") return [[\"*\", permission]]\n"
    "  return Object.entries(permission || {}).flatMap(([tool, rules]) =>\n"
    "    tool !== \"bash\" && tool !== \"*\" ? []\n"
    "    : typeof rules === \"string\" ? [[\"*\", rules]] : Object.entries(rules || {}))\n"
    "}\n"
    "\n"
    "function rules(session) {\n"
    "  const name = agents.get(session) || config.default_agent || \"build\"\n"
    "  const agent = (config.agent || {})[name] || {}\n"
    "  return [...listed(config.permission), ...listed(agent.permission)]\n"
    "}\n"
    "\n";

static void opencode_plugin(struct buf *out, const char *program)
{
    plugin_head(out, program, "opencode");
    buf_str(out, opencode_rules);
    buf_str(out, "export const Buckle = async ({ directory }) => ({\n"
                 "  config: async (c) => { config = c },\n"
                 "  \"chat.message\": async (input) => {\n"
                 "    if (input.agent) agents.set(input.sessionID, input.agent)\n"
                 "  },\n"
                 "  \"tool.execute.before\": async (input, output) => {\n"
                 "    if (input.tool !== \"bash\") return\n"
                 "    output.args.command = ask(output.args.command, directory, input.sessionID, "
                 "rules(input.sessionID))\n"
                 "  },\n"
                 "})\n");
}

static void amp_plugin(struct buf *out, const char *program)
{
    plugin_head(out, program, "amp");
    buf_str(out, "export default function (amp) {\n"
                 "  amp.on(\"tool.call\", async (event) => {\n"
                 "    const shell = amp.helpers.shellCommandFromToolCall(event)\n"
                 "    if (!shell) return { action: \"allow\" }\n"
                 "    const key = Object.keys(event.input).find((k) => event.input[k] === "
                 "shell.command)\n"
                 "    try {\n"
                 "      if (!key) throw new Error(\"buckle: no command in this tool call\")\n"
                 "      const command = ask(shell.command, process.cwd(), event.thread.id)\n"
                 "      return { action: \"modify\", input: { ...event.input, [key]: command } }\n"
                 "    } catch (e) {\n"
                 "      return { action: \"reject-and-continue\", message: String(e.message) }\n"
                 "    }\n"
                 "  })\n"
                 "}\n");
}

/* ---- the table ---- */

const struct agent_info agent_table[AGENT_COUNT] = {
#define AGENT(id, name, title, version, source, kind, effect, user, project, mcp, mcp_key,         \
              program)                                                                             \
    [AGENT_##id] = {name, title,   version, source,  KIND_##kind, EFFECT_##effect,                 \
                    user, project, mcp,     mcp_key, program},
#include "cli/agent/agents.def"
};

const struct agent_hook agent_hooks[] = {
#define HOOK(id, event, matcher, gate) {AGENT_##id, event, matcher, gate},
#include "cli/agent/agents.def"
};
const size_t agent_nhooks = sizeof(agent_hooks) / sizeof(agent_hooks[0]);

const struct agent_file agent_files[] = {
#define OWNED(id, user, project, text) {AGENT_##id, user, project, text},
#include "cli/agent/agents.def"
};
const size_t agent_nfiles = sizeof(agent_files) / sizeof(agent_files[0]);

const struct agent_info *agent_find(const char *name, struct bk_err *err)
{
    OWN(buf) struct buf all = {0};
    for (size_t i = 0; i < AGENT_COUNT; i++) {
        if (strcmp(agent_table[i].name, name) == 0)
            return &agent_table[i];
        buf_fmt(&all, "%s%s", i ? ", " : "", agent_table[i].name);
    }
    err_set(err, BK_E_INPUT, "unknown agent %.40s", name);
    err_hint(err, "the agents are %s", all.s ? all.s : "");
    return NULL;
}

enum agent_id agent_id_of(const struct agent_info *a)
{
    return (enum agent_id)(a - agent_table);
}
