#include "net/response_head.h"

#include <errno.h>

void response_head_init(struct response_head *h)
{
    *h = (struct response_head){0};
    arena_init(&h->mem);
}

void response_head_done(struct response_head *h)
{
    arena_done(&h->mem);
}

/* "HTTP/1.1 200 OK", "HTTP/2 200" */
static void start_head(struct response_head *h, str line)
{
    arena_reset(&h->mem);
    h->headers = arena_alloc(&h->mem, RESPONSE_HEADERS_MAX * sizeof(*h->headers));
    h->n = 0;
    h->bytes = 0;
    h->status = 0;
    str version, code;
    uint64_t status;
    if (str_split(&line, ' ', &version) && str_split(&line, ' ', &code) &&
        parse_u64(code, &status) == 0 && status <= 999)
        h->status = (int)status;
}

static str lower_case(struct arena *a, str name)
{
    char *p = arena_cstr(a, name);
    for (size_t i = 0; i < name.n; i++) {
        if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] - 'A' + 'a');
    }
    return (str){p, name.n};
}

static int add_header(struct response_head *h, str line)
{
    ptrdiff_t colon = str_find_char(line, ':');
    if (colon <= 0)
        return 0; /* not a header, or a folded continuation: both are ignored */
    h->bytes += line.n;
    if (h->n == RESPONSE_HEADERS_MAX || h->bytes > RESPONSE_HEAD_MAX)
        return -EMSGSIZE;
    h->headers[h->n++] = (struct fetch_header){
        .name = lower_case(&h->mem, str_slice(line, 0, (size_t)colon)),
        .value = arena_str(&h->mem, str_trim(str_skip(line, (size_t)colon + 1))),
    };
    return 0;
}

int response_head_add(struct response_head *h, str line)
{
    if (h->is_final)
        return 0;
    bool is_folded = line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t');
    line = str_trim(line);
    if (str_starts(line, STR("HTTP/"))) {
        start_head(h, line);
        return 0;
    }
    if (line.n > 0)
        return is_folded || !h->headers ? 0 : add_header(h, line);
    h->is_final = h->status >= 200;
    return h->is_final;
}

str response_head_get(const struct response_head *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++) {
        if (str_eq(h->headers[i].name, str_from(name)))
            return h->headers[i].value;
    }
    return STR_NONE;
}
