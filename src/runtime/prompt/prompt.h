/* prompt.h - the system prompt, composed of four layers.
 *
 * 1 identity: context skills up to priority 10. 2 context: the other context skills, the
 * user, participants, the workspace, the instructions of its admins,
 * of the project and of the user. 3 apps: installed apps with their trust scores, the
 * instructions of their servers, agent profiles, tools that are not listed, and the app that the
 * user has open. 4 the matched skill. A pure function: equal input gives equal bytes. Parts that
 * change from message to message (date, hidden tools, app state, matched skill) are separate, so
 * that the rest is a prefix that providers can cache.
 *
 * Every part stands in a <prompt-layer> that names its author: nb, the owner of the server, the
 * admins of the workspace, a person, or the server of an app, which is a third party. All
 * third-party text goes through escape.h, so that no text can pretend to have another author.
 * Any thread. */
#pragma once

#include "skill/skill.h"
#include "tools/tool_selection.h"

#define PROMPT_APPS_MAX         200
#define PROMPT_PARTICIPANTS_MAX 50
#define PROMPT_NAME_MAX         128   /* bytes of a name */
#define PROMPT_DESCRIPTION_MAX  500   /* bytes of the description of an app or agent */
#define PROMPT_INSTRUCTIONS_MAX 4000  /* bytes of the instructions of one server */
#define PROMPT_SAID_MAX         24000 /* bytes of the instructions of all servers */
#define PROMPT_AGENTS_MAX       50
#define PROMPT_STATE_TOKENS_MAX 4096
#define PROMPT_GUIDE_MAX        12000 /* bytes of an app's guide */
#define PROMPT_TRUST_MIN        50    /* below it, state and guide stay out */

struct prompt_person {
    str id, name;
};

struct prompt_app {
    str name;   /* of the source */
    str bundle; /* name of the package, or empty */
    bool has_ui;
    str ui_name;
    int trust_score;  /* 0 to 100; -1 = unknown */
    str state;        /* "stopped" or "dead"; empty = usable, or about to be */
    str description;  /* of its manifest */
    str instructions; /* of its server (MCP), approved; or empty */
};

struct prompt_agent { /* a profile that nb__delegate knows */
    str name, description;
};

struct prompt_focus { /* the app that the user has open */
    str app;
    int trust_score;
    str state;   /* JSON text, or empty */
    str summary; /* instead of a state that is too long */
    str guide;   /* how to use it, or empty */
};

struct prompt_input {
    const struct skill *const *context; /* as skills_context gives them */
    size_t n_context;
    str identity; /* of the workspace, instead of the skill "soul"; or empty */
    bool is_sole; /* one person: the owner of the server also sets up the workspace */

    str user_name, time_zone;                 /* each may be empty */
    str date;                                 /* today for the user: "Wednesday, 2026-03-25" */
    const struct prompt_person *participants; /* of a shared conversation */
    size_t n_participants;
    str workspace_name; /* may be empty */
    /* Instructions: of the workspace, and of the person whose messages are the only ones of the
     * run. Each may be empty. */
    str workspace_instructions, personal_instructions;
    str project_name, project_instructions, project_author; /* empty = none; author may be */
    bool has_project_files;

    const struct prompt_app *apps; /* in any order */
    size_t n_apps;
    const struct prompt_agent *agents; /* in the order of the settings */
    size_t n_agents;
    const struct tool_selection_hidden
        *hidden; /* tools that are not listed, by source (tool_selection.h) */
    size_t n_hidden;
    const struct prompt_focus *focus; /* or NULL */
    str directory;                    /* of the person's terminal, where commands run; or empty */
    const struct skill *matched;      /* or NULL */
};

struct prompt_layer {
    int number; /* 1 to 4 */
    const char *name;
    str author;    /* "nb", "the admins of this workspace (skill house)" */
    str text;      /* with its <prompt-layer> */
    size_t tokens; /* an estimate */
    bool is_volatile;
};

struct prompt {
    str stable, volatile_part; /* the layers joined by "\n\n---\n\n" */
    struct prompt_layer *layers;
    size_t n_layers;
    size_t tokens;
};

struct prompt prompt_compose(struct arena *a, const struct prompt_input *in);

size_t prompt_estimate_tokens(str text); /* a quarter of the characters, rounded up */
