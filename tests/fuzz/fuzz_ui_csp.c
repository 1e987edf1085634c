/* Any bytes as the hosts that an interface declares: one entry as it is, or a whole declaration in
 * JSON. Whatever comes in, the policy has the directives that it always has, in their order, each
 * with words that were meant and with hosts; a host is checked here by other means. */
#include <assert.h>

#include "apps/ui_csp.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const DIRECTIVES[] = {
    "default-src", "script-src",  "style-src",       "img-src",   "font-src",
    "media-src",   "worker-src",  "connect-src",     "frame-src", "object-src",
    "base-uri",    "form-action", "frame-ancestors",
};

static const char *const WORDS[] = {
    "'none'", "'self'", "'unsafe-inline'", "'unsafe-eval'", "blob:", "data:", NULL};

static bool is_host(str s)
{
    static const char *const SCHEMES[] = {"https://", "http://", "wss://", "ws://"};
    size_t i = 0;
    while (i < ARRAY_LEN(SCHEMES) && !str_starts(s, str_from(SCHEMES[i])))
        i++;
    if (i == ARRAY_LEN(SCHEMES))
        return false;
    str rest = str_skip(s, strlen(SCHEMES[i]));
    for (size_t k = 0; k < rest.n; k++) {
        unsigned char c = (unsigned char)rest.p[k];
        if (c <= ' ' || c >= 0x7f || strchr(";,'\"<>()\\?#@[]{}|^`$&+=!", c))
            return false;
    }
    /* a star is the first label, before a dot, or the port */
    ptrdiff_t star = str_find_char(str_skip(rest, 1), '*');
    return rest.n > 0 && rest.p[0] != '/' && (star < 0 || (star > 0 && rest.p[star] == ':')) &&
           (rest.p[0] != '*' || (rest.n > 2 && rest.p[1] == '.'));
}

static void check_header(str header, bool is_apart)
{
    size_t n = 0;
    str directive, word;
    while (str_split(&header, ';', &directive)) {
        directive = str_trim(directive);
        bool is_sandbox = !is_apart && n == ARRAY_LEN(DIRECTIVES);
        if (is_sandbox) {
            assert(str_eq(directive, STR("sandbox allow-scripts allow-forms")));
            n++;
            continue;
        }
        assert(n < ARRAY_LEN(DIRECTIVES));
        assert(str_split(&directive, ' ', &word) && str_eq(word, str_from(DIRECTIVES[n])));
        size_t words = 0;
        for (; str_split(&directive, ' ', &word); words++)
            assert(str_in_cstrs(word, WORDS) || is_host(word));
        assert(words > 0); /* a directive without a value would mean 'none', or nothing */
        n++;
    }
    assert(n == ARRAY_LEN(DIRECTIVES) + !is_apart);
}

static void check(struct arena *a, const struct json *declared)
{
    struct ui_csp csp = ui_csp_read(a, declared);
    struct ui_csp copy = ui_csp_copy(a, &csp);
    assert(csp.connect.len <= UI_CSP_SOURCES_MAX && copy.dropped.len == csp.dropped.len);
    str hosts = ui_csp_allowlist(a, &copy, true);
    for (size_t i = 0; i < hosts.n; i++)
        assert(hosts.p[i] > 0x1f && hosts.p[i] < 0x7f && hosts.p[i] != '\\');
    for (int is_apart = 0; is_apart < 2; is_apart++)
        check_header(ui_csp_header(a, &copy, STR("http://127.0.0.1:27247"), is_apart), is_apart);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const LISTS[] = {"connectDomains", "resourceDomains", "frameDomains",
                                        "baseUriDomains"};
    struct arena a;
    struct json *v;
    str in = str_make((const char *)data, size);
    arena_init(&a);
    if (size > 64 * 1024)
        return 0;
    if (json_parse(&a, in, 0, &v, NULL) == 0)
        check(&a, v);
    if (utf8_valid(in)) {
        struct json *one = json_new(&a, JSON_OBJECT), *list = json_new(&a, JSON_ARRAY);
        json_push(&a, list, json_of_str(in));
        for (size_t i = 0; i < ARRAY_LEN(LISTS); i++)
            json_set(&a, one, str_from(LISTS[i]), *list);
        check(&a, one);
    }
    assert(!ui_csp_is_source(in) || is_host(in));
    arena_done(&a);
    return 0;
}
