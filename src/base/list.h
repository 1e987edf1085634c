/* list.h - an intrusive doubly linked list.
 *
 * The head is a list_node that points to itself when empty. A node that is in no list
 * points to itself too (list_init), so list_del is safe to repeat. */
#pragma once

#include "base/str.h"

struct list_node {
    struct list_node *prev, *next;
};

#define LIST_HEAD_INIT(name)                                                                       \
    {                                                                                              \
        &(name), &(name)                                                                           \
    }

static inline void list_init(struct list_node *n)
{
    n->prev = n->next = n;
}

static inline bool list_empty(const struct list_node *head)
{
    return head->next == head;
}

static inline void list_insert_after(struct list_node *where, struct list_node *n)
{
    n->prev = where;
    n->next = where->next;
    where->next->prev = n;
    where->next = n;
}

static inline void list_push(struct list_node *head, struct list_node *n) /* at the end */
{
    list_insert_after(head->prev, n);
}

static inline void list_push_front(struct list_node *head, struct list_node *n)
{
    list_insert_after(head, n);
}

static inline void list_del(struct list_node *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    list_init(n);
}

static inline struct list_node *list_pop(struct list_node *head) /* first, or NULL */
{
    if (list_empty(head))
        return NULL;
    struct list_node *n = head->next;
    list_del(n);
    return n;
}

static inline size_t list_count(const struct list_node *head)
{
    size_t n = 0;
    for (const struct list_node *it = head->next; it != head; it = it->next)
        n++;
    return n;
}

#define LIST_ENTRY(node, type, member) CONTAINER_OF(node, type, member)

/* Safe against removal of the current entry. */
#define LIST_FOREACH(it, head)                                                                     \
    for (struct list_node *it = (head)->next, *it##_next = it->next; it != (head);                 \
         it = it##_next, it##_next = it->next)

/* The same with the entries themselves: LIST_EACH (w, &hub->watchers, struct watcher, node). */
#define LIST_EACH(it, head, type, member)                                                          \
    for (type *it = LIST_ENTRY((head)->next, type, member),                                        \
              *it##_next = LIST_ENTRY(it->member.next, type, member);                              \
         &it->member != (head);                                                                    \
         it = it##_next, it##_next = LIST_ENTRY(it->member.next, type, member))
