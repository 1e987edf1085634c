#include "cli/serve/tar.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"

enum { BLOCK = 512, USTAR_NAME = 100, COPY_BYTES = TAR_COPY_BYTES };
#define USTAR_SIZE_MAX 077777777777ull /* 8 GiB; larger files need a pax record */

struct header { /* as on disk */
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "");

bool tar_name_ok(str name)
{
    str rest = name, part;
    if (name.n == 0 || name.n >= TAR_NAME_MAX || name.p[0] == '/' || memchr(name.p, 0, name.n))
        return false;
    while (str_split(&rest, '/', &part)) {
        if (part.n == 0 || str_eq(part, STR("..")) || str_eq(part, STR(".")))
            return false;
    }
    return true;
}

/* ---- writing ---- */

static unsigned checksum(const struct header *h)
{
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        bool is_own = i >= offsetof(struct header, checksum) && i < offsetof(struct header, type);
        sum += is_own ? ' ' : p[i];
    }
    return sum;
}

static int tar_put(struct tar_writer *w, const void *p, size_t n, struct err *e)
{
    if (fwrite(p, 1, n, w->out) != n)
        return err_errno(e, errno ? -errno : -EIO, "cannot write", "the archive");
    w->bytes += n;
    return 0;
}

static int pad(struct tar_writer *w, uint64_t size, struct err *e)
{
    static const char ZEROS[BLOCK];
    return tar_put(w, ZEROS, (size_t)((BLOCK - size % BLOCK) % BLOCK), e);
}

static int put_header(struct tar_writer *w, const struct tar_file *f, char type, const char *link,
                      struct err *e)
{
    struct header h = {0};
    uint64_t size = f->size > USTAR_SIZE_MAX ? 0 : f->size;
    int64_t mtime = f->mtime < 0 ? 0 : f->mtime;
    memcpy(h.name, f->name, strnlen(f->name, USTAR_NAME));
    memcpy(h.link, link, strnlen(link, USTAR_NAME));
    (void)snprintf(h.mode, sizeof h.mode, "%07o", f->mode & 07777);
    (void)snprintf(h.uid, sizeof h.uid, "%07o", 0);
    (void)snprintf(h.gid, sizeof h.gid, "%07o", 0);
    (void)snprintf(h.size, sizeof h.size, "%011llo", (unsigned long long)size);
    (void)snprintf(h.mtime, sizeof h.mtime, "%011llo", (unsigned long long)mtime & USTAR_SIZE_MAX);
    h.type = type;
    memcpy(h.magic, "ustar", 6);
    memcpy(h.version, "00", 2);
    (void)snprintf(h.checksum, sizeof h.checksum, "%06o", checksum(&h));
    h.checksum[7] = ' ';
    return tar_put(w, &h, sizeof h, e);
}

/* "<length> <key>=<value>\n", where the length counts its own digits. */
static void add_record(struct buf *b, const char *key, str value)
{
    size_t rest = strlen(key) + value.n + 3, n = rest + 1;
    for (size_t digits = 1, limit = 10; n >= limit; digits++, limit *= 10)
        n = rest + digits + 1;
    buf_printf(b, "%zu %s=%.*s\n", n, key, STR_ARG(value));
}

static int put_records(struct tar_writer *w, const struct tar_file *f, const char *link,
                       struct err *e)
{
    struct buf b;
    char size[24];
    buf_init(&b, TAR_PAX_MAX);
    (void)snprintf(size, sizeof size, "%llu", (unsigned long long)f->size);
    if (strlen(f->name) > USTAR_NAME)
        add_record(&b, "path", str_from(f->name));
    if (strlen(link) > USTAR_NAME)
        add_record(&b, "linkpath", str_from(link));
    if (f->size > USTAR_SIZE_MAX)
        add_record(&b, "size", str_from(size));
    struct tar_file records = {.name = "pax", .mode = 0600, .mtime = f->mtime, .size = b.n};
    int r = b.n > 0 ? put_header(w, &records, 'x', "", e) : 0;
    if (r == 0 && b.n > 0)
        r = tar_put(w, b.p, b.n, e);
    if (r == 0 && b.n > 0)
        r = pad(w, b.n, e);
    buf_done(&b);
    return r;
}

bool tar_is_hole(const char *block, size_t n)
{
    return n == COPY_BYTES && block[0] == 0 && memcmp(block, block + 1, n - 1) == 0;
}

/* Skips whole blocks of zeros: the archive gets a hole where the file has one. */
static int put_or_skip(struct tar_writer *w, const char *block, size_t n, struct err *e)
{
    if (tar_is_hole(block, n) && fseeko(w->out, (off_t)n, SEEK_CUR) == 0)
        return 0;
    return tar_put(w, block, n, e);
}

static int copy_in(struct tar_writer *w, const struct tar_file *f, int fd, struct err *e)
{
    char block[COPY_BYTES];
    for (uint64_t left = f->size; left > 0;) {
        ssize_t n = read(fd, block, left < sizeof block ? (size_t)left : sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, -errno, "cannot read", f->name);
        if (n == 0)
            return err_set(e, -EIO, "%s became shorter while it was being read", f->name);
        int r = put_or_skip(w, block, (size_t)n, e);
        if (r < 0)
            return r;
        left -= (uint64_t)n;
    }
    return pad(w, f->size, e);
}

static int put_head(struct tar_writer *w, const struct tar_file *f, char type, const char *link,
                    struct err *e)
{
    assert(w->out);
    if (!tar_name_ok(str_from(f->name)))
        return err_set(e, -ENAMETOOLONG, "%s: this name does not fit into an archive", f->name);
    int r = put_records(w, f, link, e);
    return r < 0 ? r : put_header(w, f, type, link, e);
}

int tar_add_link(struct tar_writer *w, const struct tar_file *f, const char *target, struct err *e)
{
    assert(tar_name_ok(str_from(target)) && f->size == 0);
    int r = put_head(w, f, '1', target, e);
    w->files += r == 0;
    return r;
}

int tar_add(struct tar_writer *w, const struct tar_file *f, int fd, struct err *e)
{
    int r = put_head(w, f, '0', "", e);
    if (r == 0)
        r = copy_in(w, f, fd, e);
    w->files += r == 0;
    return r;
}

int tar_end(struct tar_writer *w, struct err *e)
{
    static const char ZEROS[2 * BLOCK];
    int r = tar_put(w, ZEROS, sizeof ZEROS, e);
    if (r == 0 && fflush(w->out) != 0)
        r = err_errno(e, -errno, "cannot write", "the archive");
    return r;
}

/* ---- reading ---- */

static int tar_broken(struct err *e, const char *what)
{
    return err_set(e, -EBADMSG, "the archive is damaged or incomplete: %s", what);
}

static bool parse_octal(const char *p, size_t n, uint64_t *ret)
{
    uint64_t v = 0;
    size_t i = 0;
    while (i < n && p[i] == ' ')
        i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        v = v * 8 + (uint64_t)(p[i] - '0');
    *ret = v;
    return i == n || p[i] == 0 || p[i] == ' ';
}

static bool is_zero(const struct header *h)
{
    static const struct header ZERO;
    return memcmp(h, &ZERO, sizeof ZERO) == 0;
}

static int read_header(struct tar_reader *r, struct header *h, struct err *e)
{
    uint64_t sum;
    if (fread(h, 1, BLOCK, r->in) != BLOCK)
        return tar_broken(e, "it ends too early");
    if (is_zero(h))
        return 0;
    if (memcmp(h->magic, "ustar", 5) != 0)
        return tar_broken(e, "an entry is not in the ustar format");
    if (!parse_octal(h->checksum, sizeof h->checksum, &sum) || sum != checksum(h))
        return tar_broken(e, "a checksum is wrong");
    return 1;
}

static int skip_rest(struct tar_reader *r, struct err *e)
{
    char block[COPY_BYTES];
    uint64_t left = r->left + r->padding;
    while (left > 0) {
        size_t n = left < sizeof block ? (size_t)left : sizeof block;
        if (fread(block, 1, n, r->in) != n)
            return tar_broken(e, "it ends too early");
        left -= n;
    }
    r->left = r->padding = 0;
    return 0;
}

static bool take_name(char to[TAR_NAME_MAX], str name)
{
    if (name.n == 0 || name.n >= TAR_NAME_MAX)
        return false;
    memcpy(to, name.p, name.n);
    to[name.n] = 0;
    return true;
}

/* The records of an 'x' entry that are used: path, linkpath and size. */
static bool take_records(str text, struct tar_entry *t, bool *ret_has_name, bool *ret_has_size)
{
    while (text.n > 0) {
        ptrdiff_t space = str_find_char(text, ' ');
        uint64_t n;
        if (space < 0 || parse_u64(str_slice(text, 0, (size_t)space), &n) < 0 || n > text.n ||
            n < (uint64_t)space + 2 || text.p[n - 1] != '\n')
            return false;
        str record = str_slice(text, (size_t)space + 1, (size_t)n - 1);
        text = str_skip(text, (size_t)n);
        if (str_starts(record, STR("path="))) {
            *ret_has_name = true;
            if (!take_name(t->name, str_skip(record, 5)))
                return false;
        } else if (str_starts(record, STR("linkpath="))) {
            if (!take_name(t->link, str_skip(record, 9)))
                return false;
        } else if (str_starts(record, STR("size="))) {
            *ret_has_size = true;
            if (parse_u64(str_skip(record, 5), &t->size) < 0)
                return false;
        }
    }
    return true;
}

static int read_records(struct tar_reader *r, uint64_t size, struct tar_entry *t, bool *has_name,
                        bool *has_size, struct err *e)
{
    struct buf b;
    if (size > TAR_PAX_MAX)
        return tar_broken(e, "an entry has too many records");
    buf_init(&b, TAR_PAX_MAX);
    (void)buf_reserve(&b, (size_t)size);
    b.n = fread(b.p, 1, (size_t)size, r->in);
    bool ok = b.n == size && take_records(buf_str(&b), t, has_name, has_size);
    buf_done(&b);
    r->left = 0;
    r->padding = (unsigned)((BLOCK - size % BLOCK) % BLOCK);
    return ok ? skip_rest(r, e) : tar_broken(e, "the records of an entry cannot be read");
}

static bool header_name(const struct header *h, struct tar_entry *t)
{
    char full[sizeof h->prefix + sizeof h->name + 2];
    int prefix = (int)strnlen(h->prefix, sizeof h->prefix);
    int name = (int)strnlen(h->name, sizeof h->name);
    int n = snprintf(full, sizeof full, "%.*s%s%.*s", prefix, h->prefix, prefix ? "/" : "", name,
                     h->name);
    return take_name(t->name, str_make(full, (size_t)n));
}

static int check_tar_entry(struct tar_entry *t, char type, struct err *e)
{
    size_t n = strlen(t->name);
    if (type != '0' && type != 0 && type != '5' && type != '1')
        return err_set(e, -EBADMSG, "%s: only files and directories can be restored", t->name);
    t->is_dir = type == '5';
    if (type != '1')
        t->link[0] = 0;
    else if (t->size > 0 || !tar_name_ok(str_from(t->link)))
        return err_set(e, -EBADMSG, "%s: it is a link to nothing in this archive", t->name);
    while (t->is_dir && n > 1 && t->name[n - 1] == '/')
        t->name[--n] = 0;
    if (!tar_name_ok(str_from(t->name)))
        return err_set(e, -EBADMSG, "%s: this path is outside of the directory", t->name);
    return 0;
}

int tar_next(struct tar_reader *r, struct tar_entry *t, struct err *e)
{
    struct header h;
    bool has_name = false, has_size = false;
    uint64_t size, mode, mtime;
    int code = skip_rest(r, e);
    *t = (struct tar_entry){0};
    for (;;) {
        if (code == 0)
            code = read_header(r, &h, e);
        if (code <= 0)
            return code;
        if (!parse_octal(h.size, sizeof h.size, &size))
            return tar_broken(e, "a size cannot be read");
        if (h.type != 'x')
            break;
        code = read_records(r, size, t, &has_name, &has_size, e);
        if (code < 0)
            return code;
    }
    if (!has_name && !header_name(&h, t))
        return tar_broken(e, "an entry has no name");
    if (!has_size)
        t->size = size;
    if (h.type == '1' && !t->link[0])
        (void)take_name(t->link, str_make(h.link, strnlen(h.link, sizeof h.link)));
    if (!parse_octal(h.mode, sizeof h.mode, &mode) || !parse_octal(h.mtime, sizeof h.mtime, &mtime))
        return tar_broken(e, "an entry cannot be read");
    t->mode = (unsigned)mode & 0777;
    t->mtime = (int64_t)mtime;
    code = check_tar_entry(t, h.type, e);
    r->left = t->size;
    r->padding = (unsigned)((BLOCK - t->size % BLOCK) % BLOCK);
    return code < 0 ? code : 1;
}

ssize_t tar_read(struct tar_reader *r, void *p, size_t n, struct err *e)
{
    size_t wanted = r->left < n ? (size_t)r->left : n;
    if (wanted == 0)
        return 0;
    if (fread(p, 1, wanted, r->in) != wanted)
        return tar_broken(e, "it ends too early");
    r->left -= wanted;
    return (ssize_t)wanted;
}
