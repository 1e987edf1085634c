#include <malloc.h>

#include "cli/cli.h"

int main(int argc, char **argv)
{
    /* A turn frees about as much as the next one needs: keep it, rather than give it back to
     * the kernel and fault it in again. */
    (void)mallopt(M_TRIM_THRESHOLD, 16 << 20);
    (void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
    (void)mallopt(M_ARENA_MAX, 2);
    return cli_main(argc, argv);
}
