#include "cli/acp/acp_blocks.h"

#include <errno.h>

#include "base/bytes/base64.h"
#include "cli/acp/acp_call.h"

struct block_reader {
    struct arena *arena;
    struct buf text, context; /* context: follows the text */
    struct acp_blocks *ret;
    size_t at; /* the block */
    struct err *e;
};

static int block_bad(struct block_reader *r, const char *why)
{
    return err_set(r->e, -EINVAL, "prompt[%zu]: %s", r->at, why);
}

static int add_block_file(struct block_reader *r, struct acp_file f)
{
    if (r->ret->nfiles == ACP_FILES_MAX)
        return err_set(r->e, -EINVAL, "prompt: more than %d files", ACP_FILES_MAX);
    r->ret->files[r->ret->nfiles++] = f;
    return 0;
}

/* The last part of an address, without what would end a Markdown link. */
static str name_of_address(struct block_reader *r, str uri)
{
    str path, rest = uri;
    (void)str_split(&rest, '#', &path);
    str local = acp_file_path(r->arena, path);
    path = local.n > 0 ? local : path;
    ptrdiff_t at = str_rfind_char(path, '/');
    str name = at < 0 ? path : str_skip(path, (size_t)at + 1);
    return name.n > 0 ? name : STR("resource");
}

static void mention(struct block_reader *r, str name, str uri)
{
    buf_add_lit(&r->text, "[@");
    for (size_t i = 0; i < name.n; i++)
        buf_add_char(&r->text, name.p[i] == ']' || name.p[i] == '\n' ? ' ' : name.p[i]);
    buf_add_lit(&r->text, "](");
    for (size_t i = 0; i < uri.n; i++)
        if (uri.p[i] != ')' && uri.p[i] != '\n' && uri.p[i] != ' ')
            buf_add_char(&r->text, uri.p[i]);
    buf_add_char(&r->text, ')');
}

/* ---- kinds of blocks ---- */

static int read_text(struct block_reader *r, const struct json *block)
{
    const struct json *text = json_get(block, "text");
    if (!json_is(text, JSON_STRING))
        return block_bad(r, "text: expected a string");
    buf_add_str(&r->text, text->s);
    return 0;
}

static int decode_bytes(struct block_reader *r, const struct json *data, str *ret)
{
    struct buf b;
    if (!json_is(data, JSON_STRING) || data->s.n == 0)
        return block_bad(r, "expected bytes in base64");
    buf_init(&b, data->s.n);
    int rc = base64_decode(&b, data->s);
    *ret = buf_keep(&b, r->arena);
    return rc < 0 ? block_bad(r, "the bytes are not valid base64") : 0;
}

static int read_image(struct block_reader *r, const struct json *block)
{
    static const struct {
        const char *type, *ending;
    } TYPES[] = {
        {"image/png", "png"}, {"image/jpeg", "jpg"}, {"image/gif", "gif"}, {"image/webp", "webp"}};
    str type = json_get_string(block, "mimeType"), uri = json_get_string(block, "uri");
    struct acp_file f = {0};
    const char *ending = NULL;
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        if (str_eq(type, str_from(TYPES[i].type)))
            ending = TYPES[i].ending;
    if (!ending)
        return block_bad(r, "mimeType: expected image/png, image/jpeg, image/gif or image/webp");
    f.name = uri.n > 0 ? name_of_address(r, uri)
                       : arena_printf(r->arena, "image-%zu.%s", r->ret->nfiles + 1, ending);
    int rc = decode_bytes(r, json_get(block, "data"), &f.bytes);
    return rc < 0 ? rc : add_block_file(r, f);
}

static int read_link(struct block_reader *r, const struct json *block)
{
    str uri = json_get_string(block, "uri"), name = json_get_string(block, "name");
    if (uri.n == 0)
        return block_bad(r, "uri: required but missing");
    mention(r, name.n > 0 ? name : name_of_address(r, uri), uri);
    str path = acp_file_path(r->arena, uri);
    return path.n > 0 ? add_block_file(r, (struct acp_file){name_of_address(r, uri), .path = path})
                      : 0;
}

/* A fence that the text does not contain. */
static void add_fenced(struct block_reader *r, str uri, str text)
{
    size_t ticks = 3, run = 0;
    for (size_t i = 0; i < text.n; i++) {
        run = text.p[i] == '`' ? run + 1 : 0;
        ticks = run >= ticks ? run + 1 : ticks;
    }
    buf_printf(&r->context, "\n\n%.*s:\n\n", STR_ARG(uri));
    for (size_t i = 0; i < ticks; i++)
        buf_add_char(&r->context, '`');
    buf_add_char(&r->context, '\n');
    buf_add_str(&r->context, text);
    buf_add_lit(&r->context, str_ends(text, STR("\n")) ? "" : "\n");
    for (size_t i = 0; i < ticks; i++)
        buf_add_char(&r->context, '`');
}

static int read_resource(struct block_reader *r, const struct json *block)
{
    const struct json *resource = json_get(block, "resource");
    const struct json *text = json_get(resource, "text"), *blob = json_get(resource, "blob");
    str uri = json_get_string(resource, "uri");
    struct acp_file f = {0};
    if (uri.n == 0)
        return block_bad(r, "resource.uri: required but missing");
    f.name = name_of_address(r, uri);
    mention(r, f.name, uri);
    if (json_is(text, JSON_STRING) && text->s.n <= ACP_INLINE_MAX) {
        add_fenced(r, uri, text->s);
        return 0;
    }
    if (json_is(text, JSON_STRING))
        f.bytes = arena_str(r->arena, text->s);
    else if (decode_bytes(r, blob, &f.bytes) < 0)
        return r->e->code;
    return add_block_file(r, f);
}

static const struct {
    const char *type;
    int (*read)(struct block_reader *r, const struct json *block);
} BLOCKS[] = {{"text", read_text},
              {"image", read_image},
              {"resource_link", read_link},
              {"resource", read_resource}};

static int read_block(struct block_reader *r, const struct json *block)
{
    str type = json_get_string(block, "type");
    for (size_t i = 0; i < ARRAY_LEN(BLOCKS); i++)
        if (str_eq(type, str_from(BLOCKS[i].type)))
            return BLOCKS[i].read(r, block);
    return block_bad(r, "type: expected text, image, resource_link or resource");
}

static int read_blocks(struct block_reader *r, const struct json *prompt)
{
    int rc = 0;
    if (!json_is(prompt, JSON_ARRAY) || prompt->len == 0 || prompt->len > ACP_BLOCKS_MAX)
        return err_set(r->e, -EINVAL, "prompt: expected 1 to %d blocks", ACP_BLOCKS_MAX);
    for (r->at = 0; rc == 0 && r->at < prompt->len; r->at++)
        rc = read_block(r, json_at(prompt, r->at));
    if (rc == 0)
        buf_add_str(&r->text, buf_str(&r->context));
    if (rc == 0 && (buf_failed(&r->text) || buf_failed(&r->context)))
        rc = err_set(r->e, -EINVAL, "prompt: more than %u bytes of text", ACP_PROMPT_TEXT_MAX);
    if (rc == 0 && r->text.n == 0 && r->ret->nfiles == 0)
        rc = err_set(r->e, -EINVAL, "prompt: it is empty");
    return rc;
}

int acp_blocks_read(struct arena *a, const struct json *prompt, struct acp_blocks *ret,
                    struct err *e)
{
    struct block_reader r = {.arena = a, .ret = ret, .e = e};
    *ret = (struct acp_blocks){0};
    buf_init(&r.text, ACP_PROMPT_TEXT_MAX);
    buf_init(&r.context, ACP_PROMPT_TEXT_MAX);
    int rc = read_blocks(&r, prompt);
    ret->text = buf_keep(&r.text, a);
    buf_done(&r.context);
    return rc;
}
