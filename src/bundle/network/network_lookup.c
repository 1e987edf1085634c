#include "bundle/network/network_lookup.h"

#include <netdb.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define THREADS_MAX 4

struct question {
    uint64_t ticket;
    char host[NETWORK_HOST_MAX + 1];
};

/* Both rings have room for all: a question is counted until its answer is taken. */
struct lookups {
    pthread_mutex_t lock;
    pthread_cond_t asked;
    struct question questions[LOOKUP_WAITING_MAX];
    struct lookup_answer answers[LOOKUP_WAITING_MAX];
    size_t nquestions, nanswers, nheld; /* nheld: asked and not taken */
    size_t nthreads, nidle;
    int event;
};

static void resolve(const struct question *q, struct lookup_answer *ret)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    *ret = (struct lookup_answer){.ticket = q->ticket};
    int rc = getaddrinfo(q->host, NULL, &hints, &all);
    ret->is_failure = rc == EAI_AGAIN || rc == EAI_SYSTEM || rc == EAI_MEMORY;
    if (rc != 0)
        return;
    for (const struct addrinfo *i = all; i && ret->nips < LOOKUP_IPS_MAX; i = i->ai_next) {
        if (network_ip_from(i->ai_addr, &ret->ips[ret->nips]))
            ret->nips++;
    }
    freeaddrinfo(all);
}

static void wait_for_question(struct lookups *l, struct question *ret)
{
    pthread_mutex_lock(&l->lock);
    l->nidle++;
    while (l->nquestions == 0)
        pthread_cond_wait(&l->asked, &l->lock);
    l->nidle--;
    *ret = l->questions[0];
    memmove(l->questions, l->questions + 1, --l->nquestions * sizeof(*l->questions));
    pthread_mutex_unlock(&l->lock);
}

static void *answer_questions(void *ctx)
{
    struct lookups *l = ctx;
    for (;;) {
        struct question q;
        struct lookup_answer answer;
        uint64_t one = 1;
        wait_for_question(l, &q);
        resolve(&q, &answer);
        pthread_mutex_lock(&l->lock);
        l->answers[l->nanswers++] = answer;
        pthread_mutex_unlock(&l->lock);
        (void)!write(l->event, &one, sizeof(one));
    }
    return NULL;
}

struct lookups *lookups_new(void)
{
    struct lookups *l = xcalloc(1, sizeof(*l));
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->asked, NULL);
    l->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->event >= 0)
        return l;
    free(l);
    return NULL;
}

int lookups_fd(const struct lookups *l)
{
    return l->event;
}

static void add_thread(struct lookups *l)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attr, answer_questions, l) == 0)
        l->nthreads++;
    pthread_attr_destroy(&attr);
}

bool lookups_ask(struct lookups *l, uint64_t ticket, str host)
{
    pthread_mutex_lock(&l->lock);
    bool is_taken = l->nheld < LOOKUP_WAITING_MAX && host.n <= NETWORK_HOST_MAX;
    if (is_taken) {
        struct question *q = &l->questions[l->nquestions++];
        *q = (struct question){.ticket = ticket};
        memcpy(q->host, host.p, host.n);
        l->nheld++;
        if (l->nidle < l->nquestions && l->nthreads < THREADS_MAX)
            add_thread(l);
        pthread_cond_signal(&l->asked);
    }
    bool can_answer = l->nthreads > 0;
    pthread_mutex_unlock(&l->lock);
    return is_taken && can_answer;
}

bool lookups_take(struct lookups *l, struct lookup_answer *ret)
{
    uint64_t count;
    (void)!read(l->event, &count, sizeof(count));
    pthread_mutex_lock(&l->lock);
    bool is_one = l->nanswers > 0;
    if (is_one) {
        *ret = l->answers[0];
        memmove(l->answers, l->answers + 1, --l->nanswers * sizeof(*l->answers));
        l->nheld--;
    }
    pthread_mutex_unlock(&l->lock);
    return is_one;
}
