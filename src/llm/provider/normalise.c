#include "llm/provider/normalise.h"

#include <errno.h>

#include "base/bytes/hash.h"
#include "base/map.h"
#include "base/text/plain.h"
#include "base/utf8.h"

#define TOOL_NAME_LEN_MAX 64

static const str INTERRUPTED = STR_INIT("interrupted: the run ended before this tool answered");
static const str NO_BEGINNING = STR_INIT("(The beginning of this conversation is left out.)");
static const str GO_ON = STR_INIT("Continue.");

/* A growing list of blocks in an arena. */
struct blocks {
    struct llm_block *items;
    size_t n, cap;
};

struct wire_turn {
    enum llm_role role;
    struct blocks blocks;
};

struct pass {
    struct arena *a;
    const struct wire_rules *rules;
    struct wire_turn *turns;
    size_t n;
    struct map used_ids; /* final tool call ids so far */
};

/* The place of one more block; what is in it is undefined. */
static struct llm_block *add_place(struct arena *a, struct blocks *list)
{
    if (list->cap == 0) { /* most messages have one block */
        list->cap = 1;
        list->items = arena_alloc(a, sizeof *list->items);
    } else if (list->n == list->cap) {
        list->cap *= 2;
        list->items = arena_copy(a, list->items, list->n, list->cap, sizeof *list->items);
    }
    return &list->items[list->n++];
}

static void push(struct arena *a, struct blocks *list, struct llm_block b)
{
    *add_place(a, list) = b;
}

static struct llm_block text_block(str s)
{
    return (struct llm_block){.type = LLM_TEXT, .text = s};
}

str normalise_text(struct arena *a, str s)
{
    if (utf8_valid(s))
        return s;
    struct buf b;
    buf_init(&b, s.n * 3 + 1); /* one bad byte becomes three */
    (void)utf8_sanitise(&b, s);
    return buf_keep(&b, a);
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool is_id_word(str s, size_t max)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_word_char(s.p[i]))
            return false;
    return s.n > 0 && s.n <= max;
}

/* Keeps allowed characters, and adds a hash when a character was replaced: two different names stay
 * different. */
static str make_word(struct arena *a, str s, size_t max)
{
    if (is_id_word(s, max))
        return s;
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(s, hex);
    size_t keep = s.n < max - 9 ? s.n : max - 9;
    char *p = arena_alloc(a, keep + 10);
    for (size_t i = 0; i < keep; i++)
        p[i] = is_word_char(s.p[i]) ? s.p[i] : '_';
    p[keep] = '_';
    memcpy(p + keep + 1, hex, 8);
    p[keep + 9] = '\0';
    return str_make(p, keep + 9);
}

str normalise_name(struct arena *a, str name)
{
    return make_word(a, name, TOOL_NAME_LEN_MAX);
}

/* ---- single blocks ---- */

static struct llm_block image_or_note(struct pass *p, const struct llm_block *b)
{
    const char *problem = "the model cannot see";
    str mime = p->rules->can_images ? picture_mime(b->data, &problem) : STR_NONE;
    if (p->rules->refuses_gif && str_eq(mime, STR("image/gif"))) {
        problem = "the model does not take GIF pictures";
        mime = STR_NONE;
    }
    if (mime.n == 0)
        return text_block(arena_printf(p->a, "[a picture is left out: %s]", problem));
    struct llm_block out = *b;
    out.mime = mime;
    return out;
}

static void add_text_block(struct pass *p, struct blocks *to, str text)
{
    if (str_trim(text).n == 0)
        return;
    if (!plain_is_text(text)) /* which is always valid */
        text = plain_text(p->a, normalise_text(p->a, text));
    *add_place(p->a, to) = (struct llm_block){.type = LLM_TEXT, .text = text};
}

#define PDF_BASE64 STR("JVBERi0") /* "%PDF-" and two bits */

static void add_document(struct pass *p, struct blocks *to, const struct llm_block *b)
{
    struct llm_block out = *b;
    if (!p->rules->can_documents || !str_starts(b->data, PDF_BASE64)) {
        add_text_block(p, to, b->text);
        return;
    }
    out.name = normalise_text(p->a, b->name);
    push(p->a, to, out);
}

/* A result's parts: errors may hold text only, and must hold some. */
static struct llm_block clean_result(struct pass *p, const struct llm_block *b)
{
    struct blocks parts = {0};
    for (size_t i = 0; i < b->nparts; i++) {
        const struct llm_block *part = &b->parts[i];
        if (part->type == LLM_TEXT)
            add_text_block(p, &parts, part->text);
        else if (part->type == LLM_IMAGE && b->is_error)
            add_text_block(p, &parts, STR("[a picture is left out]"));
        else if (part->type == LLM_IMAGE)
            push(p->a, &parts, image_or_note(p, part));
    }
    if (b->is_error && parts.n == 0)
        add_text_block(p, &parts, STR("the tool failed without a message"));
    struct llm_block out = *b;
    out.parts = parts.items;
    out.nparts = parts.n;
    return out;
}

/* Arguments that are not an object cannot be sent: they are replaced by an empty object, and the
 * error result after them gives the reason. */
static struct llm_block clean_use(struct pass *p, const struct llm_block *b)
{
    struct llm_block out = *b;
    struct json *args = NULL;
    out.name = normalise_name(p->a, b->name);
    bool is_good = !b->args_error && json_parse(p->a, b->args, 0, &args, NULL) == 0 &&
                   json_is(args, JSON_OBJECT);
    out.json = is_good ? args : json_new(p->a, JSON_OBJECT);
    return out;
}

static bool may_return(const struct pass *p, const struct llm_block *b)
{
    return b->json && str_eq(b->provider, p->rules->provider) && str_eq(b->model, p->rules->model);
}

static void add_block(struct pass *p, enum llm_role role, struct blocks *to,
                      const struct llm_block *b)
{
    bool is_user = role == LLM_USER;
    if (b->type == LLM_TEXT)
        add_text_block(p, to, b->text);
    else if (b->type == LLM_IMAGE && is_user)
        push(p->a, to, image_or_note(p, b));
    else if (b->type == LLM_DOCUMENT && is_user)
        add_document(p, to, b);
    else if (b->type == LLM_TOOL_RESULT && is_user)
        push(p->a, to, clean_result(p, b));
    else if (b->type == LLM_TOOL_USE && !is_user)
        push(p->a, to, clean_use(p, b));
    else if (b->type == LLM_OPAQUE && !is_user && may_return(p, b))
        push(p->a, to, *b);
}

/* ---- turns ---- */

/* Also what only accompanies other blocks: thoughts and signatures of Google, phases of OpenAI. */
static bool is_thinking(const struct llm_block *b)
{
    static const char *const TYPES[] = {"thinking", "redacted_thinking", "reasoning"};
    static const char *const MEMBERS[] = {"thought", "thoughtSignature", "phase"};
    if (b->type != LLM_OPAQUE)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        if (str_eq(json_get_string(b->json, "type"), str_from(TYPES[i])) ||
            (json_get(b->json, MEMBERS[i]) && !json_get(b->json, "type")))
            return true;
    return false;
}

/* APIs refuse an answer that contains only thinking. */
static bool says_something(const struct blocks *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (!is_thinking(&list->items[i]))
            return true;
    return false;
}

static struct wire_turn *turn_for(struct pass *p, enum llm_role role)
{
    if (p->n == 0 || p->turns[p->n - 1].role != role)
        p->turns[p->n++] = (struct wire_turn){.role = role};
    return &p->turns[p->n - 1];
}

static void append_turn(struct pass *p, enum llm_role role, const struct blocks *list)
{
    if (list->n == 0)
        return;
    struct wire_turn *t = turn_for(p, role);
    if (t->blocks.n == 0) {
        t->blocks = *list; /* nearly always: roles alternate */
        return;
    }
    for (size_t i = 0; i < list->n; i++)
        push(p->a, &t->blocks, list->items[i]);
}

static void merge_roles(struct pass *p, const struct llm_message *messages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct blocks list = {0};
        for (size_t k = 0; k < messages[i].n; k++)
            add_block(p, messages[i].role, &list, &messages[i].blocks[k]);
        if (messages[i].role == LLM_USER || says_something(&list))
            append_turn(p, messages[i].role, &list);
    }
}

/* ---- tool calls and their results ---- */

static str nine_letters(struct arena *a, str id)
{
    static const char ALPHABET[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    bool is_fine =
        is_id_word(id, 9) && id.n == 9 && str_find_char(id, '_') < 0 && str_find_char(id, '-') < 0;
    if (is_fine)
        return id;
    uint8_t digest[SHA256_LEN];
    sha256(id, digest);
    char *p = arena_zalloc(a, 10);
    for (size_t i = 0; i < 9; i++)
        p[i] = ALPHABET[digest[i] % 62];
    return str_make(p, 9);
}

/* The id in the form of the API, and unique: some servers count from zero in every answer. */
static str final_id(struct pass *p, str id)
{
    for (unsigned copy = 1;; copy++) {
        str want = copy == 1 ? id : arena_printf(p->a, "%.*s_%u", STR_ARG(id), copy);
        if (want.n == 0)
            want = STR("call");
        str fit = p->rules->ids_of_nine ? nine_letters(p->a, want)
                                        : make_word(p->a, want, p->rules->id_max);
        if (!map_get(&p->used_ids, fit)) {
            map_put(&p->used_ids, fit, p);
            return fit;
        }
    }
}

static struct llm_block *take_result(struct blocks *from, str id)
{
    for (size_t i = 0; i < from->n; i++)
        if (from->items[i].type == LLM_TOOL_RESULT && str_eq(from->items[i].id, id))
            return &from->items[i];
    return NULL;
}

static struct llm_block missing_result(struct pass *p)
{
    struct llm_block *part = ARENA_NEW(p->a, struct llm_block);
    *part = text_block(INTERRUPTED);
    return (struct llm_block){
        .type = LLM_TOOL_RESULT, .is_error = true, .parts = part, .nparts = 1};
}

/* Chat servers accept only text in results: the pictures follow after all results. */
static void split_pictures(struct pass *p, struct llm_block *result, struct blocks *pictures)
{
    struct blocks text = {0};
    for (size_t i = 0; i < result->nparts; i++) {
        if (result->parts[i].type == LLM_IMAGE) {
            push(p->a, pictures, result->parts[i]);
            push(p->a, &text, text_block(STR("[the picture follows below]")));
        } else {
            push(p->a, &text, result->parts[i]);
        }
    }
    result->parts = text.items;
    result->nparts = text.n;
}

static bool is_said(const struct llm_block *b)
{
    return b->type == LLM_TEXT || b->type == LLM_IMAGE || b->type == LLM_DOCUMENT;
}

/* Most messages: there is nothing to pair, and nothing to leave out. */
static bool is_without_tools(const struct blocks *calls, const struct blocks *said)
{
    for (size_t i = 0; i < calls->n; i++)
        if (calls->items[i].type == LLM_TOOL_USE)
            return false;
    for (size_t i = 0; i < said->n; i++)
        if (!is_said(&said->items[i]))
            return false;
    return true;
}

/* Results in the order of the calls, each once, then the rest of the user's message. */
static struct blocks pair_results(struct pass *p, struct blocks *calls, struct blocks *said)
{
    struct blocks out = {0}, pictures = {0};
    if (is_without_tools(calls, said))
        return *said;
    for (size_t i = 0; i < calls->n; i++) {
        struct llm_block *use = &calls->items[i];
        if (use->type != LLM_TOOL_USE)
            continue;
        struct llm_block *found = take_result(said, use->id);
        struct llm_block result = found ? *found : missing_result(p);
        if (found)
            found->type =
                LLM_OPAQUE; /* used: a second call with the same id finds the next result */
        use->id = result.id = final_id(p, use->id);
        result.name = use->name;
        if (!p->rules->images_in_results)
            split_pictures(p, &result, &pictures);
        push(p->a, &out, result);
    }
    for (size_t i = 0; i < pictures.n; i++)
        push(p->a, &out, pictures.items[i]);
    for (size_t i = 0; i < said->n; i++)
        if (is_said(&said->items[i]))
            push(p->a, &out, said->items[i]);
    return out;
}

/* Reads the merged turns of `in` and appends paired ones to `p`. */
static void pair_turns(struct pass *p, const struct wire_turn *in, size_t n)
{
    struct blocks nothing = {0};
    for (size_t i = 0; i < n; i++) {
        struct blocks mine = in[i].blocks;
        if (in[i].role == LLM_USER) { /* follows no tool calls: results in it belong to no call */
            struct blocks said = pair_results(p, &nothing, &mine);
            append_turn(p, LLM_USER, &said);
            continue;
        }
        bool has_reply = i + 1 < n; /* roles alternate, so it is the user's */
        struct blocks reply = has_reply ? in[i + 1].blocks : nothing;
        struct blocks results = pair_results(p, &mine, &reply);
        append_turn(p, LLM_ASSISTANT, &mine);
        append_turn(p, LLM_USER, &results);
        i += has_reply ? 1 : 0;
    }
}

/* A turn that a server tool paused is sent back as it is; any other
 * last message of the model would be a prefill, which newer models refuse. */
static bool is_paused(const struct wire_turn *t)
{
    const struct llm_block *last = &t->blocks.items[t->blocks.n - 1];
    return last->type == LLM_OPAQUE && !is_thinking(last);
}

static struct wire_history as_history(struct pass *p)
{
    struct blocks lead = {0}, tail = {0};
    push(p->a, &lead, text_block(NO_BEGINNING));
    push(p->a, &tail, text_block(GO_ON));
    struct llm_message *out = arena_array(p->a, p->n + 2, sizeof *out);
    size_t n = 0;
    if (p->turns[0].role == LLM_ASSISTANT)
        out[n++] = (struct llm_message){LLM_USER, lead.items, lead.n};
    for (size_t i = 0; i < p->n; i++)
        out[n++] =
            (struct llm_message){p->turns[i].role, p->turns[i].blocks.items, p->turns[i].blocks.n};
    const struct wire_turn *last = &p->turns[p->n - 1];
    if (last->role == LLM_ASSISTANT && !is_paused(last))
        out[n++] = (struct llm_message){LLM_USER, tail.items, tail.n};
    return (struct wire_history){out, n};
}

int normalise(struct arena *a, const struct wire_rules *rules, const struct llm_message *messages,
              size_t n, struct wire_history *ret, struct err *e)
{
    struct pass merged = {.a = a, .rules = rules};
    merged.turns = arena_array(a, n + 1, sizeof *merged.turns);
    merge_roles(&merged, messages, n);

    struct pass paired = {.a = a, .rules = rules};
    paired.turns = arena_array(a, merged.n * 2 + 1, sizeof *paired.turns);
    map_init(&paired.used_ids);
    pair_turns(&paired, merged.turns, merged.n);
    map_done(&paired.used_ids);
    if (paired.n == 0)
        return err_set(e, -EINVAL, "there is nothing to send to the model: the message is empty");
    *ret = as_history(&paired);
    return 0;
}
