/* folder_record.h - the lines of chat.jsonl and notes.jsonl, and the events they represent.
 *
 * chat.jsonl of the folder layout begins with a conversation-header; every other line is one event.
 * Text of people and models is a "message" that other programs understand, with the event itself in
 * its member "event"; a failed run and a change of sharing are messages of the role system; all
 * other events are records of type "event" with the same member. A message without that member was
 * written by another program and is read as a message of the older log format; other records are
 * returned unchanged. Pure; any thread. */
#pragma once

#include "base/bytes/hash.h"
#include "store/event/event.h"
#include "store/store.h"

struct folder_place { /* values shared by all lines of one conversation */
    str name;         /* of its folder */
    str thread_id, conversation_id, channel;
};

enum folder_file { FOLDER_CHAT, FOLDER_NOTES };

/* Line 1 of a file, with its line feed; empty when the line would be too long. */
str folder_header(struct arena *a, const struct store *s, const struct folder_place *p,
                  enum folder_file file, const struct conv_create *spec, int64_t now_ms);
/* Parses line 1 of chat.jsonl into the arena. False: the line is not a header. */
bool folder_header_read(struct arena *a, str line, struct folder_place *ret);

/* The line for an event; both with their line feed. */
str folder_record(struct arena *a, const struct folder_place *p, str event);
/* The event that a line represents: a part of the line, or made in the arena. */
str folder_event(struct arena *a, str line);

/* The line of notes.jsonl for an event of type note, with a line feed. */
str folder_note(struct arena *a, const struct json *event);
/* The event of a line of notes.jsonl, without line feed; empty when the line is not a note. */
str folder_note_event(struct arena *a, str line);
/* Two events of type note with the same key are the same note; hex, with a NUL. */
void folder_note_key(struct arena *a, str event, char ret[SHA256_HEX_LEN + 1]);

/* The id of a conversation whose header has this thread id: the thread id itself when it is a valid
 * id, otherwise thread_<its valid characters>-<8 hex of its hash>. */
str folder_id(struct arena *a, str thread_id);
/* The thread in the name of a folder; the whole name when it has a different form. */
str folder_thread(str name);
/* conversation-<utc>-<thread>, with only the characters that are valid in a path. */
str folder_name(struct arena *a, int64_t created_ms, str thread_id);
