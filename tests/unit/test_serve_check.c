/* SPDX-License-Identifier: MIT
 *
 * Who may ask `hipboard serve`, and for what: each refusal beside what is just let through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "serve_check.h"

static const serve_door door = {"10.1.2.3", "node7", "0123abcd"};

/* What is fine but for what the test changes. */
static const serve_request fine = {"GET", "/hb/about", "localhost:6007", "same-origin", "0123abcd"};

static void assert_status(serve_request r, unsigned status)
{
    serve_refusal refusal = serve_check(&door, &r);
    if (refusal.status != status)
        fail_msg("%s %.40s, host %s, site %s, token %s: %u, not %u", r.method, r.address, r.host,
                 r.site, r.token, refusal.status, status);
    assert_int_equal(refusal.text != NULL, status != 0);
}

static void hosts_are_this_machine_s(void **state)
{
    static const char *const own[] = {"localhost",       "LocalHost",
                                      "localhost:1",     "127.0.0.1",
                                      "127.0.0.1:8080",  "10.1.2.3",
                                      "8.8.8.8",         "10.1.2.3:6007",
                                      "[::1]",           "[::1]:6007",
                                      "node7",           "NODE7:99",
                                      "255.255.255.255", "[2001:db8::a:b:1:2]",
                                      "127.0.0.1:"};
    static const char *const foreign[] = {
        "",
        "evil.example",
        "localhost.evil.example",
        "localhos",
        "xlocalhost",
        "node77",
        "node",
        "node7.evil",
        "::1",
        "[::1",
        "[::1]x",
        "[127.0.0.1]",
        "127.0.0.1x",
        "127.0.0",
        "256.0.0.1",
        "[",
        "[]",
        "[:::1]",
        "10.1.2.3x",
        "1.2.3.4.evil:80",
        "127.0.0.1.",
        "[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc]"};
    serve_request r = fine;
    (void)state;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        r.host = own[i];
        assert_status(r, 0);
    }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        r.host = foreign[i];
        assert_status(r, 421);
    }
    /* a machine without a name, and a name that it listens at */
    serve_door other = {"here.example", "", "0123abcd"};
    r.host = "";
    assert_int_equal(serve_check(&other, &r).status, 421);
    r.host = ":80";
    assert_int_equal(serve_check(&other, &r).status, 421);
    r.host = "here.example:80";
    assert_int_equal(serve_check(&other, &r).status, 0);
}

static void only_reading_and_only_with_the_token(void **state)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "get", "", "HEADS"};
    static const char *const tokens[] = {"",         "0123abc",  "0123abcde", "0123abcD",
                                         "1123abcd", "01234bcd", "abcd0123"};
    serve_request r = fine;
    (void)state;
    assert_status(r, 0);
    r.method = "HEAD";
    assert_status(r, 0);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        r.method = methods[i];
        assert_status(r, 405);
    }
    r = fine;
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        r.token = tokens[i];
        assert_status(r, 401);
    }
}

/* The page itself needs no token, and may be opened from anywhere. */
static void the_page_is_open_and_data_are_not(void **state)
{
    static const struct {
        const char *address;
        bool open;
    } cases[] = {{"/", true},          {"/index.html", true},
                 {"/page.js", true},   {"/page.css", true},
                 {"/?x=1", true},      {"/page.js?v=2", true},
                 {"/page.jsx", false}, {"/page", false},
                 {"/page.js/", false}, {"//", false},
                 {"/hb/about", false}, {"/index.htm", false},
                 {"/favicon", false},  {"/hb/about?/page.js", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        serve_request r = {"GET", cases[i].address, "localhost", "", ""};
        assert_status(r, cases[i].open ? 0 : 401);
        r.site = "cross-site";
        assert_status(r, cases[i].open ? 0 : 403);
        r.token = door.token;
        assert_status(r, cases[i].open ? 0 : 403);
        r.site = "same-site";
        assert_status(r, 0);
    }
}

static void addresses_begin_with_a_slash_and_have_an_end(void **state)
{
    static char address[4099];
    serve_request r = fine;
    (void)state;
    r.address = address;
    for (size_t size = 4095; size < sizeof address; size++) {
        memset(address, 'a', size);
        address[0] = '/';
        address[size] = 0;
        assert_status(r, size > 4096 ? 414 : 0);
    }
    r.address = "hb/about";
    assert_status(r, 400);
    r.address = "";
    assert_status(r, 400);
    r.address = "http://localhost/";
    assert_status(r, 400);
}

/* The first one that there is: who is not to ask at all hears nothing of tokens. */
static void refusals_come_in_their_order(void **state)
{
    char address[5000];
    serve_request r = {"POST", "x", "evil", "cross-site", ""};
    (void)state;
    assert_status(r, 400);
    memset(address, '/', sizeof address - 1);
    address[sizeof address - 1] = 0;
    r.address = address;
    assert_status(r, 405);
    r.method = "GET";
    assert_status(r, 421);
    r.host = "localhost";
    assert_status(r, 414);
    r.address = "/hb/about";
    assert_status(r, 403);
    r.site = "";
    assert_status(r, 401);
}

static void each_byte_changes_the_tag(void **state)
{
    char tags[41][SERVE_TAG], other[SERVE_TAG], body[40];
    (void)state;
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (char)(i * 7 + 1);
    for (size_t size = 0; size <= sizeof body; size++) {
        serve_tag(body, size, tags[size]);
        assert_int_equal(strlen(tags[size]), 18);
        assert_true(tags[size][0] == '"' && tags[size][17] == '"');
        serve_tag(body, size, other);
        assert_string_equal(tags[size], other);
        for (size_t before = 0; before < size; before++)
            assert_string_not_equal(tags[before], tags[size]);
        for (size_t i = 0; i < size; i++) {
            body[i] ^= 0x40;
            serve_tag(body, size, other);
            assert_string_not_equal(tags[size], other);
            body[i] ^= 0x40;
        }
    }
}

static void who_has_the_tag_is_told_so(void **state)
{
    (void)state;
    assert_true(serve_has_tag("\"12\"", "\"12\""));
    assert_true(serve_has_tag("W/\"12\"", "\"12\""));
    assert_true(serve_has_tag("\"11\", \"12\"", "\"12\""));
    assert_true(serve_has_tag("*", "\"12\""));
    assert_false(serve_has_tag("", "\"12\""));
    assert_false(serve_has_tag("\"123\"", "\"12\""));
    assert_false(serve_has_tag("**", "\"12\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_this_machine_s),
        cmocka_unit_test(only_reading_and_only_with_the_token),
        cmocka_unit_test(the_page_is_open_and_data_are_not),
        cmocka_unit_test(addresses_begin_with_a_slash_and_have_an_end),
        cmocka_unit_test(refusals_come_in_their_order),
        cmocka_unit_test(each_byte_changes_the_tag),
        cmocka_unit_test(who_has_the_tag_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
