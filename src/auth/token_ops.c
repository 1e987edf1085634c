/* API tokens as operations of the service: made here, stored by the directory. */

#include "auth/auth_impl.h"

struct token_op {
    struct auth_op op;
    auth_token_done done;
    char value[TOKEN_MAX];
};

static void token_stored(void *op, const struct err *err, str id)
{
    struct token_op *x = op;
    if (!op_is_back(&x->op))
        return;
    x->done(x->op.ctx, err, id, err->code < 0 ? STR_NONE : str_from(x->value));
    explicit_bzero(x->value, sizeof x->value);
    op_free(&x->op);
}

struct json_strs auth_scope_names(struct arena *a, unsigned scopes)
{
    struct json_strs names = {arena_array(a, 4, sizeof(str)), 0};
    for (unsigned bit = SCOPE_READ; bit <= SCOPE_ADMIN; bit <<= 1)
        if (scopes & bit)
            names.items[names.len++] = auth_scope_name((enum auth_scope)bit);
    return names;
}

struct auth_op *auth_create_token(struct auth *a, const struct auth_new_token *in,
                                  auth_token_done done, void *ctx)
{
    struct token_op *x = auth_op_new(a, sizeof *x, ctx);
    char hash[SHA256_HEX_LEN + 1];
    x->done = done;
    token_make(x->value);
    sha256_hex(str_from(x->value), hash);
    unsigned scopes = in->scopes ? in->scopes : SCOPES_DEFAULT;
    struct change c = {.kind = CHANGE_TOKEN_ADD,
                       .user_id = in->user_id,
                       .token = {.name = in->name,
                                 .hash = str_from(hash),
                                 .scopes = auth_scope_names(&x->op.arena, scopes),
                                 .tools = in->tools,
                                 .workspace_id = in->workspace_id,
                                 .expires_ms = in->expires_ms}};
    op_change(&x->op, &c, token_stored);
    return &x->op;
}
