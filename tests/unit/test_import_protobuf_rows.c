/* SPDX-License-Identifier: MIT
 *
 * Every row of Perfetto's protobuf and of XSpace, with all that is told of it, odd ones among them.
 */
#include <zlib.h>

#include "imported_rows.h"
#include "protobuf_text.h"

static const char *keep_protobuf(const char *name, const char *text)
{
    static char bytes[1 << 16];
    return keep_bytes(name, bytes, protobuf_of(text, bytes, sizeof bytes));
}

/* ---- Perfetto: packets of one sequence at times since boot ---- */

#define PACKET(fields)    "1 { 10: 1 " fields " }"
#define TRACK(fields)     PACKET("60 { " fields " }")
#define EVENT(time, type, track, fields) \
    PACKET("8: " #time " 11 { 9: " #type " 11: " #track " " fields " }")
#define BEGIN(time, track, category, name, more) \
    EVENT(time, 1, track, "22 = '" category "' 23 = '" name "' " more)
#define END(time, track)              EVENT(time, 2, track, "")
#define MOMENT(time, track, category, name, more) \
    EVENT(time, 3, track, "22 = '" category "' 23 = '" name "' " more)
#define SLICE(begin, end, track, category, name, more) \
    BEGIN(begin, track, category, name, more) END(end, track)
#define NUMBER(name, value) "4 { 10 = '" name "' 3: " #value " }"
#define DOUBLE(name, value) "4 { 10 = '" name "' 5 ! " #value " }"
#define TEXT(name, value)   "4 { 10 = '" name "' 6 = '" value "' }"

/* Rows by their descriptions: of a process, of threads, of nothing, of GPUs by their names, within
 * each other; and of nobody. */
static const char rows[] =
    TRACK("1: 1 3 { 1: 4711 6 = '/usr/bin/train' }")
    TRACK("1: 2 4 { 1: 4711 2: 4712 5 = 'worker' }")
    TRACK("1: 3 5: 1 2 = 'THREAD 1 (4713)'")
    TRACK("1: 4 5: 1 2 = 'COMPUTE AGENT [5] QUEUE [2] (GPU)'")
    TRACK("1: 5 5: 1 10 = 'COPY to AGENT [4] THREAD [1] (GPU)'")
    TRACK("1: 6 5: 2 2 = 'inside'")
    TRACK("1: 7 5: 1 2 = 'STREAM [3] of GPU \"1\" DEVICE #0'")
    TRACK("1: 8 5: 7 2 = 'QUEUE (9)'")
    TRACK("1: 9 4 { 1: 20 2: 21 }")
    TRACK("1: 10 5: 99 2 = 'alone'")
    TRACK("1: 11 3 { 1: 20 6 = 'serve' }")
    TRACK("1: 12 5: 1 2 = 'THREAD x'")
    TRACK("1: 13 5: 1 2 = 'other (4714)'")
    SLICE(100, 190, 2, "mine", "op", TEXT("op_name", "Op"))
    SLICE(110, 120, 3, "hip_api", "hipFree", NUMBER("corr_id", 7))
    SLICE(121, 122, 6, "mine", "in it", "")
    SLICE(130, 140, 4, "kernel", "k", NUMBER("corr_id", 7))
    SLICE(150, 160, 5, "MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", NUMBER("bytes", 5))
    SLICE(170, 175, 7, "kernel", "of a stream", "")
    SLICE(180, 185, 8, "kernel", "of a queue", "")
    SLICE(200, 210, 9, "mine", "theirs", "") SLICE(220, 230, 10, "mine", "alone", "")
    SLICE(240, 250, 77, "mine", "of nobody", "") SLICE(260, 270, 12, "mine", "no number", "")
    SLICE(280, 290, 13, "mine", "no thread", "") SLICE(300, 310, 1, "mine", "process", "")
    "2 { 10: 1 8: 400 11 { 9: 3 11: 1 22 = 'mine' 23 = 'no packet' } } 1: 5";

static const char rows_of_rows[] =
    "process 4711 'train' '' of Perfetto\n"
    "NO_CALL 3\n"
    "NO_RANGE 1\n"
    "NO_GRID 3\n"
    "NO_REGISTERS 3\n"
    "thread 4712 'worker'\n"
    "thread 4713 ''\n"
    "thread 2147483657 'alone'\n"
    "thread 2147483661 ''\n"
    "thread 2147483659 'THREAD x'\n"
    "thread 2147483660 'other (4714)'\n"
    "thread 2147483648 '/usr/bin/train'\n"
    "op 4712 100-190 'Op' id 1\n"
    "op 4712 121-122 'in it' id 2\n"
    "op 2147483657 220-230 'alone' id 3\n"
    "op 2147483661 240-250 'of nobody' id 4\n"
    "op 2147483659 260-270 'no number' id 5\n"
    "op 2147483660 280-290 'no thread' id 6\n"
    "op 2147483648 300-310 'process' id 7\n"
    "call 4713 110-120 'hipFree' no 7 launches\n"
    "kernel 0/3 170-175 'of a stream' of no call\n"
    "kernel 0/3 180-185 'of a queue' of no call\n"
    "copy 1/0 150-160 'Memcpy HtoD (Host -> Device)' bytes 5 HtoD -1>1 of no call\n"
    "kernel 2/2 130-140 'k' no 7\n"
    "process 20 'serve' '' of Perfetto\n"
    "thread 21 ''\n"
    "op 21 200-210 'theirs' id 1\n";

static void rows_by_their_descriptions(void **state)
{
    (void)state;
    check_rows(keep_protobuf("t", rows), NULL, rows_of_rows);
}

/* By rows of processes that stand before their threads' or behind them, in which these are told to
 * be or not. */
static void names_of_processes(void **state)
{
    static const char *const files[] = {
        TRACK("1: 1 3 { 1: 5 6 = '/usr/bin/train' }") TRACK("1: 2 4 { 1: 5 2: 6 }")
            MOMENT(1, 2, "mine", "a", ""),
        TRACK("1: 2 4 { 1: 5 2: 6 }") MOMENT(1, 2, "mine", "a", "")
            TRACK("1: 1 3 { 1: 5 6 = '/usr/bin/train' }"),
        TRACK("1: 1 3 { 1: 5 6 = 'train' }") TRACK("1: 2 5: 1 4 { 1: 5 2: 6 }")
            TRACK("1: 3 3 { 1: 5 6 = 'other' }") MOMENT(1, 2, "mine", "a", ""),
        TRACK("1: 1 2 = 'train' 3 { 1: 5 }") TRACK("1: 2 4 { 1: 5 2: 6 5 = 'thread' }")
            MOMENT(1, 2, "mine", "a", "") TRACK("1: 4 3 { 1: 9 6 = 'none' }"),
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(files); i++) {
        hb_import *import = import_dropping(keep_protobuf("t", files[i]), NULL);
        assert_int_equal(hb_import_count(import), 1);
        assert_string_equal(hb_import_get(import, 0)->program, "train");
        hb_import_close(import);
    }
}

/* Of one thread, whose name is told by one of them alone. */
static void rows_of_one_thread(void **state)
{
    static const struct {
        int named, other; /* rows in the order in which they are met */
    } orders[] = {{1, 2}, {2, 1}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(orders); i++) {
        char text[2000];
        snprintf(text, sizeof text,
                 TRACK("1: %d 4 { 1: 5 2: 4712 5 = 'main' }")
                     TRACK("1: %d 5: 3 2 = 'THREAD 1 (4712)'") TRACK("1: 3 3 { 1: 5 }")
                     TRACK("1: 4 5: 1 2 = 'one' 8 { }") TRACK("1: 5 5: 2 2 = 'two' 8 { }")
                 EVENT(5, 4, 4, "30: 1") EVENT(5, 4, 5, "30: 1")
                 MOMENT(6, 1, "memory", "m", NUMBER("bytes", 8) NUMBER("total_allocated", 8))
                 MOMENT(7, 2, "memory", "m", NUMBER("bytes", 9) NUMBER("total_allocated", 17))
                 SLICE(10, 90, 1, "mine", "outer", "") SLICE(20, 80, 2, "mine", "inner", "")
                 SLICE(30, 40, 1, "hip_api", "a", "") SLICE(50, 60, 2, "hip_api", "b", ""),
                 orders[i].named, orders[i].other);
        check_rows(keep_protobuf("t", text), NULL,
                   "process 5 '' '' of Perfetto\n"
                   "thread 4712 'main'\n"
                   "op 4712 10-90 'outer' id 1\n"
                   "op 4712 20-80 'inner' id 2\n"
                   "memory 4712 6 +8 = 8\n"
                   "memory 4712 7 +9 = 17\n"
                   "sample 4712 5 'one' 1\n"
                   "sample 4712 5 'two' 1\n"
                   "call 4712 30-40 'a' in 2\n"
                   "call 4712 50-60 'b' in 2\n");
    }
}

/* Args of all types, by names and by numbers of names; what belongs together by arrows. */
static const char args[] =
    TRACK("1: 1 4 { 1: 5 2: 5 }")
    PACKET("12 { 1 { 1: 1 2 = 'kernel' } 2 { 1: 2 2 = 'by numbers' } 3 { 1: 3 2 = 'stream' }"
           " 3 { 1: 4 2 = 'agent' } 29 { 1: 5 2 = 'GPU 3' } 7 { 1: 6 2 = 'none' } }"
           "8: 10 11 { 9: 1 11: 1 3: 1 10: 2 4 { 1: 3 3: 8 } 4 { 1: 4 17: 5 } 4 { 1: 99 3: 1 } }")
    END(20, 1)
    SLICE(30, 40, 1, "kernel", "types",
          "4 { 10 = 'device' 2: 1 } 4 { 10 = 'stream' 4: 2 } 4 { 10 = 'queue' 7: 3 }"
          DOUBLE("WAVES", 2.5) DOUBLE("registers per thread", 40.0) NUMBER("BUSY", 7)
          TEXT("grid", "[2,3,4]") TEXT("none", "x") NUMBER("kernel_id", 9)
          "4 { 10 = 'block' 12 { 3: 64 } 12 { 4: 2 } 12 { 3: 1 } 12 { 3: 9 } }"
          "4 { 10 = 'odd' 8 = 'x' } 4 { 3: 5 }")
    SLICE(50, 60, 1, "kernel", "triples",
          "4 { 10 = 'grid' 12 { 3: 99999999999 } 12 { 3: 2 } 12 { 3: 3 } }"
          "4 { 10 = 'block' 12 { 3: 1 } 12 { 3: 2 } }"
          "4 { 10 = 'stream' 12 { 3: 1 } 12 { 3: 2 } 12 { 3: 3 } 3: 4 }")
    TRACK("1: 2 2 = 'GPU 1 STREAM 5 and STREAM [(#6)]'") TRACK("1: 3 2 = 'device 2, queue 41'")
    TRACK("1: 4 2 = 'stream 0 queue 3'") SLICE(67, 68, 4, "kernel", "on the first stream", "")
    SLICE(61, 62, 2, "kernel", "by its row", "") SLICE(63, 64, 3, "kernel", "by its row", "")
    SLICE(65, 66, 3, "kernel", "by args", NUMBER("device", 0) NUMBER("queue", 7))
    BEGIN(70, 1, "hip_api", "ends tell more", TEXT("ptr", "0x10"))
    EVENT(80, 2, 1, NUMBER("size", 77) NUMBER("corr_id", 3))
    SLICE(81, 82, 1, "hip_api", "flow 36", "36: 1") SLICE(83, 84, 1, "hip_api", "flow 42", "42: 2")
    SLICE(85, 86, 1, "hip_api", "flow 47", "47: 4") SLICE(87, 88, 1, "hip_api", "flow 48", "48: 5")
    SLICE(89, 90, 1, "hip_api", "arg before flow", "36: 6 " NUMBER("corr_id", 7))
    SLICE(91, 92, 1, "hip_api", "large flow", "36: 9223372036854775809")
    MOMENT(93, 1, "mine", "moment", "") MOMENT(94, 1, "mine", "", "")
    MOMENT(95, 1, "memory", "[memory]", NUMBER("Bytes", 64) NUMBER("Total Allocated", 64)
           NUMBER("Addr", 16) NUMBER("Device Type", 1) NUMBER("Device Id", 2))
    EVENT(96, 5, 1, "23 = 'no type'") EVENT(97, 0, 1, "23 = 'no type'")
    EVENT(98, 1, 1, "23 = 'no category'") END(99, 1);

static const char rows_of_args[] =
    "process 5 '' '' of Perfetto serialised\n"
    "NO_CALL 7\n"
    "NO_GRID 6\n"
    "NO_REGISTERS 6\n"
    "thread 5 ''\n"
    "op 5 93 'moment' id 1\n"
    "op 5 94 id 2\n"
    "op 5 98-99 'no category' id 3\n"
    "memory 5 95 at 0x10 gpu 2 +64 = 64\n"
    "call 5 70-80 'ends tell more' no 3 ptr 0x10 bytes 77\n"
    "call 5 81-82 'flow 36' no 1\n"
    "call 5 83-84 'flow 42' no 2\n"
    "call 5 85-86 'flow 47' no 4\n"
    "call 5 87-88 'flow 48' no 5\n"
    "call 5 89-90 'arg before flow' no 7\n"
    "call 5 91-92 'large flow' no 1\n"
    "kernel 0/0 67-68 'on the first stream' of no call\n"
    "kernel 0/4 50-60 'triples' of no call\n"
    "kernel 0/7 65-66 'by args' of no call\n"
    "kernel 1/2 30-40 'types' grid 2,3,4 block 64,2,1 registers 40,0,0 WAVES=2.5 BUSY=7 of "
    "no call\n"
    "kernel 1/6 61-62 'by its row' of no call\n"
    "kernel 2/41 63-64 'by its row' of no call\n"
    "kernel 3/8 10-20 'by numbers' of no call\n";

static void args_of_all_types(void **state)
{
    (void)state;
    check_rows(keep_protobuf("t", args), NULL, rows_of_args);
}

/* Of threads, of processes and of rows alone; with units, and bytes by their number. */
static const char samples[] =
    TRACK("1: 1 3 { 1: 5 }") TRACK("1: 2 5: 1 2 = 'power' 8 { 6 = 'W' }")
    TRACK("1: 3 5: 1 2 = 'memory' 8 { 3: 3 }") TRACK("1: 4 4 { 1: 5 2: 6 5 = 'main' }")
    TRACK("1: 5 5: 4 2 = 'queue' 8 { 3: 2 }") TRACK("1: 6 5: 1 8 { }")
    EVENT(10, 4, 2, "30: 7") EVENT(11, 4, 3, "44 ! 2.5") EVENT(12, 4, 5, "30: -1")
    EVENT(13, 4, 6, "30: 1 23 = 'own name'") EVENT(14, 4, 6, "30: 1") EVENT(15, 4, 2, "")
    EVENT(16, 4, 2, "30: 7 44 ! 8.5") EVENT(18446744073709551615, 4, 2, "30: 7");

static const char rows_of_samples[] =
    "process 5 '' '' of Perfetto\n"
    "BAD_TIMES 1\n"
    "BAD_ROWS 2\n"
    "thread 5 ''\n"
    "thread 6 'main'\n"
    "sample 5 10 'power' 7 'W'\n"
    "sample 5 11 'memory' 2.5 'bytes'\n"
    "sample 5 13 'own name' 1\n"
    "sample 5 16 'power' 8.5 'W'\n"
    "sample 6 12 'queue' -1\n";

static void samples_of_rows(void **state)
{
    const char *path = keep_protobuf("t", samples);
    (void)state;
    check_rows(path, NULL, rows_of_samples);
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    hb_import *import;
    o.drop = "counters";
    assert_int_equal(hb_import_open_any(path, &o, &import), HB_ERROR_FORMAT);
}

/* ---- clocks and sequences ---- */

#define ON(sequence, fields) "1 { 10: " #sequence " " fields " }"
#define CLOCK(id, time, more) "1 { 1: " #id " 2: " #time " " more " }"
#define AT(sequence, time, clock, type, more) \
    ON(sequence, "8: " #time " 58: " #clock " 11 { 9: " #type " 11: 1 " more " }")

static void clocks_of_packets(void **state)
{
    static const struct {
        const char *text, *expected;
    } files[] = {
        /* the trace's is that since boot; others count from elsewhere, in other units, and on */
        {TRACK("1: 1 4 { 1: 5 2: 5 }")
         ON(1, "6 { }")
         ON(1, "6 { " CLOCK(1, 1700000000000000500, "") CLOCK(3, 1000, "") CLOCK(6, 500, "")
            CLOCK(64, 10, "3: 1 4: 1000") CLOCK(65, 20, "4: 0") "}")
         AT(1, 700, 0, 1, "23 = 'boot'") AT(1, 710, 6, 2, "") AT(1, 1300, 3, 1, "23 = 'other'")
         AT(1, 1310, 3, 2, "") AT(1, 5, 64, 1, "23 = 'counts on'") AT(1, 1, 64, 2, "")
         AT(1, 25, 65, 1, "23 = 'own'") AT(1, 30, 65, 2, "") AT(1, 1, 66, 1, "23 = 'lost'")
         AT(1, 1, 66, 2, "") AT(2, 30, 65, 3, "23 = 'not theirs'")
         /* once more: clocks of their own count anew, others go on */
         ON(1, "6 { " CLOCK(6, 600, "") CLOCK(1, 1700000000000009999, "") CLOCK(65, 0, "") "}")
         AT(1, 1, 65, 3, "23 = 'anew'") ON(1, "59 { 58: 65 11 { 11: 1 } }")
         ON(1, "8: 5 11 { 9: 3 23 = 'as its sequence has it' }")
         ON(1, "13: 1 8: 6 11 { 9: 3 11: 1 23 = 'cleared' }"),
         "process 5 '' '' of Perfetto at 1700000000000000000\n"
         "BAD_TIMES 2\n"
         "thread 5 ''\n"
         "op 5 6 'cleared' id 7\n"
         "op 5 505-510 'own' id 4\n"
         "op 5 601 'anew' id 5\n"
         "op 5 605 'as its sequence has it' id 6\n"
         "op 5 700-710 'boot' id 1\n"
         "op 5 800-810 'other' id 2\n"
         "op 5 5500-6500 'counts on' id 3\n"},
        /* without one since boot: the first one */
        {TRACK("1: 1 4 { 1: 5 2: 5 }") ON(1, "6 { " CLOCK(3, 1000, "") CLOCK(4, 7000, "") "}")
         AT(1, 1100, 3, 3, "23 = 'first'") AT(1, 7200, 4, 3, "23 = 'second'")
         ON(1, "6 { " CLOCK(4, 8000, "") CLOCK(64, 5, "") "}") AT(1, 10, 64, 3, "23 = 'own'"),
         "process 5 '' '' of Perfetto\n"
         "thread 5 ''\n"
         "op 5 1100 'first' id 1\n"
         "op 5 1200 'second' id 2\n"
         "op 5 2005 'own' id 3\n"},
        /* of two sequences, one of which is told that it lost packets, in all ways; tables */
        {TRACK("1: 1 4 { 1: 5 2: 5 }") ON(1, "12 { 2 { 1: 1 2 = 'one' } 2 { 2 = 'none' } }")
         ON(2, "12 { 2 { 1: 1 2 = 'other' } }") ON(1, "8: 1 11 { 9: 3 11: 1 10: 1 }")
         ON(2, "8: 2 11 { 9: 3 11: 1 10: 1 }")
         ON(1, "42: 1") ON(1, "42: 0") ON(1, "41: 1")
         ON(1, "8: 3 11 { 9: 3 11: 1 10: 1 }") ON(2, "13: 2 8: 4 11 { 9: 3 11: 1 10: 1 }")
         ON(2, "13: 3 8: 5 11 { 9: 3 11: 1 10: 1 }"),
         "process 5 '' '' of Perfetto\n"
         "BAD_ROWS 2\n"
         "LOST 1\n"
         "thread 5 ''\n"
         "op 5 1 'one' id 1\n"
         "op 5 2 'other' id 2\n"
         "op 5 4 'other' id 3\n"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(files); i++)
        check_rows(keep_protobuf("t", files[i].text), NULL, files[i].expected);
}

/* Deflated packets; of those within each other, and of what is cut off, some are lost. */
static void deflated_packets(void **state)
{
    static char plain[1000], deflated[1000], file[2000];
    (void)state;
    for (int how = 0; how < 3; how++) {
        uLongf packed = sizeof deflated;
        size_t size = protobuf_of(TRACK("1: 1 4 { 1: 5 2: 5 }") MOMENT(1, 1, "mine", "a", ""),
                                  plain, sizeof plain);
        for (int depth = 0; depth < (how == 2 ? 2 : 1); depth++) {
            hb_message m = HB_MESSAGE_IN(file), p = HB_MESSAGE_IN(plain);
            packed = sizeof deflated;
            assert_int_equal(compress((Bytef *)deflated, &packed, (Bytef *)plain, size), Z_OK);
            hb_message_bytes(&p, 50, deflated, packed - (how == 1 ? 3 : 0));
            hb_message_inside(&m, 1, plain, &p);
            size = (size_t)(m.at - file);
            memcpy(plain, file, size);
        }
        size += protobuf_of(MOMENT(2, 1, "mine", "b", ""), file + size, sizeof file - size);
        hb_import *import = import_dropping(keep_bytes("t", file, size), NULL);
        const hb_imported *p = hb_import_get(import, 0);
        assert_int_equal(p->ranges, how == 2 ? 1 : 2);
        assert_int_equal(note_of(p, "LOST"), how != 0);
        hb_import_close(import);
    }
}

/* What hipboard writes beside the events. */
static void what_hipboard_tells(void **state)
{
    (void)state;
    check_rows(
        keep_protobuf(
            "t", TRACK("1: 1 4 { 1: 5 2: 5 }") MOMENT(1, 1, "mine", "a", "")
                 SLICE(2, 3, 1, "kernel", "k", NUMBER("device", 2))
                 MOMENT(4, 1, "hipboard_info",
                        "{\"host\": \"node7\", \"program\": \"train\", \"serialised\": true,"
                        " \"distributed\": {\"rank\": 2, \"world_size\": 8}, \"devices\": [7,"
                        "{\"id\": 0, \"name\": \"MI300X\", \"arch\": \"gfx942\", \"major\": 9,"
                        " \"minor\": 4, \"block\": 1024, \"cuThreads\": 2048, \"registers\": 65536,"
                        " \"wave\": 64, \"cus\": 304, \"clockKhz\": 2100000,"
                        " \"memoryKhz\": 1300000,"
                        " \"busBits\": 8192, \"memory\": 206141652992, \"lds\": 65536,"
                        " \"cuLds\": 65537}, {\"id\": 0, \"cus\": 5}, {\"cus\": 6},"
                        " {\"id\": 1, \"cus\": 9999999999, \"memory\": -5, \"name\": 7}]}", "")
                 MOMENT(5, 1, "hipboard_info", "no JSON", "")
                 MOMENT(6, 1, "hipboard_info", "{\"others\": [{\"id\": 2, \"cus\": 9}],"
                        " \"devices\": 5, \"distributed\": [1], \"other\": {\"rank\": 7}}", "")
                 MOMENT(7, 1, "hipboard_infos", "not ours", "")),
        NULL,
        "process 5 'train' 'node7' of Perfetto rank 2 of 8 serialised\n"
        "NO_CALL 1\n"
        "NO_GRID 1\n"
        "NO_REGISTERS 1\n"
        "thread 5 ''\n"
        "gpu 0 'MI300X' 'gfx942' memory 206141652992 version 9.4 block 1024 threads 2048 "
        "registers 65536 wave 64 lds 65536 cus 304 lds of a cu 65537 khz 2100000 memory khz "
        "1300000 bus 8192\n"
        "gpu 1 '' '' cus 2147483647\n"
        "op 5 1 'a' id 1\n"
        "op 5 7 'not ours' id 2\n"
        "kernel 2/0 2-3 'k' of no call\n");
}

/* ---- XSpace ---- */

#define NAME(field, id, name) #field " { 1: " #id " 2 { 1: " #id " 2 = '" name "' } }"

static const char xspace[] =
    "1 { 1: 1 2 = '/device:GPU:1'"
    NAME(4, 1, "gemm.kd") NAME(4, 2, "MemcpyH2D") NAME(4, 3, "MemcpyD2H")
    NAME(4, 4, "CopyDeviceToHost")
    NAME(4, 5, "CopyHostToDevice") NAME(4, 6, "Memcpy") NAME(4, 7, "")
    NAME(5, 1, "correlation_id") NAME(5, 2, "kernel_details") NAME(5, 3, "memcpy_details")
    NAME(5, 4, "core_count") NAME(5, 5, "memory_size") NAME(5, 6, "compute_cap_major")
    NAME(5, 7, "compute_cap_minor") NAME(5, 8, "kind:H2D size:77") NAME(5, 9, "other")
    "6 { 1: 4 3: 304 } 6 { 1: 5 4: 4000 } 6 { 1: 6 3: 9 } 6 { 1: 7 3: 4 } 6 { 1: 9 3: 5 }"
    "3 { 1: 3 2 = 'Stream #3' 3: 1000"
    " 4 { 1: 1 2: 5999 3: 7000 4 { 1: 1 3: 7 }"
    " 4 { 1: 2 5 = 'grid:2,3,4 block:64,1,99999999999 group_mem:128 private_mem:16' } }"
    " 4 { 1: 2 2: 20000 3: 1000 4 { 1: 1 4: 8 } 4 { 1: 3 7: 8 } }"
    " 4 { 1: 3 2: 30000 3: 1000 4 { 1: 3 5 = 'size:x' } }"
    " 4 { 1: 4 2: 40000 3: 1000 } 4 { 1: 5 2: 50000 3: 1000 } 4 { 1: 6 2: 60000 3: 1000 }"
    " 4 { 1: 6 2: 70000 3: 1000 4 { 1: 2 5 = 'grid:2,3' } }"
    " 4 { 1: 7 2: 80000 3: 1000 4 { 1: 2 5 = 'grid:2,3,4block:5,6' } 4 { 1: 1 3: -5 } }"
    " 4 { 1: 99 2: 90000 3: 1000 4 { 1: 99 3: 5 } } 4 { 1: 1 2: 100000 4 { 1: 3 7: 99 } } } }"
    "1 { 2 = '/device:GPU:0'" NAME(5, 1, "core_count") "6 { 1: 1 3: 104 }"
    " 3 { 1: 9999999999 3: 5 4 { 2: 1000 3: 1000 } } }"
    "1 { 2 = '/device:GPU:1024' 3 { 1: 1 4 { 2: 1000 3: 1000 } } }"
    "1 { 2 = '/device:TPU:0' 3 { 1: 1 4 { 2: 1000 3: 1000 } } }"
    "1 { 2 = '/host:CPU'"
    NAME(4, 1, "hipLaunchKernel") NAME(4, 2, "cuMemcpy") NAME(4, 3, "$python") NAME(4, 4, "XLA op")
    NAME(4, 5, "hipGetLastError") NAME(5, 1, "correlation_id") NAME(5, 2, "hlo_op")
    "3 { 1: 7 2 = 'main' 4 { 1: 1 2: 3000 3: 2000 4 { 1: 1 3: 7 } 4 { 1: 2 5 = 'fusion' } }"
    " 4 { 1: 2 2: 6000 3: 1000 4 { 1: 1 3: 8 } } 4 { 1: 1 2: 8000 3: 1000 }"
    " 4 { 1: 3 2: 1000 3: 9000 } 4 { 1: 4 2: 2000 3: 1000 4 { 1: 1 3: 9 } } 4 { 1: 9 2: 1 3: 1 }"
    " 4 { 1: 5 2: 9000 4 { 1: 1 3: 5 } } }"
    "3 { 1: 2147483648 3: 18446744073709551615 4 { 1: 4 } } 3 { 1: 2147483647 4 { 1: 4 } } }"
    "1 { 2 = 'Task' 3 { 1: 1 4 { 2: 1000 3: 1000 } } }"
    "4 = 'node7'";

static const char rows_of_xspace[] =
    "process 0 '' 'node7' of XPlane\n"
    "NO_CALL 9\n"
    "NO_GRID 5\n"
    "NO_REGISTERS 6\n"
    "NO_BYTES 4\n"
    "BAD_ROWS 1\n"
    "thread 7 'main'\n"
    "thread 2147483650 ''\n"
    "thread 2147483647 ''\n"
    "gpu 0 '' '' cus 104\n"
    "gpu 1 '' '' memory 4000 version 9.4 cus 304\n"
    "annotation 7 1-10 '$python' in 3\n"
    "op 7 2-3 'XLA op' id 4\n"
    "op 7 3-5 'fusion' id 1\n"
    "op 7 8-9 'hipLaunchKernel' id 2\n"
    "op 2147483650 2305843009213693951 'XLA op' id 5\n"
    "op 2147483647 0 'XLA op' id 6\n"
    "call 7 3-5 'hipLaunchKernel' no 7 in 1 launches\n"
    "call 7 6-7 'cuMemcpy' no 8 in 3 launches\n"
    "call 7 9 'hipGetLastError' minor no 5 in 3\n"
    "kernel 0/2147483649 6-7 '(kernel without name)' of no call\n"
    "kernel 1/3 1005-1012 'gemm' no 7 in 1 grid 2,3,4 block 64,1,4294967295 lds 128 scratch "
    "16\n"
    "copy 1/3 1020-1021 'Memcpy HtoD (Host -> Device)' no 8 in 3 bytes 77 HtoD -1>1\n"
    "copy 1/3 1030-1031 'Memcpy DtoH (Device -> Host)' DtoH 1>-1 of no call\n"
    "copy 1/3 1040-1041 'Memcpy DtoH (Device -> Host)' DtoH 1>-1 of no call\n"
    "copy 1/3 1050-1051 'Memcpy HtoD (Host -> Device)' HtoD -1>1 of no call\n"
    "copy 1/3 1060-1061 'Memcpy DtoD (Device -> Device)' DtoD 1>1 of no call\n"
    "kernel 1/3 1070-1071 'Memcpy' of no call\n"
    "kernel 1/3 1080-1081 '(kernel without name)' of no call\n"
    "kernel 1/3 1090-1091 '(kernel without name)' of no call\n"
    "kernel 1/3 1100 'gemm' of no call\n";

static void planes_of_xspace(void **state)
{
    static const rows_left left[] = {
        {"hip", 6, 5, 0, 6, 0, 0, 0, 3},
        {"ranges", 6, 5, 3, 0, 0, 0, 0, 6},
        {"copies", 6, 0, 3, 6, 0, 0, 0, 5},
    };
    static char text[sizeof xspace + 200];
    const char *path = keep_protobuf("x.pb", xspace);
    (void)state;
    check_rows(path, NULL, rows_of_xspace);
    check_drops(path, left, HB_ARRAY_LEN(left));
    for (int start = -1; start < 2; start++) { /* the time of day */
        snprintf(text, sizeof text, "%s 1 { 2 = '/x' %s 6 { 1: 1 3: %d } }", xspace,
                 NAME(5, 1, "profile_start_time"), start);
        hb_import *import = import_dropping(keep_protobuf("x.pb", text), NULL);
        assert_int_equal(import->processes[0]->clock_is_unix, start > 0);
        if (start == 1) assert_int_equal(import->processes[0]->offset, 1);
        hb_import_close(import);
    }
}

/* Planes of the host, or of a GPU, alone; what is broken in one is lost. */
static void planes_alone(void **state)
{
    static const struct {
        const char *text;
        unsigned kernels, ranges, lost;
    } files[] = {
        {"1 { 2 = '/host:CPU' " NAME(4, 1, "a") " 3 { 1: 1 4 { 1: 1 } } }", 0, 1, 0},
        {"1 { 2 = '/device:GPU:0' " NAME(4, 1, "a") " 3 { 1: 1 4 { 1: 1 } } }", 1, 0, 0},
        {"1 { 2 = '/host:CPU' " NAME(4, 1, "a") " 3 { 1: 1 4 { 1: 1 } } 3 = '\x0b' }", 0, 1, 1},
        {"1 { 2 = '/host:CPU' " NAME(4, 1, "a") " 3 { 1: 1 4 { 1: 1 } } } 1 = '/\x0b' 1 = '\x0b'",
         0, 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(files); i++) {
        hb_import *import = import_with(keep_protobuf("x.pb", files[i].text), NULL);
        const hb_imported *p = hb_import_get(import, 0);
        assert_string_equal(p->format, "XPlane");
        assert_int_equal(p->kernels, files[i].kernels);
        assert_int_equal(p->ranges, files[i].ranges);
        assert_int_equal(note_of(p, "LOST"), files[i].lost);
        hb_import_close(import);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(rows_by_their_descriptions),
        IN_DIR(names_of_processes),
        IN_DIR(rows_of_one_thread),
        IN_DIR(args_of_all_types),
        IN_DIR(samples_of_rows),
        IN_DIR(clocks_of_packets),
        IN_DIR(deflated_packets),
        IN_DIR(what_hipboard_tells),
        IN_DIR(planes_of_xspace),
        IN_DIR(planes_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
