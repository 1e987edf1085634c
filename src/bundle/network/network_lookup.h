/* network_lookup.h - resolves names to addresses on a few threads.
 *
 * For a process with a poll loop: answers are collected when the descriptor becomes readable. */
#pragma once

#include "bundle/network/network_rules.h"

#define LOOKUP_WAITING_MAX 64
#define LOOKUP_IPS_MAX     8

struct lookup_answer {
    uint64_t ticket;
    size_t nips;     /* 0: no such name, or no answer */
    bool is_failure; /* no server answered; a retry may help */
    struct network_ip ips[LOOKUP_IPS_MAX];
};

struct lookups;

/* The threads start with the first question. NULL: no descriptor available. Never freed. */
struct lookups *lookups_new(void);
int lookups_fd(const struct lookups *l); /* readable: there are answers */
/* Returns false when LOOKUP_WAITING_MAX questions already wait. host: at most NETWORK_HOST_MAX
 * bytes. */
bool lookups_ask(struct lookups *l, uint64_t ticket, str host);
bool lookups_take(struct lookups *l, struct lookup_answer *ret); /* false: no more for now */
