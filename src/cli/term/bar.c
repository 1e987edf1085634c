#include "cli/term/bar.h"

#define EIGHTHS 8

void bar_text(char out[BAR_BYTES_MAX], double share)
{
    static const char *const PARTS[EIGHTHS] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    static const char FULL[] = "█";
    int eighths = (int)(share * BAR_COLUMNS * EIGHTHS + 0.5);
    if (share > 0 && eighths == 0)
        eighths = 1;
    if (eighths > BAR_COLUMNS * EIGHTHS)
        eighths = BAR_COLUMNS * EIGHTHS;
    size_t n = 0;
    for (int i = 0; i < eighths / EIGHTHS; i++, n += sizeof FULL - 1)
        memcpy(out + n, FULL, sizeof FULL - 1);
    const char *rest = PARTS[eighths % EIGHTHS > 0 ? eighths % EIGHTHS : 0];
    memcpy(out + n, rest, strlen(rest) + 1);
}
