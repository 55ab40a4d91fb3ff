"""Child processes that end with their parent."""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

# linux/prctl.h
PR_SET_PDEATHSIG = 1


def bound_command(module: str) -> list[str]:
    """Command that runs a module in a process which ends with this one, however that ends.

    On Linux; and the thread that starts it must live on, too.
    """
    return [sys.executable, '-m', 'cnoid_control.faults.child_process', str(os.getpid()), module]


def main() -> None:
    """Bind this process to its parent, and become the module."""
    parent, module = int(sys.argv[1]), sys.argv[2]
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            sys.exit(f'the process {parent} that started this one has ended')
    sys.argv[:] = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name='__main__', alter_sys=True)


if __name__ == '__main__':
    main()
