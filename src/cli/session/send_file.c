#include "cli/session/send_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/file.h"

#define PIECE_BYTES (8u * 1024 * 1024)
#define LOST_MAX    30   /* attempts without a new byte, */
#define LOST_MS     1000 /* with this pause */

struct file_sending {
    struct client *client;
    struct arena arena; /* of one request */
    const char *path, *name;
    str upload; /* its address */
    int fd;
    uint64_t size, sent;
    char *piece;
};

int send_bytes(struct client *c, struct arena *a, str name, str bytes, str *ret_id, struct err *e)
{
    struct json *given;
    struct client_ask q = {.method = "POST", .body = bytes};
    q.path = arena_printf(a, "/v1/files?name=%.*s", STR_ARG(client_encode(a, name)));
    int r = client_ask(c, &q, a, &given, e);
    *ret_id = r == 0 ? json_get_string(given, "id") : STR_NONE;
    return r;
}

static int send_whole(struct file_sending *s, str *ret_id, struct err *e)
{
    str bytes;
    int r = file_read(&s->arena, s->path, CLIENT_BODY_MAX, &bytes, e);
    return r < 0 ? r : send_bytes(s->client, &s->arena, str_from(s->name), bytes, ret_id, e);
}

/* ---- in pieces ---- */

static int begin_pieces(struct file_sending *s, struct arena *a, struct err *e)
{
    struct json *begun, *body = json_new(&s->arena, JSON_OBJECT);
    json_set(&s->arena, body, STR("name"), json_of_str(str_from(s->name)));
    json_set(&s->arena, body, STR("bytes"), json_of_int((int64_t)s->size));
    struct client_ask q = {
        .method = "POST", .path = STR("/v1/files/uploads"), .body = json_to_str(&s->arena, body)};
    int r = client_ask(s->client, &q, &s->arena, &begun, e);
    if (r == 0)
        s->upload = arena_concat(a, STR("/v1/files/uploads/"), json_get_string(begun, "id"));
    return r;
}

/* Errors of the connection, and an upload that the server believes to be under way still; other
 * answers of the server are final. */
static bool is_lost(int code)
{
    static const int CODES[] = {-ETIMEDOUT, -ECONNREFUSED, -ECONNRESET, -EPIPE, -EBUSY};
    for (size_t i = 0; i < ARRAY_LEN(CODES); i++)
        if (code == CODES[i])
            return true;
    return false;
}

/* How far the server has it. */
static int find_offset(struct file_sending *s, struct err *e)
{
    struct json *state;
    struct client_ask q = {.path = s->upload};
    int r = client_ask(s->client, &q, &s->arena, &state, e);
    if (r == 0)
        s->sent = (uint64_t)json_get_int(state, "offset", 0);
    return r;
}

static int send_piece(struct file_sending *s, str *ret_id, struct err *e)
{
    struct json *answer;
    uint64_t left = s->size - s->sent;
    size_t n = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    ssize_t got = pread(s->fd, s->piece, n, (off_t)s->sent);
    if (got < 0)
        return err_errno(e, -errno, "cannot read", s->path);
    if ((size_t)got != n)
        return err_set(e, -EIO, "%s became shorter while it was being sent", s->path);
    struct client_ask q = {
        .method = "PATCH",
        .path = s->upload,
        .body = str_make(s->piece, n),
        .header = "Upload-Offset",
        .value = arena_printf(&s->arena, "%llu", (unsigned long long)s->sent),
    };
    int r = client_ask(s->client, &q, &s->arena, &answer, e);
    if (r < 0)
        return r;
    s->sent = (uint64_t)json_get_int(answer, "offset", 0);
    *ret_id = json_get_string(json_get(answer, "file"), "id");
    return 0;
}

static int send_pieces(struct file_sending *s, struct arena *a, str *ret_id, struct err *e)
{
    str id = STR_NONE;
    unsigned lost = 0;
    int r = begin_pieces(s, a, e);
    while (r == 0 && id.n == 0) {
        uint64_t before = s->sent;
        arena_reset(&s->arena);
        r = send_piece(s, &id, e);
        lost = s->sent > before ? 0 : lost;
        while (is_lost(r) && lost++ < LOST_MAX) {
            const struct timespec pause = {.tv_nsec = LOST_MS * 1000000L - 1};
            err_clear(e);
            (void)nanosleep(&pause, NULL);
            r = find_offset(s, e);
        }
    }
    *ret_id = id;
    return r;
}

static void forget_upload(struct file_sending *s)
{
    struct json *unused;
    struct client_ask q = {.method = "DELETE", .path = s->upload};
    if (s->upload.n > 0)
        (void)client_ask(s->client, &q, &s->arena, &unused, &(struct err){0});
}

int send_file(struct client *c, struct arena *a, const char *path, str *ret_id, struct err *e)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    struct file_sending s = {.client = c, .path = path, .name = slash ? slash + 1 : path};
    str id = STR_NONE;
    s.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s.fd < 0 || fstat(s.fd, &st) < 0) {
        int code = -errno;
        file_close(s.fd);
        return err_errno(e, code, "cannot read", path);
    }
    arena_init(&s.arena);
    s.size = (uint64_t)st.st_size;
    bool is_large = S_ISREG(st.st_mode) && s.size > PIECE_BYTES;
    s.piece = is_large ? xcalloc(1, PIECE_BYTES) : NULL;
    int r = is_large ? send_pieces(&s, a, &id, e) : send_whole(&s, &id, e);
    if (r < 0)
        forget_upload(&s);
    else
        *ret_id = arena_str(a, id);
    free(s.piece);
    file_close(s.fd);
    arena_done(&s.arena);
    return r;
}
