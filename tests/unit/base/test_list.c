#include "base/list.h"
#include "support/unit.h"

struct item {
    int v;
    struct list_node node;
};

/* The values in order as decimal digits: 1, 2, 3 reads 123. */
static int digits(struct list_node *head)
{
    int all = 0;
    LIST_FOREACH (it, head)
        all = all * 10 + LIST_ENTRY(it, struct item, node)->v;
    return all;
}

TEST(order)
{
    struct list_node head = LIST_HEAD_INIT(head);
    struct item a = {1}, b = {2}, c = {3};
    assert_true(list_empty(&head));
    assert_null(list_pop(&head));
    list_push(&head, &b.node);
    list_push(&head, &c.node);
    list_push_front(&head, &a.node);
    assert_int_equal(digits(&head), 123);
    assert_ptr_equal(list_pop(&head), &a.node);
    assert_int_equal(digits(&head), 23);
    list_insert_after(&b.node, &a.node);
    assert_int_equal(digits(&head), 213);
}

TEST(del_may_be_repeated)
{
    struct list_node head = LIST_HEAD_INIT(head);
    struct item a = {1}, b = {2};
    list_init(&a.node);
    list_del(&a.node);
    list_push(&head, &a.node);
    list_push(&head, &b.node);
    list_del(&a.node);
    list_del(&a.node);
    assert_true(list_empty(&a.node));
    assert_int_equal(digits(&head), 2);
}

TEST(removal_while_walking)
{
    struct list_node head = LIST_HEAD_INIT(head);
    struct item items[6];
    for (int i = 0; i < 6; i++) {
        items[i].v = i + 1;
        list_push(&head, &items[i].node);
    }
    LIST_FOREACH (it, &head)
        if (LIST_ENTRY(it, struct item, node)->v % 2)
            list_del(it);
    assert_int_equal(digits(&head), 246);
}

TEST(entries_may_be_removed_while_they_are_walked)
{
    struct list_node head = LIST_HEAD_INIT(head);
    struct item a = {1}, b = {2}, c = {3};
    LIST_EACH (it, &head, struct item, node)
        fail();
    list_push(&head, &a.node);
    list_push(&head, &b.node);
    list_push(&head, &c.node);
    int seen = 0;
    assert_int_equal(list_count(&head), 3);
    LIST_EACH (it, &head, struct item, node) {
        seen = seen * 10 + it->v;
        if (it->v != 2)
            list_del(&it->node);
    }
    assert_int_equal(seen, 123);
    assert_int_equal(digits(&head), 2);
}
