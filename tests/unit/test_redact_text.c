/* SPDX-License-Identifier: MIT
 *
 * What is taken out of texts before they are given away, and what stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "pack/redact_files.h"

static void redact_with(hb_redactor *r, const char *key, const char *text, const char *expected)
{
    hb_buf out;
    hb_buf_init(&out, SIZE_MAX / 4);
    /* More stands behind a text, as lines stand behind lines. */
    char behind[1000];
    assert_true((size_t)snprintf(behind, sizeof behind, "%s7-----", text) < sizeof behind);
    hb_str k = {key, (uint32_t)strlen(key)}, t = {behind, (uint32_t)strlen(text)};
    bool changed = hb_redact_text(r, k, t, &out);
    assert_string_equal(hb_buf_text(&out), expected);
    assert_int_equal(changed, strcmp(text, expected) != 0);
    hb_buf_free(&out);
}

typedef struct redacted_text {
    const char *key, *text, *expected;
} redacted_text;

static void assert_redacted(const redacted_text *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hb_redactor r;
        hb_buf out;
        assert_true(hb_redactor_init(&r));
        hb_buf_init(&out, SIZE_MAX / 4);
        hb_redactor_begin_file(&r, "file");
        hb_redactor_learn_file_name(
            &r, HB_STR("gpu-node17.corp_4711.1795256296196340551.pt.trace.json.gz"));
        hb_redact_text(&r, (hb_str){"", 0}, HB_STR("/home/alice/x.py"), &out);
        hb_redactor_learnt(&r);
        redact_with(&r, list[i].key, list[i].text, list[i].expected);
        hb_buf_free(&out);
        hb_redactor_free(&r);
    }
}

static void what_tells_too_much_is_replaced(void **state)
{
    (void)state;
    static const redacted_text list[] = {
        /* hosts and users, once they are known */
        {"", "gpu-node17_4711", "host-1_4711"},
        {"", "on gpu-node17.corp, rank 3", "on host-1, rank 3"},
        {"", "alice's run", "user-1's run"},
        {"host_name", "vm", "host-2"},
        {"USER", "bob", "user-2"},
        /* directories, and what stays of a path */
        {"", "/home/alice/secret-llm/train.py(12): main", "dir-1/train.py(12): main"},
        {"", "/data/my project/train.py(3): step", "dir-1/train.py(3): step"},
        {"", "/home/alice/venv/lib/python3.11/site-packages/torch/nn/modules/module.py(1): f",
         "dir-1/lib/python3.11/site-packages/torch/nn/modules/module.py(1): f"},
        {"", "python /scratch/alice/run.py --data ~/sets/x.bin",
         "python dir-1/run.py --data dir-2/x.bin"},
        {"", "C:\\Users\\carol\\x.py", "dir-1\\x.py"},
        {"", "init_method=file:///scratch/alice/llm/rdv", "init_method=file://dir-1/rdv"},
        {"", "file://localhost/scratch/llm/rdv 1", "file://localhostdir-1/rdv 1"},
        {"", "File:///scratch/llm/x", "File://dir-1/x"},
        {"", "sqlite:////scratch/llm/runs.db", "sqlite:///dir-1/runs.db"},
        {"", "http:///scratch/llm/x", "http://dir-1/x"},
        {"", "/dev/shm/alice_cache", "/dev/shm/user-1_cache"},
        {"", "/alice", "/user-1"},
        {"", "/usr/share/gpu-node17/x", "/usr/share/host-1/x"},
        /* addresses */
        {"", "tcp://10.1.2.3:29500", "tcp://address-1:29500"},
        {"", "mac 0a:1b:2c:3d:4e:5f up", "mac address-1 up"},
        {"", "mail dave@example.org", "mail address-1"},
        /* secrets by form */
        {"", "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "secret-1"},
        {"", "key ghp_0123456789abcdefghij0123456789abcdef!", "key secret-1!"},
        {"", "AKIAIOSFODNN7EXAMPLE", "secret-1"},
        {"", "hf_aB1cD2eF3gH4iJ5kL6mN7oP8", "secret-1"}, /* by chance, too */
        {"", "https://bob:hunter2@git.corp/x", "https://secret-1@git.corp/x"},
        {"", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "secret-1"},
        {"", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "secret-1"},
        /* by name */
        {"", "--password hunter2 --epochs 3", "--password secret-1 --epochs 3"},
        {"", "MY_API_KEY=qwertz; ls", "MY_API_KEY=secret-1; ls"},
        {"", "Authorization: Bearer abcd.efgh", "Authorization: Bearer secret-1"},
        {"wandb_token", "plainword", "secret-1"},
        /* by chance */
        {"", "x aG9K3mQz7TpL4wXv9RbN2sYd y", "x secret-1 y"},
        {"", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "secret-1"},
        {"a_value_of_another_name", "aB1cD2eF3gH4iJ5kL6mN", "secret-1"},
        {"", "aB1cD2eF3gH4iJ5kL6mN", "secret-1"},             /* 20 letters */
        {"", "aB1cD2eF3gH4aB1cD2eF3gH4", "secret-1"},         /* 3.58 bits a letter */
        {"", "abcDefGhijklmnOpqrS12", "secret-1"},            /* 8 changes in 21 */
        {"", "abcdefabcdefabcdefabcdefab012345", "secret-1"}, /* 6 of 32 are digits */
        {"", "abcd0123abcd0123abcd0123abcd0123e", "secret-1"},
    };
    assert_redacted(list, HB_ARRAY_LEN(list));
}

static void what_tells_nothing_stays(void **state)
{
    (void)state;
    static const redacted_text list[] = {
        {"", "aten::convolution_backward", "aten::convolution_backward"},
        {"",
         "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
         "11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
         "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
         "11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"},
        {"", "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0_APM1_AF0EM8",
         "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0_APM1_AF0EM8"},
        {"",
         "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
         "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"},
        {"", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
        {"", "ProfilerStep#12", "ProfilerStep#12"},
        {"", "/usr/lib/python3/x.py(1): f", "/usr/lib/python3/x.py(1): f"},
        {"", "/opt/rocm/lib/libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"},
        {"", "train.py(12): main", "train.py(12): main"},
        {"", "a/b/c", "a/b/c"},
        {"", "https://example.org/a/b/c", "https://example.org/a/b/c"},
        {"", "s3://bucket/a/b, file://x", "s3://bucket/a/b, file://x"},
        {"", "file:///x file:///usr/lib/x", "file:///x file:///usr/lib/x"},
        {"", "profile://host/a/b", "profile://host/a/b"},
        {"", "--max-tokens 4096 tokens=512", "--max-tokens 4096 tokens=512"},
        {"", "127.0.0.1:80, 0.0.0.0", "127.0.0.1:80, 0.0.0.0"},
        {"", "/gpu:0 10/s", "/gpu:0 10/s"},
        {"", "alicent malice", "alicent malice"},
        {"trace_id", "C0D0A465BD944606992266DB2905C108", "C0D0A465BD944606992266DB2905C108"},
        {"git_commit", "2c63be6a9f86d081884c7d659a2feaa0c55ad015",
         "2c63be6a9f86d081884c7d659a2feaa0c55ad015"},
        {"host_name", "localhost", "localhost"},
        /* a little less by chance than what is a secret */
        {"", "aB1cD2eF3gH4iJ5kL6m", "aB1cD2eF3gH4iJ5kL6m"},
        {"", "abcDefGhijklmnOpqrs12", "abcDefGhijklmnOpqrs12"},
        {"", "abcdefabcdefabcdefabcdefabc01234", "abcdefabcdefabcdefabcdefabc01234"},
        {"", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcde"},
        {"", "01234567890123456789012345678901", "01234567890123456789012345678901"},
        {"", "aB1cD2eF3gaB1cD2eF3g", "aB1cD2eF3gaB1cD2eF3g"}, /* 3.32 bits a letter */
        {"", "aBcDeFgHiJkLmNoPqRsTuVwX", "aBcDeFgHiJkLmNoPqRsTuVwX"},
        {"", "a1b2c3d4g5h6i7j8k9l0m1n2o3p4", "a1b2c3d4g5h6i7j8k9l0m1n2o3p4"},
        /* as long as keys, and not by chance: of few letters */
        {"", "aA1aA1aA1aA1aA1aA1aA1aA1", "aA1aA1aA1aA1aA1aA1aA1aA1"},
        {"", "abcd0123abcd0123abcd0123abcd0123", "abcd0123abcd0123abcd0123abcd0123"},
    };
    assert_redacted(list, HB_ARRAY_LEN(list));
}

/* TensorFlow's: "events.out.tfevents.TIME.HOST.PID.NUMBER". */
static void names_of_event_files_tell_a_host(void **state)
{
    static const struct {
        const char *name, *text, *expected;
    } cases[] = {
        {"events.out.tfevents.1795256296.gpu7.4711.0", "on gpu7, 4711", "on host-1, 4711"},
        {"events.out.tfevents.1795256296.gpu7.corp.net.4711.0", "gpu7.corp.net", "host-1"},
        {"events.out.tfevents.1795256296.gpu7", "on gpu7", "on host-1"},
        {"events.out.tfevents.1795256296.", "on gpu7", "on gpu7"},
        {"events.out.tfevents.1795256296", "on gpu7", "on gpu7"},
        {"events.out.tfevents.x.gpu7.4711.0", "on gpu7", "on gpu7"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_redactor r;
        assert_true(hb_redactor_init(&r));
        hb_redactor_begin_file(&r, "file");
        hb_redactor_learn_file_name(&r, (hb_str){cases[i].name, (uint32_t)strlen(cases[i].name)});
        hb_redactor_learnt(&r);
        redact_with(&r, "", cases[i].text, cases[i].expected);
        hb_redactor_free(&r);
    }
}

/* Whatever stands before the end that makes it one, and would take that with it. */
static void names_of_traces_stay_names_of_traces(void **state)
{
    static const struct {
        hb_str name;
        const char *expected;
    } cases[] = {
        {HB_STR("run/alice@corp.net.12.pt.trace.json"), "run/address-1.12.pt.trace.json"},
        {HB_STR("run/alice@corp.net.pt.trace.json.gz"), "run/address-1.pt.trace.json.gz"},
        {HB_STR("w.pt.trace.json.of alice@corp.net"), "w.pt.trace.json.of address-1"},
        {HB_STR("a.pt.trace.json_7.1.pt.trace.json"), "host-1_7.1.pt.trace.json"},
        {HB_STR("gpu7_3_4711.12.pt.trace.json"), "host-1_3_4711.12.pt.trace.json"},
        {HB_STR("gpu7_3-4711.12.pt.trace.json"), "host-1_3-4711.12.pt.trace.json"},
        {HB_STR("rank_3.12.pt.trace.json"), "rank_3.12.pt.trace.json"},
        {HB_STR("a.pt.trace.json/events.out.tfevents.1.gpu7.2.0"),
         "a.pt.trace.json/events.out.tfevents.1.host-1.2.0"},
        {HB_STR("alice@corp.net.json"), "address-1"},
        {HB_STR("a\0_7.1.pt.trace.json"), "host-1_7.1.pt.trace.json"},
        {HB_STR("5.pt.trace.json"), "5.pt.trace.json"},
        {HB_STR(".pt.trace.json"), ".pt.trace.json"},
        {HB_STR(""), ""},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_redactor r;
        hb_buf out;
        hb_buf_init(&out, SIZE_MAX / 4);
        assert_true(hb_redactor_init(&r));
        hb_redactor_begin_file(&r, "file");
        hb_redactor_learn_file_name(&r, cases[i].name);
        hb_redactor_learnt(&r);
        hb_redact_file_name(&r, cases[i].name, &out);
        assert_string_equal(hb_buf_text(&out), cases[i].expected);
        hb_buf_free(&out);
        hb_redactor_free(&r);
    }
}

/* The same wherever it stands; hosts in the order of their names. */
static void one_thing_has_one_replacement(void **state)
{
    (void)state;
    hb_redactor r;
    assert_true(hb_redactor_init(&r));
    static const char *const hosts[] = {"zeta", "alpha_003", "mid", "alpha.corp.example"};
    for (size_t i = 0; i < HB_ARRAY_LEN(hosts); i++) {
        char name[100];
        snprintf(name, sizeof name, "%s_1.2.pt.trace.json", hosts[i]);
        hb_redactor_begin_file(&r, name);
        hb_redactor_learn_file_name(&r, (hb_str){name, (uint32_t)strlen(name)});
    }
    hb_redactor_learnt(&r);
    hb_redactor_begin_file(&r, "x");
    redact_with(&r, "", "alpha mid zeta alpha alpha.corp.example",
                "host-1 host-2 host-3 host-1 host-1");
    redact_with(&r, "", "/a/b/x.py /c/d/x.py /a/b/y.py", "dir-1/x.py dir-2/x.py dir-1/y.py");
    hb_redactor_free(&r);
}

/* ---- by form ---- */

/* Of each service the shortest key, as its documentation has it or a little less. */
static void keys_of_services_have_a_length(void **state)
{
    static const struct {
        const char *prefix;
        size_t least; /* letters behind it */
    } forms[] = {{"ghp_", 20},        {"gho_", 20},   {"ghu_", 20},  {"ghs_", 20},  {"ghr_", 20},
                 {"github_pat_", 20}, {"glpat-", 16}, {"hf_", 20},   {"sk-", 20},   {"xoxa-", 10},
                 {"xoxb-", 10},       {"xoxp-", 10},  {"xoxr-", 10}, {"xoxs-", 10}, {"AKIA", 16},
                 {"ASIA", 16},        {"AIza", 30},   {"ya29.", 20}, {"pypi-", 40}, {"npm_", 30},
                 {"dop_v1_", 30},     {"nvapi-", 30}, {"wandb_", 30}};
    static const char letters[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(forms); i++) {
        char text[100], expected[100];
        hb_redactor r;
        assert_true(hb_redactor_init(&r));
        hb_redactor_learnt(&r);
        hb_redactor_begin_file(&r, "x");
        snprintf(text, sizeof text, "k %s%.*s.", forms[i].prefix, (int)forms[i].least - 1, letters);
        redact_with(&r, "", text, text);
        snprintf(text, sizeof text, "k %s%.*s.", forms[i].prefix, (int)forms[i].least, letters);
        redact_with(&r, "", text, "k secret-1.");
        snprintf(text, sizeof text, "%s%.*s", forms[i].prefix, (int)forms[i].least + 9, letters);
        snprintf(expected, sizeof expected, "secret-2");
        redact_with(&r, "", text, expected);
        hb_redactor_free(&r);
    }
}

static void secrets_have_a_form(void **state)
{
    static const redacted_text list[] = {
        {"", "-----BEGIN CERTIFICATE-----\nMIIE", "-----BEGIN CERTIFICATE-----\nMIIE"},
        {"", "-----BEGIN A\nPRIVATE", "-----BEGIN A\nPRIVATE"},
        {"", "-----BEGIN PRIVATE KEY-----\nMIIE", "secret-1"}, /* cut off: all of it */
        {"", "-----BEGIN PRIVATE KEY-----MIIE-----END PRIVATE", "secret-1"},
        {"", "a -----BEGIN PRIVATE KEY-----\nM\n-----END PRIVATE KEY----- b", "a secret-1 b"},
        {"", "-----BEGIN PRIVATE KEY-----M-----ENX-----\n-----END X----- b", "secret-1 b"},
        {"", "-----BEGIN PRIVATE KEY-----M-----END P----K----- b", "secret-1 b"},
        {"", "-----BEGIN PRIVATE KEY-----M-----END X-----10.0.0.1", "secret-1address-1"},
        {"", "eyJaaaaaaaaaaaaaaaaa", "secret-1"}, /* 20 letters */
        {"", "eyJaaaaaaaaaaaaaaaa b", "eyJaaaaaaaaaaaaaaaa b"},
        {"", "eyXaaaaaaaaaaaaaaaaaaaaaa", "eyXaaaaaaaaaaaaaaaaaaaaaa"},
        {"", "eyJaaa, and more behind it", "eyJaaa, and more behind it"},
        {"", "eyJhbGciOiJIUzI1NiJ9", "secret-1"},
        {"", "eyJhbGciOiJIUzI1NiJ", "eyJhbGciOiJIUzI1NiJ"},
        {"", "eyJhbGci.eyJzdWIi.dozj.more", "secret-1.more"}, /* three parts */
        {"", "ssh://host.example/x", "ssh://host.example/x"},
        {"", "ssh://alice@host/x", "ssh://secret-1@host/x"},
        {"", "ssh://@host/x", "ssh://@host/x"},
        {"", "https://a/b@c", "https://a/b@c"},
        {"", "https://a b@c", "https://a b@c"},
    };
    (void)state;
    assert_redacted(list, HB_ARRAY_LEN(list));
}

static void secrets_are_named(void **state)
{
    static const char *const names[] = {
        "password", "passwd",     "passphrase",  "secret",      "token",      "api_key",
        "api-key",  "apikey",     "access_key",  "access-key",  "secret_key", "private_key",
        "auth_key", "credential", "credentials", "DB_PASSWORD", "hfToken"};
    static const struct {
        const char *form, *expected; /* '*' is the name */
    } forms[] = {
        {"*=plainword", "*=secret-1"},
        {"*: plainword", "*: secret-1"},
        {"--* plainword x", "--* secret-1 x"},
        {"--*=plainword x", "--*=secret-1 x"},
        {"'*': 'plainword'", "'*': 'secret-1'"},
        {"\"*\"=\"plainword\"", "\"*\"=\"secret-1\""},
        {"(*=plainword)", "(*=secret-1)"},
        {"*=plainword&b", "*=secret-1&b"},
        {"-* plainword", "-* plainword"}, /* of one letter and a value */
        {"* plainword", "* plainword"},
        {"*::plainword", "*::plainword"}, /* a name of C++ */
        {"*=abc", "*=abc"},               /* no secret is as short */
        {"*=abcd", "*=secret-1"},
        {"*=-1.5e+3", "*=-1.5e+3"},
        {"*=None", "*=None"},
        {"*=false", "*=false"},
        {"*=<eos>", "*=<eos>"},
        {"*=$HOME", "*=$HOME"},
    };
    (void)state;
    for (size_t n = 0; n < HB_ARRAY_LEN(names); n++)
        for (size_t i = 0; i < HB_ARRAY_LEN(forms); i++) {
            char text[100], expected[100];
            const char *star = strchr(forms[i].form, '*');
            const char *wanted = forms[i].expected;
            snprintf(text, sizeof text, "%.*s%s%s", (int)(star - forms[i].form), forms[i].form,
                     names[n], star + 1);
            star = strchr(wanted, '*');
            snprintf(expected, sizeof expected, "%.*s%s%s", (int)(star - wanted), wanted, names[n],
                     star + 1);
            assert_redacted(&(redacted_text){"", text, expected}, 1);
        }
    static const redacted_text others[] = {
        {"", "tokens=plainword", "tokens=plainword"},
        {"", "Bearer plainword", "Bearer secret-1"},
        {"", "bearer abc", "bearer abc"},
        {"my_token", "plainword", "secret-1"},
        {"my_token", "512", "512"},
        {"my_tokens", "plainword", "plainword"},
    };
    assert_redacted(others, HB_ARRAY_LEN(others));
}

static void addresses_have_a_form(void **state)
{
    static const redacted_text list[] = {
        {"", "10.0.0.1", "address-1"},
        {"", "255.255.255.255", "address-1"},
        {"", "256.1.1.1 1.256.1.1 1.1.1.256", "256.1.1.1 1.256.1.1 1.1.1.256"},
        {"", "1.2.3 1.2.3.4.5 1.2.3.x 1.2.3.4x", "1.2.3 1.2.3.4.5 1.2.3.x 1.2.3.4x"},
        {"", "1.2.3.0004", "1.2.3.0004"},
        {"", "at 10.0.0.1.", "at address-1."},
        {"", "127.1.2.3 0.0.0.1 128.0.0.1", "127.1.2.3 0.0.0.1 address-1"},
        {"", "0a:1b:2c:3d:4e:5f", "address-1"},
        {"", "0A-1B-2C-3D-4E-5F", "address-1"},
        {"", "0a:1b:2c:3d:4e-5f", "0a:1b:2c:3d:4e-5f"},
        {"", "0a:1b:2c:3d:4e:5", "0a:1b:2c:3d:4e:5"},
        {"", "0a:1b:2c:3d:4e:5f:60", "address-1"},
        {"", "0a-1b-2c-3d-4e-5f-60-71.", "address-1."},
        {"", "0a:1b:2c:3d:4e:5f: up", "address-1: up"},
        {"", "0a:1b:2c:3d:4e:5f:6", "0a:1b:2c:3d:4e:5f:6"},
        {"", "0a:1b:2c:3d:4e", "0a:1b:2c:3d:4e"},
        {"", "0a:1b:2c:3d:4e:5fa", "0a:1b:2c:3d:4e:5fa"},
        {"", "0g:1b:2c:3d:4e:5f", "0g:1b:2c:3d:4e:5f"},
        {"", "dave@example.org", "address-1"},
        {"", "d.e-f_g@a.b.example", "address-1"},
        {"", "dave@host", "dave@host"},
        {"", "dave@1.example", "dave@1.example"},
        {"", "pkg@1.2", "pkg@1.2"},
        {"", "f@a.1", "f@a.1"},
        {"", "mail dave@example.org.", "mail address-1."},
    };
    (void)state;
    assert_redacted(list, HB_ARRAY_LEN(list));
}

static void directories_have_a_form(void **state)
{
    static const redacted_text list[] = {
        {"", "/a", "/a"}, /* of the root itself */
        {"", "/a/b", "dir-1/b"},
        {"", "/a/b/", "dir-1/"},
        {"", "see /a/b, /a/c.", "see dir-1/b, dir-1/c."},
        {"", "x=/a/b", "x=dir-1/b"},
        {"", "n/a/b ./a/b ../a/b -/a/b", "n/a/b ./a/b ../a/b -/a/b"},
        {"", "//a/b", "//a/b"},
        {"", "~/b", "dir-1/b"},
        {"", "~", "~"},
        {"", "/usr/x/y /lib64/x/y /proc/1/x /opt/rocm-6/x",
         "/usr/x/y /lib64/x/y /proc/1/x /opt/rocm-6/x"},
        {"", "/opt/other/x", "dir-1/x"},
        {"", "/v/lib/python3/x/y.py", "dir-1/lib/python3/x/y.py"},
        {"", "/v/site-packages/x/y.py", "dir-1/site-packages/x/y.py"},
        {"", "/v/dist-packages/x/y.py", "dir-1/dist-packages/x/y.py"},
        {"", "/a dir/b.py(12): f", "dir-1/b.py(12): f"},
        {"", "/a/b c/d.py(x): f", "dir-1/b c/d.py(x): f"},
        {"", "in /a dir/b.py(12): f", "in /a dir/b.py(12): f"},
        {"", "/a/b.py(12: f", "dir-1/b.py(12: f"},
        {"", "/a b/c.py(12):", "dir-1/c.py(12):"},
        {"", "/a b/c.py(): f", "/a b/c.py(): f"},
        {"", "/a b/c.py(1)-f", "/a b/c.py(1)-f"},
        {"", "/a b\n/c/d.py(1): f", "/a b\ndir-1/d.py(1): f"},
        {"", "~x/a/b", "~x/a/b"},
        {"", "D:\\a\\b", "dir-1\\b"},
        {"", "D:/a/b", "dir-1/b"},
        {"", "D:\\a", "D:\\a"},
        {"", "s://a/b", "s://a/b"},
    };
    (void)state;
    assert_redacted(list, HB_ARRAY_LEN(list));
}

static void homes_tell_of_users(void **state)
{
    static const struct {
        const char *path;
        bool tells;
    } rows[] = {{"/home/bobby/x/y", true}, {"/home/bobby", true},
                {"/Users/bobby/y", true},  {"/users/bobby/y", true},
                {"/house/bobby/y", false}, {"/data/home/bobby/y", false}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_redactor r;
        hb_buf out;
        assert_true(hb_redactor_init(&r));
        hb_buf_init(&out, 1000);
        hb_redactor_begin_file(&r, "file");
        hb_redact_text(&r, (hb_str){"", 0}, (hb_str){rows[i].path, (uint32_t)strlen(rows[i].path)},
                       &out);
        hb_redactor_learnt(&r);
        redact_with(&r, "", "of bobby", rows[i].tells ? "of user-1" : "of bobby");
        hb_buf_free(&out);
        hb_redactor_free(&r);
    }
}

/* Texts of megabytes, as logs and minified sources have them, are looked through once, not once for
 * each word: that would take minutes, and the test's time. */
static void long_texts_are_looked_through_once(void **state)
{
    enum { SIZE = 1 << 20 };
    static const struct {
        const char *repeated, *end;
    } rows[] = {{"a.", ""},      {"_a", ""},     {"-a", ""},        {"1.1.", ""},
                {"a.", "@b"},    {"a", "."},     {"a.a", "......"}, {"token=$", ""},
                {"token=<", ""}, {"aa:", "aaa"}, {"eyJ.", ""},      {"-----BEGIN ", ""},
                {"sk-a.", ""},   {"token.", ""}, {"--token ", ""},  {"~/", "+"},
                {"://", ""},     {"C:/a", " "},  {"_Z", ""},        {"/usr/", ""}};
    (void)state;
    for (size_t i = 0; i < 2 * HB_ARRAY_LEN(rows); i++) {
        hb_redactor r;
        hb_buf out, text;
        hb_buf_init(&out, SIZE_MAX / 4);
        hb_buf_init(&text, SIZE_MAX / 4);
        const char *repeated = rows[i / 2].repeated, *end = rows[i / 2].end;
        while (text.size < SIZE)
            hb_buf_append(&text, repeated, strlen(repeated));
        hb_buf_append(&text, end, strlen(end));
        hb_str whole = {text.data, (uint32_t)text.size}, word = HB_STR("a word");
        assert_true(hb_redactor_init(&r));
        hb_redactor_begin_file(&r, "file");
        hb_redactor_learnt(&r);
        /* As the value, and as its key. */
        hb_redact_text(&r, i % 2 ? whole : word, whole, &out);
        hb_buf_free(&out);
        hb_buf_free(&text);
        hb_redactor_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_tells_too_much_is_replaced),
        cmocka_unit_test(what_tells_nothing_stays),
        cmocka_unit_test(names_of_event_files_tell_a_host),
        cmocka_unit_test(names_of_traces_stay_names_of_traces),
        cmocka_unit_test(one_thing_has_one_replacement),
        cmocka_unit_test(keys_of_services_have_a_length),
        cmocka_unit_test(secrets_have_a_form),
        cmocka_unit_test(secrets_are_named),
        cmocka_unit_test(addresses_have_a_form),
        cmocka_unit_test(directories_have_a_form),
        cmocka_unit_test(homes_tell_of_users),
        cmocka_unit_test(long_texts_are_looked_through_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
