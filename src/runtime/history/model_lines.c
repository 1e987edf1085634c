#include "runtime/history/model_lines.h"

#include "store/event/event.h"

void model_lines_init(struct model_lines *m)
{
    *m = (struct model_lines){0};
    arena_init(&m->scratch);
}

void model_lines_done(struct model_lines *m)
{
    arena_done(&m->scratch);
}

/* Results are most of a log. Whether one is valid need not be known here. */
static bool is_plainly_part(enum event_type type)
{
    return type == EV_TOOL_DONE || type == EV_RUN_DONE || type == EV_RUN_ERROR;
}

static enum replay_kind look(struct model_lines *m, enum event_type type, str line, size_t *bytes,
                             uint64_t *kept)
{
    if (!replay_reads(type))
        return REPLAY_NOTHING;
    arena_reset(&m->scratch);
    m->nparsed++;
    return replay_kind_of(&m->scratch, type, line, bytes, kept);
}

static void count_message(struct model_lines *m)
{
    m->nmessages++;
    if (m->has_summary)
        m->is_before = --m->kept == 0;
    else
        m->is_before = m->nmessages >= MODEL_LINES_MESSAGES_MAX;
}

/* A summary inside the messages that a newer one keeps is taken, too: then the newer one may be of
 * a truncated log. */
static enum store_choice choose_whole(struct model_lines *m, enum event_type type, str line)
{
    uint64_t kept = 0;
    size_t bytes = 0;
    enum replay_kind kind = look(m, type, line, &bytes, &kept);
    if (kind == REPLAY_SUMMARY && !m->has_summary) {
        m->has_summary = true;
        m->kept = kept;
        m->is_before = kept == 0;
    }
    m->has_answer |= kind == REPLAY_OF_MODEL;
    m->has_user |= kind == REPLAY_OF_USER;
    if (kind == REPLAY_OF_USER || kind == REPLAY_OF_MODEL)
        count_message(m);
    return kind == REPLAY_NOTHING ? STORE_SKIP : STORE_TAKE_WHOLE;
}

/* A question is open until a user writes. */
static bool may_be_question(const struct model_lines *m, enum event_type type)
{
    return !m->has_user && (type == EV_ASK_OPENED || type == EV_ASK_ANSWERED);
}

static enum store_choice choose_said(struct model_lines *m, enum event_type type, str line)
{
    uint64_t kept = 0;
    size_t bytes = 0;
    bool may_matter = type == EV_LEGACY_MESSAGE || type == EV_USER_MESSAGE ||
                      may_be_question(m, type) || (type == EV_LLM_RESPONSE && !m->has_answer);
    enum replay_kind kind = may_matter ? look(m, type, line, &bytes, &kept) : REPLAY_NOTHING;
    bool is_answer = kind == REPLAY_OF_MODEL && !m->has_answer;
    bool is_question = kind == REPLAY_PART && !m->has_user;
    m->said_bytes += bytes;
    m->has_answer |= is_answer;
    m->has_user |= kind == REPLAY_OF_USER;
    if (!is_answer && !is_question && kind != REPLAY_OF_USER)
        return STORE_SKIP;
    m->nbefore += m->has_summary;
    return STORE_TAKE;
}

enum store_choice model_lines_choose(void *model_lines, str line)
{
    struct model_lines *m = model_lines;
    if (m->is_before && m->said_bytes >= REPLAY_SAID_BYTES && m->has_answer)
        return STORE_STOP;
    m->nlooked++;
    struct event_head head;
    if (!event_peek(line, &head))
        return STORE_SKIP;
    if (m->is_before)
        return choose_said(m, head.type, line);
    return is_plainly_part(head.type) ? STORE_TAKE_WHOLE : choose_whole(m, head.type, line);
}
