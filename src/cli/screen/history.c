#include "cli/screen/history.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "os/file.h"

#define FILE_MAX (8u * 1024 * 1024) /* only the end of a larger file is read */

static void push(struct history *h, char *entry)
{
    assert(h->len <= HISTORY_MAX);
    if (h->len == HISTORY_MAX) {
        free(h->entries[0]);
        memmove(h->entries, h->entries + 1, (HISTORY_MAX - 1) * sizeof h->entries[0]);
        h->len--;
    }
    h->entries[h->len++] = entry;
}

static bool is_entry_wanted(const struct history *h, str text)
{
    return text.n > 0 && text.n <= HISTORY_ENTRY_MAX &&
           (h->len == 0 || !str_eq(text, str_from(h->entries[h->len - 1])));
}

static void encode(struct buf *out, str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\n')
            buf_add_lit(out, "\\n");
        else if (text.p[i] == '\\')
            buf_add_lit(out, "\\\\");
        else if (text.p[i] != '\0')
            buf_add_char(out, text.p[i]);
    }
    buf_add_char(out, '\n');
}

static void history_file_decode(struct buf *out, str line)
{
    buf_clear(out);
    for (size_t i = 0; i < line.n; i++) {
        bool is_escape = line.p[i] == '\\' && i + 1 < line.n;
        char c = is_escape ? line.p[++i] : line.p[i];
        buf_add_char(out, is_escape && c == 'n' ? '\n' : c);
    }
}

static int rewrite(struct history *h)
{
    struct buf text;
    buf_init(&text, 2u * HISTORY_MAX * (HISTORY_ENTRY_MAX + 1));
    for (size_t i = 0; i < h->len; i++)
        encode(&text, str_from(h->entries[i]));
    int r = file_write_atomic(h->path, buf_str(&text), 0600, NULL);
    buf_done(&text);
    return r;
}

static int read_history_file(const char *path, struct buf *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    ssize_t n = 0;
    if (fstat(fd, &st) == 0 && st.st_size > FILE_MAX)
        (void)lseek(fd, -(off_t)FILE_MAX, SEEK_END);
    while (buf_reserve(ret, 65536) == 0 && (n = read(fd, ret->p + ret->n, 65536)) > 0) {
        ret->n += (size_t)n;
        ret->p[ret->n] = '\0';
    }
    int r = n < 0 ? -errno : 0;
    close(fd);
    return r;
}

static size_t history_file_load(struct history *h, str text)
{
    struct buf entry;
    str line;
    size_t lines = 0;
    buf_init(&entry, FILE_MAX);
    for (; str_split(&text, '\n', &line); lines++) {
        history_file_decode(&entry, line);
        if (is_entry_wanted(h, buf_str(&entry)) && utf8_valid(buf_str(&entry)))
            push(h, str_dup(buf_str(&entry)));
    }
    buf_done(&entry);
    return lines;
}

int history_init(struct history *h, const char *path)
{
    *h = (struct history){.path = path ? str_dup(str_from(path)) : NULL};
    if (!path)
        return 0;
    struct buf file;
    buf_init(&file, FILE_MAX + 65536 * 2);
    int r = read_history_file(path, &file);
    if (r == 0 && history_file_load(h, buf_str(&file)) > 2 * HISTORY_MAX)
        r = rewrite(h);
    buf_done(&file);
    return r;
}

void history_done(struct history *h)
{
    for (size_t i = 0; i < h->len; i++)
        free(h->entries[i]);
    free(h->path);
    *h = (struct history){0};
}

int history_add(struct history *h, str text)
{
    if (!is_entry_wanted(h, text))
        return 0;
    push(h, str_dup(text));
    if (!h->path)
        return 0;
    struct buf line;
    buf_init(&line, 2 * HISTORY_ENTRY_MAX + 1);
    encode(&line, text);
    int fd = open(h->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : file_write_all(fd, buf_str(&line));
    if (fd >= 0)
        close(fd);
    buf_done(&line);
    return r;
}

ptrdiff_t history_search(const struct history *h, str needle, size_t before)
{
    for (size_t i = before < h->len ? before : h->len; i-- > 0;)
        if (str_find(str_from(h->entries[i]), needle, 0) >= 0)
            return (ptrdiff_t)i;
    return -1;
}
