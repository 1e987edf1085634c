/* fuzz_import.c - any bytes as a file to import, in every format.
 *
 * Whatever the file holds: importing ends, every event it gives is one that a store takes,
 * ids are valid, and what was not taken over is counted. Every event survives the way through
 * a line of the folder layout unchanged, and every exporter writes it. */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/event/event.h"
#include "store/folder/folder_record.h"
#include "store/integrity.h"
#include "transfer/export.h"
#include "transfer/import.h"

enum { INPUT_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_bytes(void *ctx, str piece)
{
    *(size_t *)ctx += piece.n;
    return 0;
}

/* Takes the line of the event as stored, with its line feed. */
static void check_record(struct arena *a, str line)
{
    struct folder_place place = {.thread_id = STR("t"), .conversation_id = STR("c")};
    str record = folder_record(a, &place, line);
    assert(record.n && record.p[record.n - 1] == '\n');
    str back = folder_event(a, str_slice(record, 0, record.n - 1));
    assert(str_eq(back, str_slice(line, 0, line.n - 1)));
}

static void check_chain(struct arena *a, str line)
{
    struct chain chain;
    str body, hash;
    chain_start(&chain, STR("{}\n"));
    chain_seal(&chain, a, &line);
    assert(chain_split(str_slice(line, 0, line.n - 1), &body, &hash, a));
    assert(str_eq(hash, str_from(chain.head)));
}

static void check_batch(const struct import_batch *batch, struct exporter *const *exporters)
{
    struct arena a;
    arena_init(&a);
    if (batch->is_new)
        assert(store_id_valid(batch->conv.id));
    for (size_t i = 0; i < batch->n; i++) {
        struct err e = {0};
        str line;
        arena_reset(&a);
        assert(event_prepare(&a, batch->events[i], 0, &line, &e) == 0);
        assert(str_find_char(line, '\n') == (ptrdiff_t)line.n - 1);
        check_record(&a, line);
        check_chain(&a, line);
        for (int f = EXPORT_MARKDOWN; f <= EXPORT_JSONL; f++)
            assert(exporter_event(exporters[f], str_slice(line, 0, line.n - 1)) == 0);
    }
    arena_done(&a);
}

static void run(const char *path, enum import_kind kind)
{
    static const struct conv CONV = {.id = STR_INIT("conv_x")};
    struct exporter *exporters[EXPORT_JSONL + 1];
    struct import_report report;
    struct import_batch batch;
    struct importer *im;
    size_t written = 0;
    import_report_init(&report);
    for (int f = EXPORT_MARKDOWN; f <= EXPORT_JSONL; f++)
        exporters[f] = exporter_new((enum export_format)f, &CONV, NULL, count_bytes, &written);
    assert(importer_open(path, kind, &report, &im, NULL) == 0);
    while (importer_next(im, &batch) > 0) {
        check_batch(&batch, exporters);
        assert(importer_progress(im) <= 1);
    }
    importer_close(im);
    for (int f = EXPORT_MARKDOWN; f <= EXPORT_JSONL; f++) {
        assert(exporter_end(exporters[f]) == 0);
        exporter_free(exporters[f]);
    }
    assert(written > 0);
    assert(report.lost >= (int64_t)report.nlosses);
    import_report_done(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size > INPUT_MAX)
        return 0;
    int fd = memfd_create("import", MFD_CLOEXEC);
    assert(fd >= 0);
    assert(write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (int kind = IMPORT_ANY; kind <= IMPORT_CLAUDE_AI; kind++)
        run(path, (enum import_kind)kind);
    close(fd);
    return 0;
}
