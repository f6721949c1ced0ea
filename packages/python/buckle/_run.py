# SPDX-License-Identifier: Apache-2.0
"""Commands in a sandbox, and this process itself."""

import ctypes
import json
import os
import selectors
from typing import (Any, Callable, Dict, IO, Iterable, Iterator, List, Mapping, NamedTuple, Optional,
                    Sequence, Union)

from ._library import EVENT_FN, P, QUESTION_FN, Error, error_of, lib, must, take_text, text_of, words_of

PIPE = -2
DEVNULL = -1
Stream = Union[None, int, IO[Any]]
FLAGS = {"new_session": 1, "wait_all": 2, "updatable": 3, "grantable": 4, "watch_net": 5,
         "strict_reads": 6, "allow_userns": 7, "accept_weaker": 8, "whole_env": 9}


class Event(NamedTuple):
    """Something that the policy denied, or allowed with a report."""

    denied: bool
    operation: str
    target: str
    program: str
    pid: int
    line: str
    details: Dict[str, Any]


class Question(NamedTuple):
    """A program wants to reach a host that no rule names."""

    host: str
    port: int
    udp: bool
    program: str
    pid: int


class Result(NamedTuple):
    """How a command ended. Output is None unless it was captured."""

    status: int  # as shells have it: 128 and the signal's number, 124 after its time
    signal: int
    timed_out: bool
    stdout: Optional[bytes]
    stderr: Optional[bytes]
    events: List[Event]

    @property
    def denied(self) -> List[Event]:
        return [event for event in self.events if event.denied]


class Policy(NamedTuple):
    """What may be done: a profile, or settings in its place; then rules."""

    profile: Optional[str] = None  # the name of a shipped one, or a path
    settings: Optional[Mapping[str, Any]] = None
    text: Optional[str] = None  # SBPL; without a profile the whole policy
    allow_read: Sequence[str] = ()
    allow_write: Sequence[str] = ()
    allow_net: Sequence[str] = ()
    deny_read: Sequence[str] = ()
    deny_write: Sequence[str] = ()
    deny_net: Sequence[str] = ()
    params: Optional[Mapping[str, str]] = None
    found_settings: bool = False  # those of the user and the project count as well
    directory: Optional[str] = None
    tmpdir: Optional[str] = None


def _fill(command: Any, policy: Policy) -> None:
    if policy.profile is not None:
        must(lib.buckle_command_profile(command, os.fsencode(policy.profile)))
    if policy.settings is not None:
        data = json.dumps(policy.settings).encode()
        must(lib.buckle_command_settings(command, data, len(data)))
    if policy.text is not None:
        data = policy.text.encode()
        must(lib.buckle_command_text(command, b"<text>", data, len(data)))
    for rule in ("allow_read", "allow_write", "allow_net", "deny_read", "deny_write", "deny_net"):
        values = getattr(policy, rule)
        if isinstance(values, str):
            raise TypeError(f"{rule} is a list")
        for value in values:
            must(lib.buckle_command_rule(command, rule.replace("_", "-").encode(), os.fsencode(value)))
    for key, value in (policy.params or {}).items():
        must(lib.buckle_command_param(command, key.encode(), os.fsencode(value)))
    lib.buckle_command_found_settings(command, int(policy.found_settings))
    if policy.directory is not None:
        must(lib.buckle_command_directory(command, os.fsencode(policy.directory)))
    if policy.tmpdir is not None:
        must(lib.buckle_command_tmpdir(command, os.fsencode(policy.tmpdir)))


def _event(pointer: Any) -> Event:
    return Event(bool(lib.buckle_event_denied(pointer)), text_of(lib.buckle_event_operation(pointer)),
                 text_of(lib.buckle_event_target(pointer)), text_of(lib.buckle_event_program(pointer)),
                 lib.buckle_event_pid(pointer), text_of(lib.buckle_event_line(pointer)),
                 json.loads(text_of(lib.buckle_event_json(pointer)) or "{}"))


def _descriptor(stream: Stream, standard: int) -> int:
    if stream is None:
        return standard
    return stream if isinstance(stream, int) else stream.fileno()


class Run:
    """
    A command that runs. Iterate over it for events as they happen, or wait() for the end.

    In a loop of your own: poll fileno(), and call dispatch() when it is readable.

    With hold=True the whole sandbox is made at once, and begin() says later what to execute in it.
    """

    def __init__(self, argv: Sequence[str], policy: Policy = Policy(), *, env: Optional[Mapping[str, str]] = None,
                 keep_env: Iterable[str] = (), keep_fds: Iterable[int] = (), stdin: Stream = None,
                 stdout: Stream = None, stderr: Stream = None, timeout: Optional[float] = None,
                 max_memory: int = 0, max_procs: int = 0, flags: Iterable[str] = (),
                 on_event: Optional[Callable[[Event], object]] = None,
                 on_question: Optional[Callable[[Question], bool]] = None, ask_timeout: float = 0,
                 hold: bool = False) -> None:
        self.events: List[Event] = []
        self._run: Any = None
        self._ended = False
        self._on_event, self._on_question = on_event, on_question
        self._trouble: Optional[BaseException] = None
        self._pipes: Dict[str, int] = {}
        self._held: Any = None  # the command of a run that has not begun
        self._theirs: List[int] = []
        command = self._held = lib.buckle_command_new(words_of(argv))
        try:
            _fill(command, policy)
            for name, value in (env or {}).items():
                must(lib.buckle_command_set_env(command, name.encode(), os.fsencode(value)))
            for name in keep_env:
                must(lib.buckle_command_keep_env(command, name.encode()))
            for fd in keep_fds:
                must(lib.buckle_command_keep_fd(command, fd))
            out, err = self._pipe("stdout", stdout, 1), self._pipe("stderr", stderr, 2)
            lib.buckle_command_stdio(command, _descriptor(stdin, 0), out, err)
            lib.buckle_command_timeout(command, int((timeout or 0) * 1000))
            lib.buckle_command_max_memory(command, max_memory)
            lib.buckle_command_max_procs(command, max_procs)
            for flag in flags:
                must(lib.buckle_command_flag(command, FLAGS[flag], 1))
            self._start(command, ask_timeout, lib.buckle_prepare if hold else lib.buckle_start)
        except BaseException:
            self._close_pipes()
            self._let_go()
            raise
        if not hold:
            self._let_go()

    def _let_go(self) -> None:
        for fd in self._theirs:
            os.close(fd)
        self._theirs = []
        if self._held:
            lib.buckle_command_free(self._held)
        self._held = None

    def begin(self, argv: Optional[Sequence[str]] = None) -> None:
        """Executes argv, or the command that it was made with, in a sandbox that was held."""
        error = P()
        words = None if argv is None else words_of(argv)
        if lib.buckle_run_begin(self._run, words, None, ctypes.byref(error)) < 0:
            raise error_of(error, "the command cannot be started")
        self._let_go()

    def _pipe(self, name: str, stream: Stream, standard: int) -> int:
        if stream != PIPE:
            return _descriptor(stream, standard)
        self._pipes[name], end = os.pipe()
        self._theirs.append(end)
        return end

    def _start(self, command: Any, ask_timeout: float, start: Any) -> None:
        # the library keeps both for as long as the run
        self._event_fn = EVENT_FN(self._take_event)
        self._question_fn = QUESTION_FN(self._take_question)
        error = P()
        lib.buckle_command_on_event(command, self._event_fn, None)
        if self._on_question:
            lib.buckle_command_on_question(command, self._question_fn, None, int(ask_timeout * 1000))
        self._run = start(command, ctypes.byref(error))
        if not self._run:
            raise error_of(error, "the command cannot be started")

    # ---- callbacks: an exception must not cross C, and is raised after it ----

    def _take_event(self, _arg: Any, _run: Any, pointer: Any) -> None:
        try:
            event = _event(pointer)
            self.events.append(event)
            if self._on_event:
                self._on_event(event)
        except BaseException as trouble:  # pylint: disable=broad-except
            self._trouble = self._trouble or trouble

    def _take_question(self, _arg: Any, run: Any, pointer: Any) -> None:
        if lib.buckle_question_withdrawn(pointer):
            return
        yes = False
        try:
            question = Question(text_of(lib.buckle_question_host(pointer)),
                                lib.buckle_question_port(pointer), bool(lib.buckle_question_udp(pointer)),
                                text_of(lib.buckle_question_program(pointer)), lib.buckle_question_pid(pointer))
            yes = self._on_question is not None and self._on_question(question) is True
        except BaseException as trouble:  # pylint: disable=broad-except
            self._trouble = self._trouble or trouble
        lib.buckle_run_answer(run, lib.buckle_question_id(pointer), 1 if yes else 0)

    # ---- while it runs ----

    def fileno(self) -> int:
        return int(lib.buckle_run_fd(self._run))

    def dispatch(self, timeout: Optional[float] = None) -> bool:
        """Calls back for what has happened. True once the command has ended."""
        error = P()
        milliseconds = -1 if timeout is None else int(timeout * 1000)
        done = lib.buckle_run_dispatch(self._run, milliseconds, ctypes.byref(error))
        if self._trouble:
            trouble, self._trouble = self._trouble, None
            raise trouble
        if done < 0:
            raise error_of(error, "the command was lost")
        self._ended = done == 1
        return self._ended

    def __iter__(self) -> Iterator[Event]:
        seen = 0
        while True:
            ended = self._ended or self.dispatch()
            while seen < len(self.events):
                seen += 1
                yield self.events[seen - 1]
            if ended:
                return

    def cancel(self) -> None:
        """Ends the command and everything it started."""
        must(lib.buckle_run_cancel(self._run))

    def send_signal(self, number: int) -> None:
        must(lib.buckle_run_signal(self._run, number))

    def _change(self, function: Any, *arguments: Any) -> List[str]:
        waits, error = P(), P()
        if function(self._run, *arguments, ctypes.byref(waits), ctypes.byref(error)) < 0:
            raise error_of(error, "the policy cannot be changed")
        return take_text(waits).splitlines() if waits else []

    def grant(self, rule: str, value: str) -> List[str]:
        """More until it ends: "allow-read", "allow-write" or "allow-net". Returns what has to wait."""
        return self._change(lib.buckle_run_grant, rule.encode(), os.fsencode(value))

    def update(self, *, settings: Optional[Mapping[str, Any]] = None, text: Optional[str] = None) -> List[str]:
        """Another policy. Returns what has to wait for the next command."""
        if (settings is None) == (text is None):
            raise TypeError("give settings or a text")
        data = (text if text is not None else json.dumps(settings)).encode()
        function = lib.buckle_run_update_text if text is not None else lib.buckle_run_update_settings
        return self._change(function, data, len(data))

    # ---- the end ----

    def wait(self) -> Result:
        """Dispatches until the end, reads what is captured, and frees everything."""
        output: Dict[str, bytearray] = {name: bytearray() for name in self._pipes}
        with selectors.DefaultSelector() as selector:
            for name, fd in self._pipes.items():
                selector.register(fd, selectors.EVENT_READ, name)
            if not self._ended:
                selector.register(self.fileno(), selectors.EVENT_READ, None)
            while selector.get_map():
                for key, _ in selector.select():
                    self._serve(selector, key, output)
        return self._result(output)

    def _serve(self, selector: selectors.BaseSelector, key: selectors.SelectorKey,
               output: Dict[str, bytearray]) -> None:
        if key.data is None:
            if self.dispatch(0):
                selector.unregister(key.fileobj)
            return
        data = os.read(key.fd, 65536)
        output[key.data] += data
        if not data:
            selector.unregister(key.fileobj)

    def _result(self, output: Mapping[str, bytearray]) -> Result:
        captured = {name: bytes(data) for name, data in output.items()}
        result = Result(lib.buckle_run_status(self._run), lib.buckle_run_signal_number(self._run),
                        bool(lib.buckle_run_timed_out(self._run)), captured.get("stdout"),
                        captured.get("stderr"), self.events)
        self.close()
        return result

    def _close_pipes(self) -> None:
        for fd in self._pipes.values():
            os.close(fd)
        self._pipes = {}

    def close(self) -> None:
        """Ends what still runs, at once."""
        self._close_pipes()
        if self._run:
            lib.buckle_run_free(self._run)
        self._run = None
        self._let_go()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_run", None):
            self.close()


def run(argv: Sequence[str], policy: Policy = Policy(), *, capture_output: bool = False,
        env: Optional[Mapping[str, str]] = None, keep_env: Iterable[str] = (), stdin: Stream = None,
        stdout: Stream = None, stderr: Stream = None, timeout: Optional[float] = None,
        max_memory: int = 0, max_procs: int = 0, flags: Iterable[str] = (),
        on_event: Optional[Callable[[Event], object]] = None,
        on_question: Optional[Callable[[Question], bool]] = None) -> Result:
    """
    Runs a command to its end.

        result = run(["make"], Policy(allow_net=["example.com"]), capture_output=True)
        result.status, result.stdout, result.denied
    """
    if capture_output:
        stdout = stderr = PIPE
    return Run(argv, policy, env=env, keep_env=keep_env, stdin=stdin, stdout=stdout, stderr=stderr,
               timeout=timeout, max_memory=max_memory, max_procs=max_procs, flags=flags,
               on_event=on_event, on_question=on_question).wait()


def plan(policy: Policy = Policy()) -> Dict[str, Any]:
    """How a policy would be enforced here."""
    command, error = lib.buckle_command_new(None), P()
    try:
        _fill(command, policy)
        text = lib.buckle_plan(command, 1, ctypes.byref(error))
    finally:
        lib.buckle_command_free(command)
    if not text:
        raise error_of(error, "there is no plan")
    found: Dict[str, Any] = json.loads(take_text(text))
    return found


def apply(policy: Policy = Policy(), *, report_fd: int = -1) -> None:
    """
    Sandboxes this process, and all it starts from now on, for good. Only while it has one thread.

    Denials go to report_fd, a line of JSON each. If an Error is `half`, end the process.
    """
    command, error = lib.buckle_command_new(None), P()
    try:
        _fill(command, policy)
        done = lib.buckle_apply(command, report_fd, ctypes.byref(error))
    finally:
        lib.buckle_command_free(command)
    if done < 0:
        raise error_of(error, "the policy cannot be applied")


__all__ = ["DEVNULL", "Error", "Event", "PIPE", "Policy", "Question", "Result", "Run", "apply", "plan",
           "run"]
