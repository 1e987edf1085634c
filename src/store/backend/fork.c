/* fork.c - decides which lines of a log are copied into a fork. */
#include "base/json/json_scan.h"
#include "store/backend/backend.h"

/* Title, sharing and branches belong to the original: a fork starts private and without a title. */
static bool stays_behind(enum event_type t)
{
    return t == EV_TITLE || t == EV_VISIBILITY || t == EV_PARTICIPANTS || t == EV_PROMOTED ||
           t == EV_TRASHED;
}

static bool is_message(const struct event_head *head, str line)
{
    if (head->type == EV_RUN_DONE)
        return !event_is_waiting(line);
    if (head->type != EV_LEGACY_MESSAGE)
        return head->type == EV_USER_MESSAGE;
    str role = json_scan_plain(json_scan_field(line, STR("role")));
    return str_eq(role, STR("user")) || str_eq(role, STR("assistant"));
}

enum fork_verdict fork_line(struct fork_filter *f, str line)
{
    struct event_head head;
    if (f->at_message >= 0 && f->seen >= f->at_message)
        return FORK_STOP;
    if (!event_scan(line, &head) || stays_behind(head.type))
        return FORK_SKIP;
    if (!is_message(&head, line))
        return FORK_COPY;
    f->seen++;
    return f->seen == f->at_message ? FORK_COPY_LAST : FORK_COPY;
}
