"""An app that says when it runs, and when it gets SIGTERM."""

import fcntl
import os
import signal
import sys
import time


def main() -> None:
    marker = os.open(os.environ["MARKER"], os.O_RDWR | os.O_CREAT | os.O_APPEND)
    fcntl.flock(marker, fcntl.LOCK_EX)  # held as long as it lives
    os.set_inheritable(marker, False)

    def end(*_: object) -> None:
        os.write(marker, b"signaled\n")
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    os.write(marker, b"ready\n")
    time.sleep(60)


main()
