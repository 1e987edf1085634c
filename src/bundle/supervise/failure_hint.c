#include "bundle/supervise/failure_hint.h"

#include <errno.h>

#include "base/utf8.h"

#define TAIL_BYTES    4096 /* bytes of stderr to search */
#define LAST_WORD_MAX 300

static const char *const FILE_SIGNS[] = {
    "EACCES",
    "EPERM",
    "EROFS",
    "ENOENT",
    "Permission denied",
    "permission denied",
    "Operation not permitted",
    "Read-only file system",
    "No such file or directory",
    "no such file or directory",
    "Cannot find module",
    "MODULE_NOT_FOUND",
    "PermissionError",
    "FileNotFoundError",
    "ModuleNotFoundError",
};

static const char *const NETWORK_SIGNS[] = {
    "EAI_AGAIN",
    "ENETUNREACH",
    "ENOTFOUND",
    "getaddrinfo",
    "Network is unreachable",
    "network is unreachable",
    "Temporary failure in name resolution",
    "Could not resolve host",
    "Name or service not known",
};

static bool has_any(str text, const char *const *signs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_find(text, str_from(signs[i]), 0) >= 0)
            return true;
    }
    return false;
}

static str last_line(str text)
{
    str last = STR_NONE, rest = text, line;
    while (str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.n > 0)
            last = line;
    }
    return last;
}

/* The server's own lines since its last start: those after nb's latest note. */
static str own_words(str stderr_text)
{
    str rest = stderr_text, line;
    while (str_split(&rest, '\n', &line)) {
        if (str_starts(line, STR("-- ")))
            stderr_text = rest;
    }
    return stderr_text.n > TAIL_BYTES ? str_skip(stderr_text, stderr_text.n - TAIL_BYTES)
                                      : stderr_text;
}

/* People read this, possibly in a terminal: no control characters. */
static void add_words(struct buf *out, str words)
{
    size_t from = out->n;
    (void)utf8_sanitise(out, words);
    for (size_t i = from; i < out->n; i++) {
        if ((unsigned char)out->p[i] < 0x20 || out->p[i] == 0x7f)
            out->p[i] = ' ';
    }
}

void failure_hint(const struct err *what, str stderr_text, const struct bundle_sandbox *sandbox,
                  char ret[ERR_MAX])
{
    struct buf out;
    str words = own_words(stderr_text), last = utf8_truncate(last_line(words), LAST_WORD_MAX);
    buf_init(&out, 8 * ERR_MAX);
    buf_add_lit(&out, what->msg);
    if (last.n > 0 && str_find(str_from(what->msg), last, 0) < 0) {
        buf_add_lit(&out, "; its last line on stderr: ");
        add_words(&out, last);
    }
    bool is_sandboxed = sandbox && !sandbox->is_off;
    if (is_sandboxed && !sandbox->network &&
        has_any(words, NETWORK_SIGNS, ARRAY_LEN(NETWORK_SIGNS)))
        buf_add_lit(&out, ". Its sandbox has no network: \"sandbox\": {\"network\": true} in its "
                          "entry allows it");
    else if (is_sandboxed && !sandbox->network && what->code == -ETIMEDOUT && last.n == 0)
        buf_add_lit(
            &out,
            ", and wrote nothing to stderr. If it waits for the network, which its sandbox does "
            "not have: \"sandbox\": {\"network\": true} in its entry allows it");
    else if (is_sandboxed && has_any(words, FILE_SIGNS, ARRAY_LEN(FILE_SIGNS)))
        buf_add_lit(&out, ". Its sandbox shows it only its own files: name others in \"sandbox\": "
                          "{\"read\": [...], \"write\": [...]} of its entry");
    snprintf(ret, ERR_MAX, "%.*s", STR_ARG(utf8_truncate(buf_str(&out), ERR_MAX - 1)));
    buf_done(&out);
}
