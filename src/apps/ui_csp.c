#include "apps/ui_csp.h"

#include <assert.h>

#include "base/utf8.h"

#define LETTERS_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define HEADER_MAX     (12u * 1024)
#define DROPPED_MAX    64

/* ---- one entry ---- */

static str take_while(str *rest, str allowed)
{
    size_t n = 0;
    while (n < rest->n && memchr(allowed.p, rest->p[n], allowed.n))
        n++;
    str taken = str_slice(*rest, 0, n);
    *rest = str_skip(*rest, n);
    return taken;
}

static bool take(str *rest, str prefix)
{
    bool is_there = str_starts(*rest, prefix);
    if (is_there)
        *rest = str_skip(*rest, prefix.n);
    return is_there;
}

static bool is_host(str s)
{
    bool ok = s.n > 0 && s.p[0] != '.' && s.p[0] != '-' && s.p[s.n - 1] != '-';
    return ok && s.p[s.n - 1] != '.' && str_find(s, STR(".."), 0) < 0;
}

static bool take_port(str *rest)
{
    if (!take(rest, STR(":")) || take(rest, STR("*")))
        return true;
    str digits = take_while(rest, STR("0123456789"));
    return digits.n > 0 && digits.n <= 5;
}

bool ui_csp_is_source(str s)
{
    static const str SCHEMES[] = {STR_INIT("https://"), STR_INIT("http://"), STR_INIT("wss://"),
                                  STR_INIT("ws://")};
    bool has_scheme = false;
    for (size_t i = 0; i < ARRAY_LEN(SCHEMES) && !has_scheme; i++)
        has_scheme = take(&s, SCHEMES[i]);
    (void)take(&s, STR("*."));
    if (!has_scheme || !is_host(take_while(&s, STR(LETTERS_DIGITS ".-"))) || !take_port(&s))
        return false;
    if (s.n > 0 && s.p[0] == '/')
        (void)take_while(&s, STR(LETTERS_DIGITS "/._~%-"));
    return s.n == 0;
}

/* ---- the declaration ---- */

static void drop(struct arena *a, struct ui_csp *csp, const struct json *entry)
{
    if (!csp->dropped.items)
        csp->dropped.items = arena_array(a, DROPPED_MAX, sizeof(str));
    if (csp->dropped.len == DROPPED_MAX)
        return;
    struct arena whole; /* it may be large, and only its beginning is kept */
    arena_init(&whole);
    str text = entry->type == JSON_STRING ? entry->s : json_to_str(&whole, entry);
    csp->dropped.items[csp->dropped.len++] = arena_str(a, utf8_truncate(text, UI_CSP_SHOWN_MAX));
    arena_done(&whole);
}

static struct json_strs read_list(struct arena *a, const struct json *list, struct ui_csp *csp)
{
    struct json_strs ret = {0};
    size_t bytes = 0;
    if (!json_is(list, JSON_ARRAY))
        return ret;
    ret.items = arena_array(a, UI_CSP_SOURCES_MAX, sizeof(str));
    for (size_t i = 0; i < list->len; i++) {
        const struct json *entry = &list->items[i];
        str s = json_string(entry, STR_NONE);
        bool fits = ret.len < UI_CSP_SOURCES_MAX && bytes + s.n < UI_CSP_BYTES_MAX;
        if (!fits || !ui_csp_is_source(s)) {
            drop(a, csp, entry);
            continue;
        }
        bytes += s.n + 1;
        ret.items[ret.len++] = arena_str(a, s);
    }
    return ret;
}

struct ui_csp ui_csp_read(struct arena *a, const struct json *csp)
{
    struct ui_csp ret = {.is_declared = json_is(csp, JSON_OBJECT)};
    ret.connect = read_list(a, json_get(csp, "connectDomains"), &ret);
    ret.resource = read_list(a, json_get(csp, "resourceDomains"), &ret);
    ret.frame = read_list(a, json_get(csp, "frameDomains"), &ret);
    ret.base_uri = read_list(a, json_get(csp, "baseUriDomains"), &ret);
    return ret;
}

struct ui_csp ui_csp_copy(struct arena *a, const struct ui_csp *csp)
{
    return (struct ui_csp){
        .is_declared = csp->is_declared,
        .connect = json_strs_copy(a, csp->connect),
        .resource = json_strs_copy(a, csp->resource),
        .frame = json_strs_copy(a, csp->frame),
        .base_uri = json_strs_copy(a, csp->base_uri),
        .dropped = json_strs_copy(a, csp->dropped),
    };
}

/* ---- the header ---- */

static void directive(struct buf *out, const char *name, const char *own,
                      const struct json_strs *hosts)
{
    buf_printf(out, "%s%s%s%s", out->n > 0 ? "; " : "", name, *own ? " " : "", own);
    for (size_t i = 0; hosts && i < hosts->len; i++) {
        assert(ui_csp_is_source(hosts->items[i])); /* ui_csp_read has checked it */
        buf_printf(out, " %.*s", STR_ARG(hosts->items[i]));
    }
}

/* Inline scripts are the page itself; eval, blob: and data: contact nobody, and published
 * interfaces need them (workers, modules, WebAssembly). */
static void add_resources(struct buf *out, const struct ui_csp *csp, const char *self)
{
    static const struct {
        const char *name, *own;
    } KINDS[] = {
        {"script-src", "'unsafe-inline' 'unsafe-eval' blob: data:"},
        {"style-src", "'unsafe-inline' blob: data:"},
        {"img-src", "data: blob:"},
        {"font-src", "data: blob:"},
        {"media-src", "data: blob:"},
        {"worker-src", "blob:"},
    };
    char own[80];
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        snprintf(own, sizeof own, "%s%s", self, KINDS[i].own);
        directive(out, KINDS[i].name, own, &csp->resource);
    }
}

/* With frame-src 'none' the interface cannot even navigate itself away, which would carry data out:
 * its frame belongs to this document. */
str ui_csp_header(struct arena *a, const struct ui_csp *csp, str host_origin, bool is_apart)
{
    struct buf out;
    const char *self = is_apart ? "'self' " : "";
    const char *own = is_apart ? "'self'" : csp->connect.len > 0 ? "" : "'none'";
    struct json_strs ancestors = {&host_origin, 1};
    buf_init(&out, HEADER_MAX);
    directive(&out, "default-src", "'none'", NULL);
    add_resources(&out, csp, self);
    directive(&out, "connect-src", csp->is_declared ? own : "'none'", &csp->connect);
    directive(&out, "frame-src", csp->frame.len > 0 ? "" : "'none'", &csp->frame);
    directive(&out, "object-src", "'none'", NULL);
    directive(&out, "base-uri",
              csp->base_uri.len > 0 ? ""
              : is_apart            ? "'self'"
                                    : "'none'",
              &csp->base_uri);
    directive(&out, "form-action", "'none'", NULL);
    if (ui_csp_is_source(host_origin))
        directive(&out, "frame-ancestors", "", &ancestors);
    else /* an address in brackets is not a host source: only the own origin can be meant */
        directive(&out, "frame-ancestors", "'self'", NULL);
    if (!is_apart)
        directive(&out, "sandbox", "allow-scripts allow-forms", NULL);
    assert(!buf_failed(&out)); /* the limits of the lists keep it shorter */
    return buf_keep(&out, a);
}

/* A source without its path is a pattern for the URLs that it allows. */
static void add_patterns(struct buf *out, struct json_strs hosts)
{
    for (size_t i = 0; i < hosts.len; i++) {
        str s = hosts.items[i];
        ssize_t scheme = str_find(s, STR("://"), 0);
        assert(scheme > 0); /* ui_csp_read has checked it */
        ssize_t path = str_find(s, STR("/"), (size_t)scheme + 3);
        buf_printf(out, " \"%.*s\"", STR_ARG(path < 0 ? s : str_slice(s, 0, (size_t)path)));
    }
}

str ui_csp_allowlist(struct arena *a, const struct ui_csp *csp, bool is_apart)
{
    struct buf out;
    buf_init(&out, HEADER_MAX);
    buf_printf(&out, "(%s", is_apart ? "response-origin" : "");
    add_patterns(&out, csp->connect);
    add_patterns(&out, csp->resource);
    add_patterns(&out, csp->frame);
    buf_add_lit(&out, ");redirects=allow;webrtc=block"); /* the policy checks where they lead */
    assert(!buf_failed(&out)); /* the limits of the lists keep it shorter */
    return buf_keep(&out, a);
}
