/* SPDX-License-Identifier: MIT
 *
 * What a teammate need not know: names of hosts and users, directories, addresses, secrets, the
 * environment. Each gets one replacement, the same wherever it stands, so that what was told apart
 * before is told apart after, and counts and times do not change.
 *
 * Everything is read twice. The first time hosts and users are learnt from where they are known to
 * stand - file names, "host_name", home directories - and only then are they found in other texts.
 */
#ifndef HB_PACK_REDACTOR_H
#define HB_PACK_REDACTOR_H

#include "base/base.h"
#include "base/str.h"
#include "base/string_table.h"

#define HB_REDACTION_MAP(X) \
    X(HOST, "host")         \
    X(USER, "user")         \
    X(DIRECTORY, "dir")     \
    X(ADDRESS, "address")   \
    X(SECRET, "secret")     \
    X(ENVIRONMENT, "environment")

typedef enum hb_redaction_kind {
#define HB_REDACTION_ENUM(name, text) HB_REDACTED_##name,
    HB_REDACTION_MAP(HB_REDACTION_ENUM)
#undef HB_REDACTION_ENUM
        HB_REDACTED_KINDS
} hb_redaction_kind;

/** As it stands in replacements. */
const char *hb_redaction_name(hb_redaction_kind kind);

/** Something that was found. */
typedef struct hb_redaction_found {
    uint32_t number; /* of its replacement among its kind, from 1 */
    uint64_t count;
    uint32_t files, last_file; /* how many; the number of the last, from 1 */
    hb_string_id place;        /* the first file, as it was named: of hb_redactor.places */
} hb_redaction_found;

typedef struct hb_redactor {
    hb_texts texts;                      /* each one's kind, a byte, and what was found */
    HB_VEC(hb_redaction_found) findings; /* by the id of the text; [0] is none */
    hb_texts places;
    uint32_t counts[HB_REDACTED_KINDS];
    bool begins_name[256]; /* bytes that a host's or a user's name begins with */
    bool learning;         /* the first time */
    bool failed;           /* out of memory */
    hb_string_id place;    /* the file that is read */
    uint32_t file;         /* its number, from 1 */
} hb_redactor;

bool hb_redactor_init(hb_redactor *redactor);
void hb_redactor_free(hb_redactor *redactor);

/** Which file is read from now on. */
void hb_redactor_begin_file(hb_redactor *redactor, const char *name);

/** The first time is over: hosts and users are numbered in the order of their names. */
void hb_redactor_learnt(hb_redactor *redactor);

/** Where a host or user is named. What is too short or too common is not looked for in texts. */
void hb_redactor_learn(hb_redactor *redactor, hb_redaction_kind kind, hb_str name);

/** Learns what the name of a trace or an event file tells. */
void hb_redactor_learn_file_name(hb_redactor *redactor, hb_str name);

/** Counts something that was found, and appends what stands for it. */
void hb_redactor_replace(hb_redactor *redactor, hb_redaction_kind kind, hb_str found, hb_buf *out);

/** The host or user whose name begins at `text`, followed by no letter or digit; its length, 0:
 * none. */
size_t hb_redactor_match(const hb_redactor *redactor, hb_str text, hb_redaction_kind *kind);

/** Appends the text with its replacements. `key`: of the member whose value it is; len 0: none.
 * False when nothing was found: it is appended as it is. */
bool hb_redact_text(hb_redactor *redactor, hb_str key, hb_str text, hb_buf *out);

/** Whether a line begins a private key that goes on behind it. */
bool hb_opens_private_key(hb_str line);

/** Appends the name of a file in the pack: its worker's host goes, however short it is; the end by
 * which it is a trace stays. */
void hb_redact_file_name(hb_redactor *redactor, hb_str name, hb_buf *out);

/** What the name of a JSON member says of its value. */
typedef enum hb_key_class {
    HB_KEY_PLAIN,
    HB_KEY_PUBLIC,      /* what looks like a secret is none: an id */
    HB_KEY_TELLING,     /* a secret, a host, a user */
    HB_KEY_ENVIRONMENT, /* all that is in it is replaced */
} hb_key_class;

hb_key_class hb_key_class_of(hb_str key);

/** What was found and what stands for it, which has room for 32 bytes. `id`: of hb_redactor.texts.
 */
hb_redaction_kind hb_redaction_kind_of(const hb_redactor *redactor, hb_string_id id, hb_str *found);
void hb_redaction_text(const hb_redactor *redactor, hb_string_id id, char *text);

#endif
