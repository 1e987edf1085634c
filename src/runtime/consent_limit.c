#include "runtime/consent_limit.h"

#include <string.h>

/* Programs whose arguments are, or may contain, commands or code of another kind: allowing one of
 * them would allow nearly everything. The list protects people from a careless click; the sandbox
 * limits what a command can do. */
static const char *const RUNNERS[] = {
    "ash",    "awk",         "bash",   "bun",    "builtin", "busybox", "chroot",   "command",
    "csh",    "dash",        "deno",   "doas",   "docker",  "env",     "eval",     "exec",
    "expect", "find",        "fish",   "flock",  "gawk",    "gdb",     "ionice",   "ksh",
    "lua",    "mawk",        "nice",   "node",   "nohup",   "npx",     "parallel", "perl",
    "php",    "pipx",        "podman", "python", "python2", "python3", "ruby",     "script",
    "sed",    "setsid",      "sh",     "source", "ssh",     "stdbuf",  "strace",   "su",
    "sudo",   "systemd-run", "tclsh",  "time",   "timeout", "unshare", "uv",       "uvx",
    "watch",  "xargs",       "zsh",    NULL};

/* Members of the arguments that do not change what the words mean; variables of the environment do.
 */
static const char *const HARMLESS[] = {"command", "cwd", "timeout", NULL};

static bool words_ok(str words)
{
    str rest = words, word = STR_NONE;
    size_t n = 0;
    if (words.n == 0 || words.n > CONSENT_WORDS_MAX || str_ends(words, STR(" ")))
        return false;
    while (str_split(&rest, ' ', &word)) {
        if (word.n == 0 || !str_is_made_of(word, "._+-"))
            return false;
        if (n++ == 0 && (word.p[0] == '-' || word.p[0] == '.' || str_in_cstrs(word, RUNNERS)))
            return false;
    }
    return true;
}

/* One command, without what a shell expands to other commands, files or values of variables. */
static bool is_simple(str command)
{
    for (size_t i = 0; i < command.n; i++) {
        unsigned char c = (unsigned char)command.p[i];
        if (c < ' ' || c == 127 || strchr(";|&<>()`$\\", c))
            return false;
    }
    return true;
}

static bool begins_with(str command, str words)
{
    return str_starts(command, words) && (command.n == words.n || command.p[words.n] == ' ');
}

bool consent_words_fit(str words, const struct json *args)
{
    if (!json_is(args, JSON_OBJECT) || !words_ok(words))
        return false;
    size_t commands = 0; /* with two of them, the tool may take the other one */
    for (size_t i = 0; i < args->len; i++) {
        commands += str_eq(args->members[i].key, STR("command"));
        if (!str_in_cstrs(args->members[i].key, HARMLESS))
            return false;
    }
    str command = json_get_string(args, "command");
    return commands == 1 && is_simple(command) && begins_with(command, words);
}

/* "git status -s": the second word is a name, and neither an option nor a file. */
str consent_words_of(const struct json *args)
{
    str command = json_get_string(args, "command"), rest = command, first, second;
    if (!str_split(&rest, ' ', &first))
        return STR_NONE;
    bool has_second = str_split(&rest, ' ', &second) && second.n > 0 && second.p[0] >= 'a' &&
                      second.p[0] <= 'z' && str_is_made_of(second, "-");
    str words = has_second ? str_make(command.p, first.n + 1 + second.n) : first;
    return consent_words_fit(words, args) ? words : STR_NONE;
}

/* ---- the text ---- */

str consent_limited(struct arena *a, str tool, str words, str conversation_id)
{
    str limit = words.n > 0 ? arena_printf(a, "(%.*s *)", STR_ARG(words)) : STR_NONE;
    return conversation_id.n > 0 ? arena_printf(a, "%.*s%.*s@%.*s", STR_ARG(tool), STR_ARG(limit),
                                                STR_ARG(conversation_id))
                                 : arena_printf(a, "%.*s%.*s", STR_ARG(tool), STR_ARG(limit));
}

bool consent_is_of_conversation(str text)
{
    return str_find_char(text, '@') >= 0;
}

bool consent_is_limited(str text)
{
    return consent_is_of_conversation(text) || str_find_char(text, '(') >= 0;
}

/* Takes the words out of *tool. False: the text is not complete. */
static bool take_words(str *tool, str *ret_words)
{
    ptrdiff_t at = str_find_char(*tool, '(');
    *ret_words = STR_NONE;
    if (at < 0)
        return true;
    str inner = str_skip(*tool, (size_t)at + 1);
    if (!str_ends(inner, STR(" *)")))
        return false;
    *ret_words = str_slice(inner, 0, inner.n - 3);
    *tool = str_slice(*tool, 0, (size_t)at);
    return ret_words->n > 0;
}

bool consent_limit_matches(str text, const struct consent_call *call)
{
    str tool, words, rest = text;
    if (!consent_is_limited(text))
        return false;
    (void)str_split(&rest, '@', &tool);
    if (consent_is_of_conversation(text) && (rest.n == 0 || !str_eq(rest, call->conversation_id)))
        return false;
    return take_words(&tool, &words) && str_eq(tool, call->tool) &&
           (words.n == 0 || consent_words_fit(words, call->args));
}
