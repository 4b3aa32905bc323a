/* A spare: a keeper made ahead, in a folder that it makes itself, with a child that waits at the gate. The daemon gives it
 * a job by renaming the folder, filling `spec` and writing `go` to `ctl`; until then it needs neither time nor a timer.
 *
 * The folder is `NAME.new` while it is made or removed, NAME while it may be taken: of a daemon that takes a spare and a
 * spare that leaves, one renames it. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 300, SUFFIX = 8 };

static const char *const fifos[] = {"ctl", "out.p", "err.p"};
static const char *const files[] = {"ctl", "out.p", "err.p", "spec", "lock", "live", "end.tmp", "started"};
static char ready[NAME], unready[NAME + SUFFIX];

bool spare_make(const char *folder) {
    char path[PATH_ROOM + 64];
    const char *name = strrchr(folder, '/');
    if (!name || snprintf(path, sizeof path, "%s.new", folder) >= (int)sizeof path) return false;
    if (snprintf(ready, sizeof ready, "..%s", name) >= NAME) return false;
    snprintf(unready, sizeof unready, "%s.new", ready);
    return mkdir(path, 0700) == 0 && chdir(path) == 0;
}

/* What the daemon prepares for other keepers; `spec` is still empty. */
bool spare_prepare(void) {
    for (size_t i = 0; i < sizeof fifos / sizeof *fifos; i++)
        if (mkfifo(fifos[i], 0600) != 0) return false;
    int fd = open("spec", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0;
}

bool spare_offer(void) { return rename(unready, ready) == 0; }

/* `go` is the first line that a daemon writes; what comes after it is for the keeper of the job. */
static bool is_told_to_go(void) {
    char word[3];
    return read(k.ctl, word, sizeof word) == sizeof word && memcmp(word, "go\n", sizeof word) == 0;
}

/* Whether it was given a job; not if the nursery is gone (the other end of `life`), or the child that waits. */
bool spare_wait(int life) {
    struct pollfd fds[] = {{.fd = k.ctl, .events = POLLIN}, {.fd = life, .events = POLLIN},
                           {.fd = k.children_fd, .events = POLLIN}};
    while (poll(fds, 3, -1) < 0 && errno == EINTR) {}
    return fds[0].revents && is_told_to_go();
}

/* Removes the folder, unless it belongs to a job by now: then whoever gave it to the job sees that we are gone. */
void spare_leave(void) {
    if (rename(ready, unready) != 0 && access(unready, F_OK) != 0) return;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(files[i]);
    rmdir(unready);
}
