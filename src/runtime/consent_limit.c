#include "runtime/consent_limit.h"

#include <string.h>

/* Programs whose arguments are, or may contain, commands or code of another kind, or that write
 * files which others run: allowing one of them would allow nearly everything. They are compared
 * without the digits of a version at their end. A list of known programs is not a security
 * boundary: it protects people from a careless click; the sandbox limits what a command can do. */
static const char *const RUNNERS[] = {"ant",         "ash",
                                      "at",          "awk",
                                      "bash",        "batch",
                                      "builtin",     "bun",
                                      "bundle",      "busybox",
                                      "bwrap",       "cargo",
                                      "chmod",       "chown",
                                      "chroot",      "chrt",
                                      "clang",       "cmake",
                                      "command",     "compgen",
                                      "coproc",      "cp",
                                      "cpan",        "cpio",
                                      "crontab",     "csh",
                                      "ctest",       "curl",
                                      "dash",        "dd",
                                      "deno",        "doas",
                                      "docker",      "ed",
                                      "elvish",      "emacs",
                                      "enable",      "env",
                                      "eval",        "ex",
                                      "exec",        "expect",
                                      "fakeroot",    "fd",
                                      "fdfind",      "find",
                                      "fish",        "flock",
                                      "gawk",        "gcc",
                                      "gdb",         "gem",
                                      "ghc",         "gmake",
                                      "go",          "gradle",
                                      "guile",       "helm",
                                      "install",     "ionice",
                                      "irb",         "java",
                                      "jobs",        "jq",
                                      "jshell",      "just",
                                      "ksh",         "kubectl",
                                      "ld",          "less",
                                      "lisp",        "ln",
                                      "ltrace",      "lua",
                                      "m4",          "make",
                                      "man",         "mapfile",
                                      "mawk",        "meson",
                                      "more",        "mv",
                                      "mvn",         "nano",
                                      "nawk",        "nc",
                                      "ncat",        "nice",
                                      "nim",         "ninja",
                                      "node",        "nodejs",
                                      "nohup",       "npm",
                                      "npx",         "nsenter",
                                      "ocaml",       "openssl",
                                      "osascript",   "parallel",
                                      "pax",         "perf",
                                      "perl",        "php",
                                      "pip",         "pipx",
                                      "pkexec",      "pnpm",
                                      "podman",      "poetry",
                                      "powershell",  "pwsh",
                                      "pytest",      "python",
                                      "R",           "rake",
                                      "readarray",   "rg",
                                      "rm",          "Rscript",
                                      "rsync",       "ruby",
                                      "runghc",      "runuser",
                                      "rustc",       "sbcl",
                                      "scala",       "scp",
                                      "script",      "sed",
                                      "setpriv",     "setsid",
                                      "sftp",        "sh",
                                      "socat",       "sort",
                                      "source",      "split",
                                      "sqlite",      "ssh",
                                      "stap",        "start-stop-daemon",
                                      "stdbuf",      "strace",
                                      "su",          "sudo",
                                      "systemd-run", "tar",
                                      "taskset",     "tclsh",
                                      "tcsh",        "tee",
                                      "time",        "timeout",
                                      "tox",         "trap",
                                      "tree",        "ts-node",
                                      "tsx",         "unshare",
                                      "uv",          "uvx",
                                      "valgrind",    "vi",
                                      "view",        "vim",
                                      "watch",       "wget",
                                      "xargs",       "xdg-open",
                                      "yarn",        "zip",
                                      "zsh",         NULL};

/* Subcommands of git that only read. Others run programs that their arguments name, and so do some
 * options of these, which may be abbreviated. */
static const char *const GIT_READS[] = {"blame", "branch",   "describe",  "diff",
                                        "log",   "ls-files", "rev-parse", "shortlog",
                                        "show",  "status",   NULL};
static const char *const GIT_RUNS[] = {"-c", "-O", "--ex", "--ou", "--edit", NULL};

/* Members of the arguments that do not change what the words mean. Variables of the environment do,
 * and so does the directory: programs read their settings there. */
static const char *const HARMLESS[] = {"command", "timeout", NULL};

static bool is_runner(str program)
{
    while (program.n > 1 && strchr("0123456789.", program.p[program.n - 1]))
        program.n--;
    return str_in_cstrs(program, RUNNERS);
}

/* What is allowed of git by these words, and no more. Quotes could hide an option. */
static bool is_harmless_git(str words, str command)
{
    str rest = command, word;
    if (!str_starts(words, STR("git ")) || !str_in_cstrs(str_skip(words, 4), GIT_READS) ||
        str_find_char(command, '\'') >= 0 || str_find_char(command, '"') >= 0)
        return false;
    while (str_split(&rest, ' ', &word))
        for (size_t i = 0; GIT_RUNS[i]; i++)
            if (str_starts(word, str_from(GIT_RUNS[i])))
                return false;
    return true;
}

static bool words_ok(str words)
{
    str rest = words, word = STR_NONE;
    size_t n = 0;
    if (words.n == 0 || words.n > CONSENT_WORDS_MAX || str_ends(words, STR(" ")))
        return false;
    while (str_split(&rest, ' ', &word)) {
        if (word.n == 0 || !str_is_made_of(word, "._+-"))
            return false;
        if (n++ == 0 && (word.p[0] == '-' || word.p[0] == '.' || is_runner(word)))
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
    return commands == 1 && is_simple(command) && begins_with(command, words) &&
           (!begins_with(command, STR("git")) || is_harmless_git(words, command));
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
