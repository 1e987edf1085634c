/* wrong_clock.c - LD_PRELOAD: the wall clock of a program is wrong by WRONG_CLOCK seconds. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long wrong_by(void)
{
    const char *text = getenv("WRONG_CLOCK");
    return text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    static long shift;
    static int is_known;
    if (!is_known) {
        shift = wrong_by();
        is_known = 1;
    }
    int r = (int)syscall(SYS_clock_gettime, clock, ret);
    if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ret->tv_sec += shift;
    return r;
}

time_t time(time_t *ret)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
