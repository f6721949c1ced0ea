# SPDX-License-Identifier: Apache-2.0
"""Programs that ask on a terminal, and somebody who answers."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import threading
import time

import drive

PROMPT = "o to all? "
DEAF = 0.4  # keys that were typed before the question do not count
AGAIN = 1


class OnTerminal:
    """A program with a terminal of its own, which is also its input and output unless `how` says
    otherwise."""

    def __init__(self, person, argv, cwd=None, env=None, **how):
        self.terminal, theirs = pty.openpty()

        def take_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        self.child = person.start(argv, cwd=cwd, env=env, preexec_fn=take_terminal,
                                  **(how or {"stdin": theirs, "stdout": theirs, "stderr": theirs}))
        self.theirs = theirs if how else None  # or it ends before the program opens it
        if not how:
            os.close(theirs)
        self.text = ""
        self.prompts = 0

    def read(self, seconds):
        """Reads for so long at most; False at the end."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.text += more.decode(errors="replace")
        return bool(more)

    def shows(self, text, seconds=20):
        """Whether a text appears, after what earlier calls found."""
        end = time.monotonic() + seconds
        while text not in self.text and time.monotonic() < end and self.read(0.1):
            pass
        return text in self.text

    def asks(self, seconds=20):
        """Whether another question appears."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.text.count(PROMPT) > self.prompts:
                self.prompts += 1
                time.sleep(DEAF)
                return True
            if not self.read(0.1):
                break
        return False

    def answer(self, key):
        os.write(self.terminal, key.encode())

    def answers(self, keys):
        """Answers all questions that come; returns how many came, and waits for the end."""
        keys = list(keys)
        while self.asks():
            if keys:
                self.answer(keys.pop(0))
        self.end()
        return self.prompts

    def end(self):
        end = time.monotonic() + 30
        while time.monotonic() < end and self.read(1):
            pass
        if self.child.poll() is None and time.monotonic() >= end:
            self.child.kill()
        self.child.wait(20)
        os.close(self.terminal)


def call_answering(person, argv, key, cwd=None, env=None, timeout=60):
    """Runs something to its end, and answers every question with the same key."""
    began = time.monotonic()
    run = OnTerminal(person, argv, cwd, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def answer_all():
        # on a busy machine a key may still come too early for the question, so it is typed again
        seen, due = 0, None
        while run.read(0.1):
            now, prompts = time.monotonic(), run.text.count(PROMPT)
            if prompts > seen:
                seen, due = prompts, now + DEAF
            if due and now >= due:
                run.answer(key)
                due = now + AGAIN
    thread = threading.Thread(target=answer_all, daemon=True)
    thread.start()
    ran = drive.Ran(*drive.finish(run.child, b"", timeout), time.monotonic() - began)
    os.close(run.theirs)  # ends the thread
    thread.join(timeout)
    os.close(run.terminal)
    return ran
