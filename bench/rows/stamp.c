/* stamp FILE: sleeps until its waiter surely waits, notes CLOCK_MONOTONIC in FILE, and exits at once. The file is
 * mapped, so that no system call stands between the note and the exit. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct timespec now, pause = {0, 20 * 1000 * 1000};
    int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;
    volatile int64_t *noted = mmap(NULL, sizeof *noted, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (noted == MAP_FAILED) return 1;
    *noted = 0; /* the page is written to now, so that the note costs no fault */
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    *noted = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    _exit(0);
}
