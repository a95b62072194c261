"""Stops one thread of a process, as a device that does not respond would, until the standard input ends: frozen-thread.py TID"""

import ctypes
import os
import select
import sys

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
WAIT_FOR_THREADS = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
tid = int(sys.argv[1])


def ptrace(request: int) -> None:
    if libc.ptrace(request, tid, None, None) < 0:
        print(f"ptrace: {os.strerror(ctypes.get_errno())}", flush=True)
        sys.exit(1)


ptrace(SEIZE)
ptrace(INTERRUPT)
os.waitpid(tid, WAIT_FOR_THREADS)
print("frozen", flush=True)
# A thread that is killed meanwhile stays there until it is waited for, and its process with it.
while not select.select([sys.stdin], [], [], 0.05)[0]:
    ended, status = os.waitpid(tid, WAIT_FOR_THREADS | os.WNOHANG)
    if ended == tid and (os.WIFSIGNALED(status) or os.WIFEXITED(status)):
        sys.exit(0)
ptrace(DETACH)
