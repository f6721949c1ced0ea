# SPDX-License-Identifier: Apache-2.0
"""A model's provider for real agents: it asks for one shell command, and then says that all is done. It speaks what
Anthropic's and OpenAI's clients expect, as far as two agents use it.
"""

import http.server
import json
import threading


def anthropic(question, command):
    """The events of one answer."""
    last = json.dumps(question.get("messages", [])[-1:])
    tools = [t.get("name") for t in question.get("tools", [])]
    calls = "Bash" in tools and "tool_result" not in last
    block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}} if calls else {"type": "text", "text": ""}
    delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": command, "description": "d"})} if calls else \
        {"type": "text_delta", "text": "all done"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    events = [
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [],
                                              "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None},
         "usage": usage},
        {"type": "message_stop"}]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)


def openai(question, command):
    last = json.dumps(question.get("messages", [])[-1:])
    tools = [t["function"]["name"] for t in question.get("tools", [])]
    name = next((n for n in ("bash", "run_shell_command") if n in tools), None)
    calls = name and '"role": "tool"' not in last
    given = {"command": command, "description": "d", **({"is_background": False} if name == "run_shell_command" else {})}
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    delta = {"role": "assistant", **({"tool_calls": [call]} if calls else {"content": "all done"})}
    chunks = [{"delta": delta, "finish_reason": None}, {"delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]
    return "".join("data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
                                          "choices": [{"index": 0, **c}]}) + "\n\n" for c in chunks) + "data: [DONE]\n\n"


class Provider:
    """Listens on a port of this machine; `said` has what the agent sent last."""

    def __init__(self, command):
        said = self.said = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, text, kind="application/json"):
                body = text.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.reply("{}")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                try:
                    question = json.loads(body)
                except ValueError:
                    question = {}
                said.append(json.dumps(question.get("messages", [])[-1:]))
                if "chat/completions" in self.path:
                    self.reply(openai(question, command), "text/event-stream")
                elif "/messages" in self.path and "count_tokens" not in self.path:
                    self.reply(anthropic(question, command), "text/event-stream")
                else:
                    self.reply('{"input_tokens": 1}')

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
