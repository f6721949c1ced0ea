# SPDX-License-Identifier: Apache-2.0
"""Stops a process at a chosen system call, by ptrace: for what goes wrong in between two of them. x86_64 only."""

import ctypes
import os

WHERE = os.uname().machine == "x86_64"
TRACEME, PEEKTEXT, POKETEXT, SYSCALL, SEIZE, INTERRUPT, DETACH, GETREGS, SETOPTIONS = 0, 1, 4, 24, 0x4206, 0x4207, 17, 12, 0x4200
SYSGOOD = 1
SIGTRAP = 5
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
NAMES = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs".split()


class Stepped:
    """A process that runs from system call to system call. Use it from one thread."""

    def __init__(self, pid):
        self.pid = pid
        self.ptrace(SEIZE, 0, SYSGOOD)
        self.ptrace(INTERRUPT)
        os.waitpid(pid, 0)

    def ptrace(self, what, address=0, data=0):
        ctypes.set_errno(0)
        came = libc.ptrace(what, self.pid, address, data)
        if ctypes.get_errno():
            raise OSError(ctypes.get_errno(), f"ptrace {what}: {os.strerror(ctypes.get_errno())}")
        return came

    def registers(self):
        values = (ctypes.c_ulonglong * len(NAMES))()
        self.ptrace(GETREGS, 0, ctypes.addressof(values))
        return dict(zip(NAMES, values))

    def to_next(self):
        """Goes to the next entry or exit of a call; returns the registers, or None if the process has ended. Signals are delivered."""
        deliver = 0
        while True:
            self.ptrace(SYSCALL, 0, deliver)
            _, status = os.waitpid(self.pid, 0)
            if not os.WIFSTOPPED(status):
                return None
            if os.WSTOPSIG(status) == SIGTRAP | 0x80:
                return self.registers()
            deliver = 0 if status >> 16 else os.WSTOPSIG(status)

    def to_result(self, wanted):
        """Goes to where a call that wanted(registers) chooses has returned without an error."""
        while True:
            found = self.to_next()
            if found is None:
                return None
            if wanted(found) and found["rax"] < 1 << 63:
                return found

    def spin(self):
        """From the present instruction on, it runs in circles."""
        at = self.registers()["rip"]
        word = self.ptrace(PEEKTEXT, at) & 0xFFFFFFFFFFFFFFFF
        self.ptrace(POKETEXT, at, word & ~0xFFFF | 0xFEEB)

    def leave(self):
        self.ptrace(DETACH)
