"""A wall clock of the test's own, for programs that the test starts: the machine's is never touched.

A small library, loaded before the C library, adds what a file says to the time of day. Monotonic clocks stay as they
are, as they do when somebody sets the clock. The keeper is linked statically and keeps the machine's time.
"""

import os
import subprocess
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile long long *shift;

__attribute__((constructor)) static void find(void) {
    const char *path = getenv("BIDE_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
    shift = map == MAP_FAILED ? NULL : map;
}

int clock_gettime(clockid_t id, struct timespec *out) {
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(id, out);
    if (done == 0 && shift && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) out->tv_sec += *shift;
    return done;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *out, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


class Clock:
    """A wall clock that can be set forward and back."""

    def __init__(self, folder: Path) -> None:
        source, self._library, self._file = folder / "clock.c", folder / "clock.so", folder / "clock"
        source.write_text(SOURCE)
        self.jump(0)
        words = [os.environ.get("CC") or "cc", "-shared", "-fPIC", "-O1", "-o", self._library, source]
        subprocess.run(words, check=True)

    @property
    def env(self) -> dict[str, str]:
        """What makes a program use it."""
        return {"LD_PRELOAD": str(self._library), "BIDE_TEST_CLOCK": str(self._file)}

    def jump(self, seconds: int) -> None:
        """Be this far from the machine's clock, at once."""
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(seconds.to_bytes(8, "little", signed=True))
