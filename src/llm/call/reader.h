/* reader.h - the body of an answer on its way into a struct answer: events, or frames of AWS.
 *
 * Embedded in a call. Any chunking; an event is bounded. When `is_dead` becomes true inside of a
 * callback, the rest of the bytes is not delivered. */
#pragma once

#include "llm/provider/provider.h"

#define READER_EVENT_MAX (16u * 1024 * 1024)

struct answer_reader {
    const struct provider_type *type;
    struct answer *answer;
    const bool *is_dead;
    struct sse_parser sse;
    struct aws_frames frames;
};

void answer_reader_init(struct answer_reader *r, const struct provider_type *type,
                        struct answer *an, const bool *is_dead);
/* An event that is damaged or too large fails the answer. */
void answer_reader_feed(struct answer_reader *r, str bytes);
void answer_reader_done(struct answer_reader *r); /* accepts zeros */
