/* figure.h - figures of a benchmark for scripts/run-bench.mjs, which compares, judges and draws
 * them.
 *
 * A figure is a line of JSON in the file that BENCH_FIGURES names: the chart that it belongs to,
 * the load or size at which it was measured (x; 0 where there is none), the program that was
 * measured, the value and its unit. Without BENCH_FIGURES nothing is written: people read what the
 * benchmark prints. Names of charts have no quotes. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/* series: the name of a peer; nb's own figures are written by figure(). */
static inline void figure_of(const char *series, const char *chart, double x, double y,
                             const char *unit)
{
    const char *path = getenv("BENCH_FIGURES");
    FILE *f = path ? fopen(path, "ae") : NULL;
    if (!f)
        return;
    (void)fprintf(f,
                  "{\"chart\":\"%s\",\"x\":%.17g,\"series\":\"%s\",\"y\":%.17g,\"unit\":\"%s\"}\n",
                  chart, x, series, y, unit);
    (void)fclose(f);
}

static inline void figure(const char *chart, double x, double y, const char *unit)
{
    figure_of("nb", chart, x, y, unit);
}
