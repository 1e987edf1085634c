/* pdf_output.h - reads what pdfinfo and `pdftotext -bbox` print. Both print words of the PDF
 * between their own, so nothing here is believed beyond its form: a PDF can only lie about itself.
 * Pure. */
#pragma once

#include "base/arena.h"
#include "media/media.h"

/* The number of pages, and sizes of the pages from 1 on as they are seen, turned and cropped.
 * False: there is no number, or no size of page 1. */
bool pdf_output_pages(struct arena *a, str output, struct media_pages *ret);
/* Words with their places, in the order of the output; at most MEDIA_WORDS_MAX. */
void pdf_output_words(struct arena *a, str output, struct media_words *ret);
