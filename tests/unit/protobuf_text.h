/* SPDX-License-Identifier: MIT
 *
 * Messages of protobuf, written as text: fields by their numbers, "8: 5" a number, "10 = 'name'" a
 * text, "5 ! 2.5" a double and "11 { ... }" a message.
 */
#ifndef HB_TEST_PROTOBUF_TEXT_H
#define HB_TEST_PROTOBUF_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "write/pftrace_packets.h"

enum { PROTOBUF_MOST = 8192 }; /* bytes of a message in others */

static inline const char *protobuf_fields(const char *text, hb_message *to)
{
    for (;;) {
        char inside[PROTOBUF_MOST], *behind;
        text += strspn(text, " \n");
        if (!*text || *text == '}') return text;
        uint32_t field = (uint32_t)strtoul(text, &behind, 10);
        assert_true(behind > text);
        text = behind + strspn(behind, " ");
        char how = *text++;
        text += strspn(text, " ");
        if (how == ':') {
            bool minus = *text == '-';
            hb_message_number(to, field,
                              minus ? (uint64_t)strtoll(text, &behind, 10)
                                    : (uint64_t)strtoull(text, &behind, 10));
            text = behind;
        } else if (how == '!') {
            double value = strtod(text, &behind);
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            hb_message_fixed(to, field, bits);
            text = behind;
        } else if (how == '=') {
            size_t n = strcspn(text + 1, "'");
            hb_message_bytes(to, field, text + 1, n);
            text += n + 2;
        } else {
            hb_message m = HB_MESSAGE_IN(inside);
            assert_int_equal(how, '{');
            text = protobuf_fields(text, &m) + 1;
            hb_message_inside(to, field, inside, &m);
        }
    }
}

/** How many bytes; `size`: room for them. */
static inline size_t protobuf_of(const char *text, char *bytes, size_t size)
{
    hb_message m = {bytes, bytes + size - 32, false};
    assert_int_equal(*protobuf_fields(text, &m), 0);
    assert_false(m.full);
    return (size_t)(m.at - bytes);
}

#endif
