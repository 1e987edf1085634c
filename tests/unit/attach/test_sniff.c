#include "attach/sniff.h"
#include "support/unit.h"

static const struct {
    str head;
    const char *mime, *part;
} CASES[] = {
    {STR_INIT("\x89PNG\r\n\x1a\n...."), "image/png", "image"},
    {STR_INIT("\xff\xd8\xff\xe0"), "image/jpeg", "image"},
    {STR_INIT("GIF89a...."), "image/gif", "image"},
    {STR_INIT("RIFF....WEBPVP8 "), "image/webp", "image"},
    {STR_INIT("RIFF....WAVEfmt "), "audio/wav", "audio"},
    {STR_INIT("%PDF-1.7\n"), "application/pdf", "file"},
    {STR_INIT("PK\x03\x04"), "application/zip", "file"},
    {STR_INIT("<svg onload=alert(1)>"), "text/plain", "file"},
    {STR_INIT("<!doctype html><script>"), "text/plain", "file"},
    {STR_INIT("caf\xc3\xa9\n"), "text/plain", "file"},
    {STR_INIT(""), "text/plain", "file"},
    {STR_INIT("caf\xe9"), "application/octet-stream", "file"},
    {STR_INIT("a\0b"), "application/octet-stream", "file"},
    {STR_INIT("RIFF"), "text/plain", "file"},
};

TEST(the_bytes_say_what_a_file_is)
{
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const char *mime = sniff_type(CASES[i].head);
        assert_string_equal(mime, CASES[i].mime);
        assert_string_equal(sniff_part(str_from(mime)), CASES[i].part);
    }
}

TEST(a_character_may_be_cut_at_the_end_of_the_head)
{
    char text[SNIFF_BYTES];
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 2, "\xe2\x82", 2);
    assert_string_equal(sniff_type(str_make(text, sizeof text)), "text/plain");
    assert_string_equal(sniff_type(str_make(text + 1, sizeof text - 1)),
                        "application/octet-stream");
}

TEST(the_size_of_a_picture_is_in_its_head)
{
    uint32_t w = 0, h = 0;
    assert_true(sniff_size(STR("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\x86\xa0\0\0\0\2"), &w, &h));
    assert_true(w == 100000 && h == 2);
    assert_true(sniff_size(STR("GIF89a\x02\x01\x04\x03"), &w, &h));
    assert_true(w == 0x102 && h == 0x304);
    assert_true(sniff_size(
        STR("\xff\xd8\xff\xe0\0\x04zz\xff\xc0\0\x11\x08\0\x10\0\x20\x03\x01\x22\0"), &w, &h));
    assert_true(w == 32 && h == 16);
    assert_true(sniff_size(STR("RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x0f\0\0\x1f\0\0"), &w, &h));
    assert_true(w == 16 && h == 32);
    assert_false(sniff_size(STR("\x89PNG\r\n\x1a\n"), &w, &h));
    assert_false(sniff_size(STR("\xff\xd8\xff\xe0\xff\xff"), &w, &h));
}
