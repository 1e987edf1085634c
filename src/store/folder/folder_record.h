/* folder_record.h - the lines of chat.jsonl and notes.jsonl, and the events they stand for.
 *
 * chat.jsonl of the folder layout begins with a conversation-header; every further line is
 * one event. What people and models said is a "message" that other readers understand, with
 * the event itself in its member "event"; a failed run and a change of sharing are messages of the
 * role system; everything else is a record of type "event" with the same member. A message without
 * that member was written by somebody else and is read as a message of the older log format; other
 * records pass as they are. Pure; any thread. */
#pragma once

#include "base/bytes/hash.h"
#include "store/event/event.h"
#include "store/store.h"

struct folder_place { /* what the lines of one conversation have in common */
    str name;         /* of its folder */
    str thread_id, conversation_id, channel;
};

enum folder_file { FOLDER_CHAT, FOLDER_NOTES };

/* Line 1 of a file, with its line feed; empty when it would be too long. */
str folder_header(struct arena *a, const struct store *s, const struct folder_place *p,
                  enum folder_file file, const struct conv_create *spec, int64_t now_ms);
/* Line 1 of chat.jsonl taken apart, into the arena. False: it is none. */
bool folder_header_read(struct arena *a, str line, struct folder_place *ret);

/* The line for an event; both with their line feed. */
str folder_record(struct arena *a, const struct folder_place *p, str event);
/* The event a line stands for: a part of it, or made in the arena. */
str folder_event(struct arena *a, str line);

/* The line of notes.jsonl for an event of type note, with a line feed. */
str folder_note(struct arena *a, const struct json *event);
/* Back again, without line feed; empty when the line is no note. */
str folder_note_event(struct arena *a, str line);
/* Two events of type note with the same key are the same note; hex, with a NUL. */
void folder_note_key(struct arena *a, str event, char ret[SHA256_HEX_LEN + 1]);

/* The id of a conversation whose header names this thread: the thread id itself when it may
 * be an id, otherwise thread_<what can be kept of it>-<8 hex of its hash>. */
str folder_id(struct arena *a, str thread_id);
/* The thread that the name of a folder speaks of; all of it when it is another kind of name. */
str folder_thread(str name);
/* conversation-<utc>-<thread>, from what a path may hold. */
str folder_name(struct arena *a, int64_t created_ms, str thread_id);
