/* bench_tools.c - what tool calls add to a turn: the whole turn around eight calls of a tool that
 * takes 20 ms, and the time that a round of eight calls of one that takes none adds.
 *
 * Then turns with one call, by 1, 16 and 64 clients at the same time: more calls of one person
 * would have to wait for each other.
 *
 * The tools are those of mcp_echo, a stdio bundle with default settings (BUILD_DIR says where it
 * was built); the model asks for all eight in one answer (model_double.h). Turns with and without
 * calls alternate, so that both meet the same machine. */
#include "chat_client.h"
#include "figure.h"
#include "model_double.h"

enum {
    TURNS = 60,
    EACH = 4, /* turns of one conversation, so that it stays short */
    CALLS = 8,
};

struct turns {
    const char *message;
    uint64_t waits[TURNS];
    double cpu;
};

static double median_ms(struct turns *t)
{
    qsort(t->waits, TURNS, sizeof(*t->waits), by_value);
    return (double)t->waits[TURNS / 2] / 1e3;
}

static void take_turn(const struct server *s, struct client *c, struct turns *t, int i)
{
    double cpu = cpu_us(s);
    drive(c, 1, t->message, &t->waits[i], 1);
    t->cpu += (cpu_us(s) - cpu) / TURNS;
}

static void begin_conversations(struct client *c, int n)
{
    for (int i = 0; i < n; i++) {
        c[i].conversation[0] = 0;
        begin_conversation(&c[i]);
    }
    usleep(20000); /* titles */
}

/* Turns with one call, by many clients; each conversation gets EACH of them. */
static void measure_many(const struct server *s, int clients)
{
    static struct client c[CLIENTS_MAX];
    static uint64_t waits[CLIENTS_MAX * EACH];
    size_t n = (size_t)clients * EACH;
    for (int i = 0; i < clients; i++)
        c[i] = (struct client){.key = s->key, .fd = dial(s->port)};
    begin_conversations(c, clients);
    double cpu = cpu_us(s);
    uint64_t began = clock_mono_us();
    drive(c, clients, "@calls:1:echo__echo", waits, EACH);
    double seconds = (double)(clock_mono_us() - began) / 1e6;
    cpu = (cpu_us(s) - cpu) / (double)n;
    qsort(waits, n, sizeof(*waits), by_value);
    printf(
        "  turns with a call, %2d at a time         p50 %6.2f ms  %5.0f us of CPU  %.0f turns/s\n",
        clients, (double)waits[n / 2] / 1e3, cpu, (double)n / seconds);
    figure("turn with a tool call, p50", clients, (double)waits[n / 2] / 1e3, "ms");
    figure("turn with a tool call, CPU", clients, cpu / 1e3, "ms");
    figure("turn with a tool call, per second", clients, (double)n / seconds, "/s");
    for (int i = 0; i < clients; i++)
        close(c[i].fd);
}

int main(void)
{
    static struct turns plain = {.message = "hi"}, echo = {.message = "@calls:8:echo__echo"},
                        slow = {.message = "@calls:8:echo__slow"};
    struct server s;
    struct model_double *m = model_new();
    const char *build = getenv("BUILD_DIR");
    char bundles[512];
    if (!build)
        die("BUILD_DIR is not set");
    (void)snprintf(bundles, sizeof(bundles),
                   ",\"bundles\":[{\"serverName\":\"echo\",\"command\":\"%s/bench/mcp_echo\"}]",
                   build);
    start_server_with(&s, m, bundles);
    static struct client c[3];
    for (int i = 0; i < 3; i++)
        c[i] = (struct client){.key = s.key, .fd = dial(s.port)};
    drive(&c[1], 1, echo.message, &echo.waits[0], 1); /* waits until the bundle runs */
    for (int i = 0; i < TURNS; i++) {
        if (i % EACH == 0)
            begin_conversations(c, 3);
        take_turn(&s, &c[0], &plain, i);
        take_turn(&s, &c[1], &echo, i);
        take_turn(&s, &c[2], &slow, i);
    }
    double none = median_ms(&plain), round = median_ms(&echo) - none, whole = median_ms(&slow);
    printf("tool calls of a stdio bundle, instant model over HTTP\n");
    printf("  a turn without calls                    p50 %6.2f ms\n", none);
    printf("  a round of %d echo calls adds            p50 %6.2f ms  %5.0f us of CPU   (floor 0.9 "
           "ms)\n",
           CALLS, round, echo.cpu - plain.cpu);
    printf("  a turn with %d calls of a 20 ms tool     p50 %6.2f ms  %5.0f us of CPU   (floor 24 "
           "ms)\n",
           CALLS, whole, slow.cpu);
    printf("  RSS after these turns                   %.1f MB\n", rss_mb(&s));
    figure("a round of echo calls adds, p50", CALLS, round, "ms");
    figure("a round of echo calls adds, CPU", CALLS, (echo.cpu - plain.cpu) / 1e3, "ms");
    figure("turn with calls of a 20 ms tool, p50", CALLS, whole, "ms");
    measure_many(&s, 1);
    measure_many(&s, 16);
    measure_many(&s, 64);
    stop_server(&s);
    model_free(m);
    return 0;
}
