/* producer MARKER GATE LINES PAUSE_US WIDTH END: a job that can be checked.
 *
 * Makes MARKER (a second run finds it there and says so in MARKER.again), writes LINES numbered lines of WIDTH bytes to
 * stdout and to stderr in turn, waits until it may lock GATE ("-": none), and ends as END says: exit:N or signal:N. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 4096, TWICE = 99, BROKEN = 98 };

static void put(int fd, const char *name, long number, int width) {
    char line[LINE];
    int n = snprintf(line, sizeof line, "%s %08ld ", name, number);
    for (; n < width - 1; n++) line[n] = (char)('a' + (number + n) % 26);
    line[n++] = '\n';
    for (int at = 0; at < n;) {
        ssize_t done = write(fd, line + at, (size_t)(n - at));
        if (done <= 0) _exit(BROKEN);
        at += (int)done;
    }
}

static void run_once(const char *marker) {
    if (open(marker, O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0) return;
    char again[LINE];
    snprintf(again, sizeof again, "%s.again", marker);
    close(open(again, O_WRONLY | O_CREAT, 0600));
    _exit(TWICE);
}

int main(int argc, char **argv) {
    if (argc != 7) return BROKEN;
    run_once(argv[1]);
    long lines = atol(argv[3]), pause = atol(argv[4]);
    struct timespec rest = {pause / 1000000, pause % 1000000 * 1000};
    for (long i = 1; i <= lines; i++) {
        put(1, "out", i, atoi(argv[5]));
        put(2, "err", i, atoi(argv[5]));
        if (pause) nanosleep(&rest, NULL);
    }
    if (strcmp(argv[2], "-") != 0) {
        int gate = open(argv[2], O_RDONLY);
        while (gate >= 0 && flock(gate, LOCK_SH) != 0) {}
    }
    int number = atoi(strchr(argv[6], ':') + 1);
    if (argv[6][0] != 's') return number;
    signal(number, SIG_DFL);
    raise(number);
    return BROKEN;
}
