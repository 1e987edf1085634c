#include "http/assets.h"

/* The generated table replaces this one at link time. */
extern const struct asset_table assets_embedded;
__attribute__((weak)) const struct asset_table assets_embedded = {NULL, 0};

const struct asset *asset_table_find(const struct asset_table *table, str path)
{
    size_t low = 0, high = table->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(table->items[middle].path, path);

        if (order == 0)
            return &table->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct asset *assets_find(str path)
{
    return asset_table_find(&assets_embedded, path);
}
