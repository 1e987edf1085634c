/* replay.c - runs a fuzzer without libFuzzer: its seeds, then changed copies of them.
 *
 *   fuzz_NAME SECONDS CRASH_FILE SEEDS_DIR
 *
 * So `make test` tries every fuzzer in the build that all other tests use. The inputs and their
 * order are the same each time; a slow machine tries fewer of them. `make fuzz` links the same
 * fuzzer with libFuzzer, which looks at what each input reaches. An input that ends the program, or
 * takes longer than INPUT_SECONDS, is left in CRASH_FILE. */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    INPUT_MAX = 64 * 1024,
    CHANGED_MIN = 100,  /* changed inputs, also if the seeds alone have taken all the time */
    INPUT_SECONDS = 60, /* on a busy machine, with sanitizers */
    SEEDS_MAX = 1024,
    CHANGES_MAX = 6, /* in one input */
    BLOCK_MAX = 64
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
/* What a fuzzer may bring along to change an input in its own way. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                                                     unsigned seed);
void __sanitizer_set_death_callback(void (*callback)(void));

struct input {
    uint8_t *data;
    size_t size;
};

static struct {
    struct input seeds[SEEDS_MAX];
    size_t nseeds;
    struct input current;
    const char *crash_file;
    uint64_t random;
} replay = {.random = 0x9e3779b97f4a7c15u};

/* Texts that decide something in more than one format. */
static const char *const WORDS[] = {
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "\n",
    "\r\n\r\n",
    "\0",
    "-1",
    "0",
    "1e999",
    "null",
    "\\u0000",
    "\xef\xbf\xbd",
    "\xff",
    "..",
    "data: ",
    "%00",
    "<",
    "&#",
    "\"id\":",
    "18446744073709551616",
};

static uint64_t next_random(void) /* xorshift64 */
{
    replay.random ^= replay.random << 13;
    replay.random ^= replay.random >> 7;
    replay.random ^= replay.random << 17;
    return replay.random;
}

static size_t below(size_t limit)
{
    assert(limit > 0);
    return next_random() % limit;
}

/* Called from signal handlers: open and write alone. */
static void keep_current(void)
{
    int fd = open(replay.crash_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    ssize_t written = write(fd, replay.current.data, replay.current.size);
    static const char NOTE[] = "\nthe input is in the crash file\n";
    ssize_t said = written >= 0 ? write(STDERR_FILENO, NOTE, sizeof NOTE - 1) : 0;
    (void)said;
    close(fd);
}

static void on_signal(int number)
{
    keep_current();
    signal(number, SIG_DFL);
    raise(number);
}

/* An exact copy on the heap, so that reading one byte too many is found. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert(copy);
    memcpy(copy, data, size);
    replay.current = (struct input){copy, size};
    alarm(INPUT_SECONDS);
    LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    replay.current = (struct input){0};
    free(copy);
}

static size_t insert(uint8_t *data, size_t size, size_t max, const uint8_t *what, size_t n)
{
    if (n > max - size)
        return size;
    size_t at = below(size + 1);
    memmove(data + at + n, data + at, size - at);
    memcpy(data + at, what, n);
    return size + n;
}

static size_t insert_word(uint8_t *data, size_t size, size_t max)
{
    const char *word = WORDS[below(sizeof WORDS / sizeof *WORDS)];
    size_t n = *word ? strlen(word) : 1; /* "" stands for a NUL byte */
    return insert(data, size, max, (const uint8_t *)word, n);
}

static size_t insert_part_of_seed(uint8_t *data, size_t size, size_t max)
{
    const struct input *other = &replay.seeds[below(replay.nseeds)];
    if (other->size == 0)
        return size;
    size_t from = below(other->size), n = 1 + below(BLOCK_MAX);
    if (n > other->size - from)
        n = other->size - from;
    return insert(data, size, max, other->data + from, n);
}

static size_t repeat_block(uint8_t *data, size_t size, size_t max)
{
    uint8_t block[BLOCK_MAX];
    size_t from = below(size), n = 1 + below(BLOCK_MAX);
    if (n > size - from)
        n = size - from;
    memcpy(block, data + from, n);
    return insert(data, size, max, block, n);
}

static size_t remove_block(uint8_t *data, size_t size)
{
    size_t from = below(size), n = 1 + below(BLOCK_MAX);
    if (n > size - from)
        n = size - from;
    memmove(data + from, data + from + n, size - from - n);
    return size - n;
}

/* One change. libFuzzer has a function of this name for custom mutators. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    assert(size <= max);
    switch (size == 0 ? 3 + below(2) : below(7)) {
    case 0:
        data[below(size)] ^= (uint8_t)(1u << below(8));
        return size;
    case 1:
        data[below(size)] = (uint8_t)next_random();
        return size;
    case 2:
        return remove_block(data, size);
    case 3:
        return insert_word(data, size, max);
    case 4:
        return insert_part_of_seed(data, size, max);
    case 5:
        return repeat_block(data, size, max);
    default:
        return 1 + below(size); /* the rest is missing */
    }
}

static void run_changed(void)
{
    static uint8_t data[INPUT_MAX];
    const struct input *seed = &replay.seeds[below(replay.nseeds)];
    size_t size = seed->size;
    memcpy(data, seed->data, size);
    for (size_t left = 1 + below(CHANGES_MAX); left > 0; left--)
        size = LLVMFuzzerCustomMutator
                   ? LLVMFuzzerCustomMutator(data, size, sizeof data, (unsigned)next_random())
                   : LLVMFuzzerMutate(data, size, sizeof data);
    run(data, size);
}

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void load(const char *dir, const char *name)
{
    char path[4096];
    assert((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) < sizeof path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    assert(fd >= 0 && fstat(fd, &st) == 0 && replay.nseeds < SEEDS_MAX);
    size_t size = (size_t)st.st_size < INPUT_MAX ? (size_t)st.st_size : INPUT_MAX;
    uint8_t *data = malloc(size ? size : 1);
    assert(data && read(fd, data, size) == (ssize_t)size);
    close(fd);
    replay.seeds[replay.nseeds++] = (struct input){data, size};
}

static void load_seeds(const char *dir)
{
    struct dirent **names = NULL;
    int n = scandir(dir, &names, is_file, alphasort);
    for (int i = 0; i < n; i++) {
        load(dir, names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s SECONDS CRASH_FILE SEEDS_DIR\n", argv[0]);
        return 2;
    }
    double end = now() + strtod(argv[1], NULL);
    replay.crash_file = argv[2];
    load_seeds(argv[3]);
    if (replay.nseeds == 0) {
        fprintf(stderr, "%s: no seeds in %s\n", argv[0], argv[3]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    __sanitizer_set_death_callback(keep_current);
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    run((const uint8_t *)"", 0);
    for (size_t i = 0; i < replay.nseeds; i++)
        run(replay.seeds[i].data, replay.seeds[i].size);
    printf("ok every seed\n");
    size_t tried = 0;
    for (; tried < CHANGED_MIN || now() < end; tried++)
        run_changed();
    printf("# %zu seeds, %zu changed inputs\nok changed seeds\n1..2\n", replay.nseeds, tried);
    for (size_t i = 0; i < replay.nseeds; i++)
        free(replay.seeds[i].data);
    return 0;
}
