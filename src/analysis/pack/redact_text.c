/* SPDX-License-Identifier: MIT
 *
 * Finds what is to be replaced in a text, from left to right: secrets by their form, by the name
 * before them and by chance-like letters; directories of absolute paths; addresses; names learnt.
 */
#include <ctype.h>
#include <math.h>
#include <strings.h>

#include "pack/redactor.h"

typedef struct cursor {
    hb_redactor *redactor;
    hb_str text;
    hb_buf *out;     /* NULL while learning */
    uint32_t at;     /* where the search goes on */
    uint32_t copied; /* the text before is in `out` */
    uint32_t path;   /* where a path begins whatever stands before; 0: nowhere */
    bool found;
    /* What was looked through last: the words in it need not do so again. */
    uint32_t run_end, name_end;     /* of words and what ties them, and without dots at the end */
    uint32_t no_mail;               /* the end of a run that no mail address begins with */
    uint32_t value_from, value_end; /* what a name may be given */
    uint32_t no_mac_end;            /* of bytes with `no_mac_separator` that are no address */
    char no_mac_separator;
} cursor;

static char at(const cursor *c, uint32_t i)
{
    return i < c->text.len ? c->text.s[i] : 0;
}

static hb_str part(const cursor *c, uint32_t from, uint32_t to)
{
    return (hb_str){c->text.s + from, to - from};
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool begins(const cursor *c, uint32_t i, const char *word)
{
    size_t n = strlen(word);
    return c->text.len - i >= n && strncasecmp(c->text.s + i, word, n) == 0;
}

/* Copies what stands before, replaces [from, to), and goes on behind it. */
static void replace(cursor *c, hb_redaction_kind kind, uint32_t from, uint32_t to)
{
    c->at = to;
    if (c->redactor->learning) return;
    c->found = true;
    hb_buf_append(c->out, c->text.s + c->copied, from - c->copied);
    hb_redactor_replace(c->redactor, kind, part(c, from, to), c->out);
    c->copied = to;
}

/* ---- secrets by their form ---- */

static bool is_token_byte(char c)
{
    return isalnum((unsigned char)c) || is_one_of(c, "-_");
}

static uint32_t token_end(const cursor *c, uint32_t i)
{
    while (is_token_byte(at(c, i)))
        i++;
    return i;
}

/* What begins so and has at least so many more letters is a key of a well-known service. */
static const struct {
    const char *prefix;
    uint32_t least;
} key_forms[] = {{"ghp_", 20},        {"gho_", 20},   {"ghu_", 20},  {"ghs_", 20},  {"ghr_", 20},
                 {"github_pat_", 20}, {"glpat-", 16}, {"hf_", 20},   {"sk-", 20},   {"xoxa-", 10},
                 {"xoxb-", 10},       {"xoxp-", 10},  {"xoxr-", 10}, {"xoxs-", 10}, {"AKIA", 16},
                 {"ASIA", 16},        {"AIza", 30},   {"ya29.", 20}, {"pypi-", 40}, {"npm_", 30},
                 {"dop_v1_", 30},     {"nvapi-", 30}, {"wandb_", 30}};

static bool take_known_key(cursor *c)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(key_forms); i++) {
        size_t n = strlen(key_forms[i].prefix);
        if (c->text.len - c->at < n || memcmp(c->text.s + c->at, key_forms[i].prefix, n) != 0)
            continue;
        uint32_t end = token_end(c, c->at + (uint32_t)n);
        if (end - c->at - n < key_forms[i].least) continue;
        replace(c, HB_REDACTED_SECRET, c->at, end);
        return true;
    }
    return false;
}

/* Whether the text, which begins with "-----BEGIN", has the first line of a private key. */
static bool heads_private_key(hb_str text)
{
    const char *end = memchr(text.s, '\n', text.len);
    return memmem(text.s, end ? (size_t)(end - text.s) : text.len, "PRIVATE", 7) != NULL;
}

bool hb_opens_private_key(hb_str line)
{
    const char *from = memmem(line.s, line.len, "-----BEGIN", 10);
    hb_str key = {from, from ? line.len - (uint32_t)(from - line.s) : 0};
    return from && heads_private_key(key) && !memmem(key.s, key.len, "-----END", 8);
}

/* "-----BEGIN RSA PRIVATE KEY-----" to its end, or the text's. */
static bool take_private_key(cursor *c)
{
    enum { LONGEST_HEAD = 256 };
    if (!begins(c, c->at, "-----BEGIN")) return false;
    const char *from = c->text.s + c->at, *end = c->text.s + c->text.len;
    uint32_t left = c->text.len - c->at;
    if (!heads_private_key(part(c, c->at, c->at + HB_MIN(left, LONGEST_HEAD)))) return false;
    const char *tail = memmem(from, (size_t)(end - from), "-----END", 8);
    const char *close = tail ? memmem(tail + 8, (size_t)(end - tail - 8), "-----", 5) : NULL;
    replace(c, HB_REDACTED_SECRET, c->at, close ? (uint32_t)(close + 5 - c->text.s) : c->text.len);
    return true;
}

/* A signed token: three parts of base64, the first of which begins as "{". */
static bool take_web_token(cursor *c)
{
    if (c->text.len - c->at < 20 || memcmp(c->text.s + c->at, "eyJ", 3) != 0) return false;
    uint32_t end = token_end(c, c->at);
    for (int i = 0; i < 2 && at(c, end) == '.'; i++)
        end = token_end(c, end + 1);
    if (end - c->at < 20) return false;
    replace(c, HB_REDACTED_SECRET, c->at, end);
    return true;
}

/* ---- secrets by the name before them ---- */

static const char *const secret_names[] = {"password",   "passwd",     "passphrase",  "secret",
                                           "token",      "api_key",    "api-key",     "apikey",
                                           "access_key", "access-key", "secret_key",  "private_key",
                                           "auth_key",   "credential", "credentials", "bearer"};

static bool ends_as_secret(hb_str name)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(secret_names); i++) {
        size_t n = strlen(secret_names[i]);
        if (name.len >= n && strncasecmp(name.s + name.len - n, secret_names[i], n) == 0)
            return true;
    }
    return false;
}

/* "--max-tokens 4096" names no secret, and neither does "token: <eos>". */
static bool is_secret_value(hb_str value)
{
    enum { LEAST = 4 };
    static const char *const none[] = {"none", "null", "true", "false"};
    if (value.len < LEAST || is_one_of(value.s[0], "<$")) return false;
    for (size_t i = 0; i < HB_ARRAY_LEN(none); i++)
        if (value.len == strlen(none[i]) && strncasecmp(value.s, none[i], value.len) == 0)
            return false;
    for (uint32_t i = 0; i < value.len; i++)
        if (!isdigit((unsigned char)value.s[i]) && !is_one_of(value.s[i], ".-+eE")) return true;
    return false; /* a number */
}

/* The end of what a shell would take for one word. */
static uint32_t value_end(cursor *c, uint32_t from)
{
    if (from >= c->value_from && from <= c->value_end) return c->value_end;
    uint32_t i = from;
    while (i < c->text.len && (unsigned char)at(c, i) > ' ' && !is_one_of(at(c, i), "\"'&;,|)}]"))
        i++;
    c->value_from = from;
    return c->value_end = i;
}

/* `name=value`, `name: value`, `--name value`, `Bearer value`, where the name ends at `end`. */
static bool take_named_secret(cursor *c, uint32_t begin, uint32_t end)
{
    hb_str name = part(c, begin, end);
    if (!ends_as_secret(name)) return false;
    bool option = begin >= 2 && c->text.s[begin - 1] == '-' && c->text.s[begin - 2] == '-';
    bool bearer = name.len == 6 && strncasecmp(name.s, "bearer", 6) == 0;
    uint32_t i = end;
    while (is_one_of(at(c, i), "\"'"))
        i++;
    bool separated = is_one_of(at(c, i), "=:") && at(c, i + 1) != ':';
    if (separated) i++;
    if (!separated && !((option || bearer) && at(c, i) == ' ')) return false;
    while (is_one_of(at(c, i), " \"'"))
        i++;
    uint32_t stop = value_end(c, i);
    if (!is_secret_value(part(c, i, stop))) return false;
    replace(c, HB_REDACTED_SECRET, i, stop);
    return true;
}

/* "scheme://user:password@host": both. Behind a host stands a path of its own, but in
 * "file://host/path" and "scheme:///path" it is one of this machine's, or of the host's. */
static bool take_login(cursor *c)
{
    if (!begins(c, c->at, "://")) return false;
    uint32_t i = c->at + 3, end = i;
    bool of_file = c->at >= 4 && begins(c, c->at - 4, "file") &&
                   (c->at == 4 || !is_word(c->text.s[c->at - 5]));
    while (end < c->text.len && (unsigned char)at(c, end) > ' ' &&
           !is_one_of(at(c, end), "/@\"'<>"))
        end++;
    c->at = i;
    if (at(c, end) == '@' && end > i) replace(c, HB_REDACTED_SECRET, i, end);
    while (at(c, end) == '/' && at(c, end + 1) == '/')
        end++;
    if (at(c, end) == '/' && (of_file || at(c, i) == '/')) c->path = end;
    return true;
}

/* ---- secrets by chance ---- */

typedef struct letters {
    uint32_t size, changes; /* from one class to another */
    uint32_t lower, upper, digits, hex;
} letters;

static letters count_letters(hb_str word)
{
    letters l = {.size = word.len};
    int last = -1;
    for (uint32_t i = 0; i < word.len; i++) {
        unsigned char b = (unsigned char)word.s[i];
        int class = islower(b) ? 0 : isupper(b) ? 1 : 2;
        l.lower += class == 0;
        l.upper += class == 1;
        l.digits += class == 2;
        l.hex += isxdigit(b) != 0;
        l.changes += last >= 0 && class != last;
        last = class;
    }
    return l;
}

/* Bits a letter, after Shannon. */
static double entropy(hb_str word)
{
    uint32_t counts[256] = {0};
    double bits = 0;
    for (uint32_t i = 0; i < word.len; i++)
        counts[(unsigned char)word.s[i]]++;
    for (int i = 0; i < 256; i++)
        if (counts[i]) bits -= counts[i] * log2((double)counts[i] / word.len);
    return bits / word.len;
}

/* Words that people write change between small and large letters seldom, twice in ten; those of
 * chance in six of ten. Digits of base 16 are as long as keys are: 32 and more. */
static bool is_chance(hb_str word)
{
    enum { LEAST = 20, LEAST_HEX = 32 };
    if (word.len < LEAST) return false;
    letters l = count_letters(word);
    bool one_case = !l.lower || !l.upper;
    if (l.hex == l.size && one_case)
        return l.size >= LEAST_HEX && l.digits >= l.size / 5 && l.digits < l.size &&
               entropy(word) > 3;
    return l.lower && l.upper && l.digits && l.changes * 5 >= (l.size - 1) * 2 &&
           entropy(word) > 3.5;
}

/* Names that stand for what is no secret: of traces, commits, code. */
static bool is_public_key(hb_str key)
{
    enum { LONGEST = 255 };
    static const char *const words[] = {"trace_id", "commit", "uuid",  "build_id",
                                        "sha",      "hash",   "digest"};
    if (key.len > LONGEST) return false;
    for (size_t i = 0; i < HB_ARRAY_LEN(words); i++)
        for (uint32_t k = 0; k + strlen(words[i]) <= key.len; k++)
            if (strncasecmp(key.s + k, words[i], strlen(words[i])) == 0) return true;
    return false;
}

/* ---- directories ---- */

static bool is_path_byte(char c)
{
    return is_word(c) || is_one_of(c, "/._-+@%~=,#");
}

/* Where everybody's system has the same. */
static bool is_system(hb_str path)
{
    static const char *const prefixes[] = {"/usr/",  "/lib/", "/lib64/", "/bin/", "/sbin/",
                                           "/proc/", "/sys/", "/dev/",   "/etc/", "/opt/rocm"};
    for (size_t i = 0; i < HB_ARRAY_LEN(prefixes); i++)
        if (hb_str_begins(path, prefixes[i])) return true;
    return false;
}

/* Bytes of the path that are the user's own directory: not what is below packages of Python, and
 * not the file's name. */
static uint32_t directory_size(hb_str path)
{
    static const char *const below[] = {"/lib/python3", "/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < HB_ARRAY_LEN(below); i++) {
        const char *p = memmem(path.s, path.len, below[i], strlen(below[i]));
        if (p && p > path.s) return (uint32_t)(p - path.s);
    }
    uint32_t n = path.len;
    while (n && path.s[n - 1] != '/')
        n--;
    return n ? n - 1 : 0;
}

/* "/home/alice/...": alice. */
static void learn_home(cursor *c, hb_str path)
{
    static const char *const homes[] = {"/home/", "/Users/", "/users/"};
    for (size_t i = 0; i < HB_ARRAY_LEN(homes); i++) {
        if (!hb_str_begins(path, homes[i])) continue;
        const char *name = path.s + strlen(homes[i]), *end = path.s + path.len;
        const char *slash = memchr(name, '/', (size_t)(end - name));
        hb_redactor_learn(c->redactor, HB_REDACTED_USER,
                          (hb_str){name, (uint32_t)((slash ? slash : end) - name)});
    }
}

/* A frame of Python, "/a file/with blanks.py(12): name", tells where its path ends. */
static uint32_t frame_end(const cursor *c, uint32_t from)
{
    for (uint32_t i = from; i < c->text.len && at(c, i) != '\n'; i++) {
        if (at(c, i) != '(') continue;
        uint32_t k = i + 1;
        while (isdigit((unsigned char)at(c, k)))
            k++;
        if (k > i + 1 && at(c, k) == ')' && at(c, k + 1) == ':') return i;
    }
    return 0;
}

static uint32_t path_end(const cursor *c, uint32_t from)
{
    uint32_t i = from, frame;
    while (is_path_byte(at(c, i)))
        i++;
    if (at(c, i) == ' ' && from == 0 && (frame = frame_end(c, from)) > i) return frame;
    while (i > from && is_one_of(at(c, i - 1), ".,"))
        i--;
    return i;
}

/* At least a directory and a file. */
static bool take_path(cursor *c)
{
    uint32_t from = c->at;
    bool home = at(c, from) == '~' && at(c, from + 1) == '/';
    if (!home && !(at(c, from) == '/' && is_path_byte(at(c, from + 1)) && at(c, from + 1) != '/'))
        return false;
    if (from && from != c->path &&
        (is_word(c->text.s[from - 1]) || is_one_of(c->text.s[from - 1], "._-/)>")))
        return false;
    c->at = from + 1; /* there may be names in it */
    if (is_system(part(c, from, c->text.len))) return true;
    hb_str path = part(c, from, path_end(c, from));
    learn_home(c, path);
    uint32_t directory = directory_size(path);
    if (directory) replace(c, HB_REDACTED_DIRECTORY, from, from + directory);
    return true;
}

/* "C:\Users\alice\x.py", and with slashes. */
static bool take_windows_path(cursor *c)
{
    uint32_t from = c->at, last = 0, i;
    if (!isalpha((unsigned char)at(c, from)) || at(c, from + 1) != ':' ||
        !is_one_of(at(c, from + 2), "\\/") || (at(c, from + 2) == '/' && at(c, from + 3) == '/'))
        return false;
    for (i = from + 2; is_path_byte(at(c, i)) || at(c, i) == '\\'; i++)
        if (is_one_of(at(c, i), "\\/")) last = i;
    if (last <= from + 2) return false;
    replace(c, HB_REDACTED_DIRECTORY, from, last);
    return true;
}

/* ---- addresses ---- */

/* Four numbers up to 255, not of this machine or of none; of five they are a version's. */
static bool take_ip(cursor *c)
{
    uint32_t i = c->at, first = 0;
    if (i >= 2 && c->text.s[i - 1] == '.' && isdigit((unsigned char)c->text.s[i - 2])) return false;
    for (int k = 0; k < 4; k++) {
        uint32_t value = 0, digits = 0;
        for (; isdigit((unsigned char)at(c, i)) && digits < 4; digits++)
            value = value * 10 + (uint32_t)(at(c, i++) - '0');
        if (digits == 0 || digits > 3 || value > 255 || (k < 3 && at(c, i++) != '.')) return false;
        if (k == 0) first = value;
    }
    if (is_word(at(c, i)) || (at(c, i) == '.' && isdigit((unsigned char)at(c, i + 1))))
        return false;
    if (first == 127 || first == 0) {
        c->at = i;
        return true;
    }
    replace(c, HB_REDACTED_ADDRESS, c->at, i);
    return true;
}

/* Six bytes of two digits, or more, as InfiniBand's have. */
static bool take_mac(cursor *c)
{
    enum { LEAST = 6 };
    uint32_t end = c->at, bytes = 0;
    char separator = at(c, end + 2);
    if (!is_one_of(separator, ":-")) return false;
    if (end < c->no_mac_end && separator == c->no_mac_separator) return false;
    while (isxdigit((unsigned char)at(c, end)) && isxdigit((unsigned char)at(c, end + 1))) {
        end += 2;
        bytes++;
        if (at(c, end) != separator || !isxdigit((unsigned char)at(c, end + 1))) break;
        end++;
    }
    if (bytes < LEAST || is_word(at(c, end))) {
        c->no_mac_end = end;
        c->no_mac_separator = separator;
        return false;
    }
    replace(c, HB_REDACTED_ADDRESS, c->at, end);
    return true;
}

/* name@host.domain, where the name ends at `end`. */
static bool take_mail(cursor *c, uint32_t begin, uint32_t end)
{
    uint32_t i = end + 1, dots = 0;
    if (at(c, end) != '@' || !isalpha((unsigned char)at(c, i)) || end == c->no_mail) return false;
    for (; isalnum((unsigned char)at(c, i)) || is_one_of(at(c, i), ".-"); i++)
        dots += at(c, i) == '.' && isalpha((unsigned char)at(c, i + 1));
    if (!dots) {
        c->no_mail = end;
        return false;
    }
    while (is_one_of(at(c, i - 1), ".-")) /* of the sentence */
        i--;
    replace(c, HB_REDACTED_ADDRESS, begin, i);
    return true;
}

/* ---- words ---- */

/* The run of letters, digits and what ties them that the word at the cursor stands in, as others
 * before it may. */
static void find_run(cursor *c)
{
    if (c->at < c->run_end) return;
    uint32_t end = c->at;
    while (is_word(at(c, end)) || is_one_of(at(c, end), "._-"))
        end++;
    c->run_end = end;
    while (is_one_of(at(c, end - 1), ".-"))
        end--;
    c->name_end = end;
}

/* Where a word begins. */
static bool take_word(cursor *c, hb_str key)
{
    hb_redaction_kind kind;
    uint32_t begin = c->at, end;
    size_t known = hb_redactor_match(c->redactor, part(c, begin, c->text.len), &kind);
    if (take_known_key(c) || take_web_token(c) || take_windows_path(c) || take_ip(c) || take_mac(c))
        return true;
    find_run(c);
    if (take_mail(c, begin, c->run_end)) return true;
    if (known) {
        replace(c, kind, begin, begin + (uint32_t)known);
        return true;
    }
    if (take_named_secret(c, begin, c->name_end)) return true;
    for (end = begin; is_word(at(c, end));)
        end++;
    if (is_chance(part(c, begin, end)) && !is_public_key(key)) {
        replace(c, HB_REDACTED_SECRET, begin, end);
        return true;
    }
    c->at = end;
    return true;
}

/* C++ names as compilers write them look like chance. */
static bool skip_mangled(cursor *c)
{
    if (at(c, c->at) != '_' || at(c, c->at + 1) != 'Z') return false;
    while (is_word(at(c, c->at)) || is_one_of(at(c, c->at), "_$."))
        c->at++;
    return true;
}

/* ---- members of JSON ---- */

static bool is_listed(hb_str text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text.len == strlen(list[i]) && strncasecmp(text.s, list[i], text.len) == 0) return true;
    return false;
}

static bool names_host(hb_str key)
{
    static const char *const keys[] = {"host_name", "hostname", "host"};
    return is_listed(key, keys, HB_ARRAY_LEN(keys));
}

static bool names_user(hb_str key)
{
    static const char *const keys[] = {"user", "logname", "username", "user_name"};
    return is_listed(key, keys, HB_ARRAY_LEN(keys));
}

hb_key_class hb_key_class_of(hb_str key)
{
    static const char *const environment[] = {"env", "environ", "environment",
                                              "environment_variables"};
    if (is_listed(key, environment, HB_ARRAY_LEN(environment))) return HB_KEY_ENVIRONMENT;
    if (ends_as_secret(key) || names_host(key) || names_user(key)) return HB_KEY_TELLING;
    return is_public_key(key) ? HB_KEY_PUBLIC : HB_KEY_PLAIN;
}

/* ---- the whole ---- */

/* Of one word; "localhost" is everybody's. */
static bool is_name(hb_str text)
{
    return text.len && !memchr(text.s, ' ', text.len) && !hb_str_is(text, "localhost");
}

static void learn(cursor *c, hb_str key)
{
    if (!is_name(c->text)) return;
    if (names_user(key)) hb_redactor_learn(c->redactor, HB_REDACTED_USER, c->text);
    if (names_host(key)) hb_redactor_learn(c->redactor, HB_REDACTED_HOST, c->text);
}

bool hb_redact_text(hb_redactor *redactor, hb_str key, hb_str text, hb_buf *out)
{
    cursor c = {.redactor = redactor, .text = text, .out = out};
    if (redactor->learning) learn(&c, key);
    if (ends_as_secret(key) && is_secret_value(text)) replace(&c, HB_REDACTED_SECRET, 0, text.len);
    if (names_host(key) && is_name(text)) replace(&c, HB_REDACTED_HOST, 0, text.len);
    if (names_user(key) && is_name(text)) replace(&c, HB_REDACTED_USER, 0, text.len);
    while (c.at < text.len) {
        char b = text.s[c.at];
        bool taken = is_word(b)             ? take_word(&c, key)
                     : b == '/' || b == '~' ? take_path(&c)
                     : b == ':'             ? take_login(&c)
                     : b == '-'             ? take_private_key(&c)
                                            : skip_mangled(&c);
        if (!taken) c.at++;
    }
    hb_buf_append(out, text.s + c.copied, text.len - c.copied);
    return c.found;
}
