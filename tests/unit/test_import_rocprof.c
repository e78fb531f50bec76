/* SPDX-License-Identifier: MIT
 *
 * Tables of rocprof, rocprofv2 and rocprofv3, and rocprof's JSON: real ones, and small ones made
 * here, as whole sets and broken.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "import/csv_rows.h"
#include "imported.h"

#define KERNEL_HEADER                                                                 \
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\"," \
    "\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\","           \
    "\"End_Timestamp\",\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\","           \
    "\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\","  \
    "\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n"
#define CALL_HEADER                                                            \
    "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\"," \
    "\"Start_Timestamp\",\"End_Timestamp\"\n"
#define COUNTER_HEADER                                                              \
    "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\","  \
    "\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\"," \
    "\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\","      \
    "\"SGPR_Count\",\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n"

static const char kernels[] = KERNEL_HEADER
    "\"KERNEL_DISPATCH\",\"Agent 5\",2,7,4711,1,3,\"gemm<\"x\">(float*, int)\",2,2400000,2500000,"
    "65536,32,96,4,48,256,1,1,512,128,1\n"
    "\"KERNEL_DISPATCH\",\"Agent 4\",1,6,4711,2,4,\"a \"\"quoted\"\" one\",9,2600000,2600500,"
    "0,0,8,0,16,64,1,1,100,1,1\n";

static void make_set(void)
{
    keep_text("4711_kernel_trace.csv", kernels);
    keep_text("4711_hip_api_trace.csv", CALL_HEADER
              "\"HIP_RUNTIME_API_EXT\",\"hipLaunchKernel\",4711,4712,2,2200000,2210000\n"
              "\"HIP_RUNTIME_API_EXT\",\"hipMemcpy\",4711,4712,3,2300000,2310000\n"
              "\"HIP_COMPILER_API_EXT\",\"__hipPushCallConfiguration\",4711,4712,1,"
              "2100000,2101000\n");
    keep_text("4711_marker_api_trace.csv",
              CALL_HEADER "\"MARKER_CORE_API\",\"forward, pass\",4711,4712,5,2000000,3000000\n");
    keep_text("4711_memory_copy_trace.csv",
              "\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\","
              "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
              "\"MEMORY_COPY\",\"MEMORY_COPY_HOST_TO_DEVICE\",7,\"Agent 0\",\"Agent 5\",3,2350000,"
              "2360000\n");
    keep_text("4711_memory_allocation_trace.csv",
              "\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\","
              "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
              "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 5\",1000,"
              "\"0x00007ffb26354000\",1,1500000,1600000\n"
              "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_FREE\",\",0,\"0x00007ffb26354000\",8,"
              "4000000,4100000\n");
    keep_text("4711_agent_info.csv",
              "\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Cu_Count\",\"Simd_Per_Cu\","
              "\"Max_Waves_Per_Simd\",\"Wave_Front_Size\",\"Lds_Size_In_Kb\",\"Name\","
              "\"Product_Name\"\n"
              "0,0,\"CPU\",0,0,0,0,0,\"EPYC\",\"EPYC\"\n"
              "4,4,\"GPU\",304,4,8,64,64,\"gfx942\",\"AMD Instinct MI300X\"\n"
              "5,5,\"GPU\",304,4,8,64,64,\"gfx942\",\"AMD Instinct MI300X\"\n");
    keep_text("4711_counter_collection.csv", COUNTER_HEADER
              "2,1,\"Agent 5\",2,4711,4711,65536,3,\"gemm\",256,0,0,0,0,0,\"SQ_WAVES\",100.5,"
              "2400000,2500000\n"
              "2,1,\"Agent 5\",2,4711,4711,65536,3,\"gemm\",256,0,0,0,0,0,\"SQ_WAVES\",24,"
              "2400000,2500000\n"
              "9,2,\"Agent 4\",2,4711,4711,100,4,\"a\",64,0,0,0,0,0,\"SQ_WAVES\",7,0,0\n"
              "2,1,\"Agent 5\",2,4711,4711,65536,3,\"gemm\",256,0,0,0,0,0,\"GRBM\",3,0,0\n");
    keep_text("4711_scratch_memory_trace.csv",
              "\"Kind\",\"Operation\",\"Agent_Id\",\"Queue_Id\",\"Thread_Id\",\"Alloc_Flags\","
              "\"Start_Timestamp\",\"End_Timestamp\"\n"
              "\"SCRATCH_MEMORY\",\"SCRATCH_MEMORY_ALLOC\",\"Agent 4\",1,113,0,11,12\n");
    keep_text("4711_kernel_stats.csv", "\"Name\",\"Calls\",\"TotalDurationNs\"\n\"gemm\",1,2\n");
}

static void look_at_set(hb_import *import)
{
    static const char *const parts[] = {
        "\"name\": \"gemm<\\\"x\\\">(float*, int)\"",
        "\"name\": \"a \\\"quoted\\\" one\"",
        "\"name\": \"forward, pass\"",
        "\"grid\":     [2, 128, 1], \"block\":     [256, 1, 1]",
        "\"registers per thread\": 96, \"shared memory\": 65536",
        "\"device\": 1, \"stream\": 7,      \"correlation\": 2",
        "\"device\": 0, \"stream\": 6",
        "\"SQ_WAVES\": 124.5, \"GRBM\": 3",
        "\"SQ_WAVES\": 7",
        "\"name\": \"Memcpy HtoD (Host -> Device)\"",
        "\"Total Allocated\": 1000",
        "\"Total Allocated\": 0",
        "\"name\": \"AMD Instinct MI300X\"",
        "est. achieved occupancy %",
        "\"serialised\": true",
    };
    assert_int_equal(hb_import_count(import), 1);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "rocprof CSV");
    assert_int_equal(p->pid, 4711);
    assert_int_equal(p->kernels, 2);
    assert_int_equal(p->copies, 1);
    assert_int_equal(p->calls, 3);
    assert_int_equal(p->ranges, 1);
    assert_int_equal(p->linked, 2);
    assert_int_equal(p->counters, 2);
    assert_int_equal(note_of(p, "NO_CALL"), 1);
    assert_int_equal(note_of(p, "NO_BYTES"), 1);
    assert_int_equal(note_of(p, "NOT_SHOWN"), 1);
    char *text = written_text(import, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        HAS(text, parts[i]);
    HAS_NOT(text, "totalGlobalMem"); /* unknown: 0 would cost the plugin the file */
    free(text);
}

static void a_set_is_one_process(void **state)
{
    (void)state;
    make_set();
    hb_import *import = import_with(dir, NULL);
    look_at_set(import);
    hb_import_close(import);
}

static void one_file_stands_for_its_set(void **state)
{
    (void)state;
    make_set();
    keep_text("4712_kernel_trace.csv", kernels); /* of another process */
    hb_import *import = import_with(in_dir("4711_memory_copy_trace.csv"), NULL);
    look_at_set(import);
    hb_import_close(import);
    hb_trace_file *file;
    assert_int_equal(hb_trace_file_open(in_dir("4711_marker_api_trace.csv"), NULL, &file), HB_OK);
    assert_true(hb_trace_file_num_events(file) > 10);
    hb_trace_file_close(file);
    import = import_with(dir, NULL);
    assert_int_equal(hb_import_count(import), 2);
    assert_int_equal(hb_import_get(import, 1)->pid, 4712);
    hb_import_close(import);
}

/* Without a table of agents the first that did something is the first GPU. */
static void gpus_by_their_order(void **state)
{
    (void)state;
    make_set();
    remove(in_dir("4711_agent_info.csv"));
    hb_import *import = import_with(dir, NULL);
    char *text = written_text(import, 0);
    HAS(text, "\"device\": 1, \"stream\": 7,      \"correlation\": 2");
    HAS(text, "\"Memcpy HtoD (Host -> Device)\"");
    assert_int_equal(hb_import_get(import, 0)->gpus, 2);
    free(text);
    hb_import_close(import);
}

static void tables_of_other_versions(void **state)
{
    (void)state;
    static const struct {
        const char *table, *part;
        unsigned kernels, calls;
    } tables[] = {
        /* rocprof (v1): numbers as products, a column for each counter */
        {"Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,"
         "accum_vgpr,sgpr,wave_size,sig,obj,SQ_WAVES,DispatchNs,BeginNs,EndNs,CompleteNs\n"
         "0,\"gemm(float*) [clone .kd]\",2,0,0,517,518,1048576,64,0,0,8,0,16,64,0x0,0x7f,16384.5,"
         "1000,2000,3000,3100\n",
         "\"SQ_WAVES\": 16384.5", 1, 0},
        /* rocprofv2: an empty line behind the header, no process */
        {"Domain,Function,Start_Timestamp,End_Timestamp,Correlation_ID\n\n"
         "HIP_API,hipMalloc,2000,3000,1\nHIP_API,hipFree,4000,5000,2\n",
         "hipFree", 0, 2},
        /* SDK 0.5: numbers for agents, no streams and registers */
        {"\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\","
         "\"Start_Timestamp\",\"End_Timestamp\",\"Private_Segment_Size\",\"Group_Segment_Size\","
         "\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\","
         "\"Grid_Size_Y\",\"Grid_Size_Z\"\r\n"
         "\"KERNEL_DISPATCH\",3,139690710949888,1,\"gemm\",5,2000,3000,0,0,64,1,1,1024,1,1\r\n",
         "\"grid\":     [16, 1, 1]", 1, 0},
        /* `rocpd convert`: processes of one file by their guid */
        {"Guid,Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
         "a-1,HIP_RUNTIME_API_EXT,hipFree,7,7,1,2000,3000\n",
         "hipFree", 0, 1},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        hb_import *import = import_with(keep_text("any.csv", tables[i].table), NULL);
        char *text = written_text(import, 0);
        HAS(text, tables[i].part);
        HAS_NOT(text, "clone");
        assert_int_equal(hb_import_get(import, 0)->kernels, tables[i].kernels);
        assert_int_equal(hb_import_get(import, 0)->calls, tables[i].calls);
        free(text);
        hb_import_close(import);
    }
}

static void what_is_no_trace(void **state)
{
    (void)state;
    import_refused(
        keep_text("a_kernel_stats.csv", "\"Name\",\"Calls\",\"TotalDurationNs\"\n\"gemm\",1,2\n"),
        HB_ERROR_FORMAT, "statistics, without the time");
    import_refused(keep_text("b.csv", "a,b,c\n1,2,3\n"), HB_ERROR_FORMAT, "of no format");
    import_refused(keep_text("c.csv", KERNEL_HEADER), HB_ERROR_FORMAT, "nothing is in it");
}

/* Cut off anywhere: what is whole is there. */
static void cut_off_anywhere(void **state)
{
    (void)state;
    for (size_t size = sizeof KERNEL_HEADER - 1; size < sizeof kernels; size += 3) {
        hb_import *import = NULL;
        const char *path = keep_bytes("x.csv", kernels, size);
        hb_result result = hb_import_open(&path, 1, NULL, &import);
        if (result == HB_OK) assert_true(hb_import_get(import, 0)->kernels <= 2);
        assert_true(result == HB_OK || result == HB_ERROR_FORMAT);
        hb_import_close(import);
    }
}

/* ---- counters ---- */

#define COUNTED(dispatch, name, counter, value, start)                                         \
#dispatch "," #dispatch ",\"Agent 4\",1,815,815,64,1,\"" name "\",64,0,0,0,0,0,\"" counter \
              "\"," #value "," #start ",9000\n"

static void by_kernel(void **state)
{
    (void)state;
    hb_trace_file *file;
    hb_kernel_counter *list;
    size_t count;
    const char *path = keep_text(
        "815_counter_collection.csv",
        COUNTER_HEADER COUNTED(1, "a", "WAVES", 10, 1000) COUNTED(1, "a", "BUSY", 2.5, 1000)
            COUNTED(2, "b", "WAVES", 7, 2000) COUNTED(3, "a", "WAVES", 30, 3000));
    assert_int_equal(hb_trace_file_open(path, NULL, &file), HB_OK);
    assert_int_equal(hb_trace_file_counters(file, &list, &count), HB_OK);
    assert_int_equal(count, 3);
    assert_string_equal(list[0].kernel, "a");
    assert_string_equal(list[0].counter, "WAVES");
    assert_int_equal(list[0].kernels, 2);
    assert_true(list[0].mean == 20 && list[0].max == 30);
    assert_true(list[1].mean == 2.5);
    assert_string_equal(list[2].kernel, "b");
    hb_free(list);
    hb_trace_file_close(file);
}

/* Of 20,000 kernels; of these each one's last value counts as its first. */
static void of_very_many_kernels(void **state)
{
    enum { KERNELS = 20000 };
    hb_trace_file *file;
    hb_kernel_counter *list;
    size_t count, size = 0, room = (size_t)(KERNELS + 2) * 120;
    char *text = malloc(room);
    (void)state;
    assert_non_null(text);
    size += (size_t)snprintf(text, room, "%s", COUNTER_HEADER);
    for (int i = 0; i < KERNELS + 2; i++) { /* one too many, and the first once more */
        int kernel = i <= KERNELS ? i : 0;
        size += (size_t)snprintf(
            text + size, room - size,
            "%d,%d,\"Agent 4\",1,815,815,64,1,\"k%d\",64,0,0,0,0,0,\"WAVES\",%d,%d,90000\n", i + 1,
            i + 1, kernel, i + 1, 1000 + i);
    }
    assert_int_equal(hb_trace_file_open(keep_text("815_counter_collection.csv", text), NULL, &file),
                     HB_OK);
    assert_int_equal(hb_trace_file_counters(file, &list, &count), HB_OK);
    assert_int_equal(count, KERNELS);
    assert_string_equal(list[0].kernel, "k0");
    assert_int_equal(list[0].kernels, 2);
    assert_true(list[0].max == KERNELS + 2 && list[0].mean == (KERNELS + 3) / 2.0);
    assert_string_equal(list[KERNELS - 1].kernel, "k19999");
    assert_int_equal(list[KERNELS - 1].kernels, 1);
    hb_free(list);
    hb_trace_file_close(file);
    free(text);
}

static void make_passes(int count)
{
    for (int i = 1; i <= count; i++) {
        char name[300];
        snprintf(name, sizeof name, "%s/pass_%d", dir, i);
        assert_int_equal(mkdir(name, 0700), 0);
    }
}

/* The same kernels in each run: their counters are one kernel's, its times the first run's. */
static void passes_are_one_run(void **state)
{
    (void)state;
    make_passes(3);
    keep_text("pass_1/815_counter_collection.csv",
              COUNTER_HEADER COUNTED(1, "a", "WAVES", 10, 1000) COUNTED(2, "b", "WAVES", 7, 2000));
    keep_text("pass_2/816_counter_collection.csv",
              COUNTER_HEADER COUNTED(1, "a", "BUSY", 2.5, 5000) COUNTED(2, "b", "BUSY", 3, 6000));
    keep_text("pass_3/817_counter_collection.csv",
              COUNTER_HEADER COUNTED(1, "a", "IDLE", 2.5, 5000) COUNTED(2, "c", "IDLE", 3, 6000));
    hb_import *import = import_with(dir, NULL);
    assert_int_equal(hb_import_count(import), 2); /* what ran in the third is something else */
    assert_int_equal(hb_import_get(import, 0)->kernels, 2);
    assert_int_equal(note_of(hb_import_get(import, 0), "MERGED_PASSES"), 2);
    char *text = written_text(import, 0);
    HAS(text, "\"WAVES\": 10, \"BUSY\": 2.5");
    HAS(text, "\"WAVES\": 7, \"BUSY\": 3");
    free(text);
    hb_import_close(import);
}

/* A counter that several passes have, to set others in relation to it, is the first one's, as the
 * times are; what two instances of it counted in one pass is added up. */
static void a_counter_of_several_passes_counts_once(void **state)
{
    (void)state;
    make_passes(3);
    keep_text("pass_1/815_counter_collection.csv",
              COUNTER_HEADER COUNTED(1, "a", "WAVES", 10, 1000) COUNTED(1, "a", "GUI", 60, 1000)
                  COUNTED(1, "a", "GUI", 40, 1000) COUNTED(2, "a", "GUI", 200, 2000));
    keep_text("pass_2/816_counter_collection.csv",
              COUNTER_HEADER COUNTED(1, "a", "VALU", 7, 5000) COUNTED(1, "a", "GUI", 101, 5000)
                  COUNTED(2, "a", "GUI", 202, 6000) COUNTED(2, "a", "IDLE", 3, 6000));
    keep_text("pass_3/817_counter_collection.csv",
              COUNTER_HEADER COUNTED(1, "a", "GUI", 99, 5000) COUNTED(2, "a", "GUI", 198, 6000)
                  COUNTED(2, "a", "IDLE", 4, 6000));
    hb_import *import = import_with(dir, NULL);
    assert_int_equal(hb_import_count(import), 1);
    char *text = written_text(import, 0);
    HAS(text, "\"WAVES\": 10, \"GUI\": 100, \"VALU\": 7");
    HAS(text, "\"GUI\": 200, \"IDLE\": 3");
    HAS(text, "\"counter\": \"GUI\", \"kernels\": 2, \"mean\": 150, \"max\": 200");
    free(text);
    hb_import_close(import);
}

/* More of a kernel than any one pass has room for. */
static void many_counters_of_a_kernel(void **state)
{
    enum { OF_A_PASS = 40, PASSES = 5 };
    char text[OF_A_PASS * 120 + sizeof COUNTER_HEADER], name[80];
    (void)state;
    make_passes(PASSES);
    for (int pass = 0; pass < PASSES; pass++) {
        size_t size = (size_t)snprintf(text, sizeof text, "%s", COUNTER_HEADER);
        for (int i = 0; i < OF_A_PASS; i++)
            size += (size_t)snprintf(text + size, sizeof text - size,
                                     "1,1,\"Agent 4\",1,815,815,64,1,\"a\",64,0,0,0,0,0,"
                                     "\"COUNTER_%d\",%d,1000,9000\n",
                                     pass * OF_A_PASS + i, i + 1);
        assert_true(size < sizeof text);
        snprintf(name, sizeof name, "pass_%d/815_counter_collection.csv", pass + 1);
        keep_text(name, text);
    }
    hb_import *import = import_with(dir, NULL);
    assert_int_equal(hb_import_count(import), 1);
    char *trace = written_text(import, 0);
    for (int i = 0; i < PASSES * OF_A_PASS; i++) {
        snprintf(name, sizeof name, "\"COUNTER_%d\": %d", i, i % OF_A_PASS + 1);
        HAS(trace, name);
    }
    free(trace);
    hb_import_close(import);
}

/* v1's table has a column for each counter, and behind them the times. Their names are as long. */
static const char *keep_wide_table(const char *name, int counters, int length)
{
    static char text[80000];
    size_t size = (size_t)snprintf(text, sizeof text, "Index,KernelName,gpu-id,wgr");
    for (int i = 0; i < counters; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, ",C%0*d", length - 1, i);
    size += (size_t)snprintf(text + size, sizeof text - size,
                             ",DispatchNs,BeginNs,EndNs,CompleteNs\n0,\"k\",0,64");
    for (int i = 0; i < counters; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, ",%d", i + 1);
    size += (size_t)snprintf(text + size, sizeof text - size, ",1,1000,2000,3\n");
    assert_true(size < sizeof text);
    return keep_text(name, text);
}

static void a_column_for_each_counter(void **state)
{
    static const struct {
        int counters, length;
    } tables[] = {{50, 4}, {64, 4}, {HB_CSV_MAX_FIELDS - 8, 4}, {HB_CSV_MAX_FIELDS - 8, 100}};
    (void)state;
    keep_text("1_kernel_trace.csv", kernels);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char name[300];
        int n = tables[i].counters;
        hb_import *import = import_with(keep_wide_table("results.csv", n, tables[i].length), NULL);
        assert_int_equal(hb_import_get(import, 0)->kernel_ns, 1000);
        char *trace = written_text(import, 0);
        snprintf(name, sizeof name, "\"C%0*d\": 1,", tables[i].length - 1, 0);
        HAS(trace, name);
        snprintf(name, sizeof name, "\"C%0*d\": %d", tables[i].length - 1, n - 1, n);
        HAS(trace, name);
        free(trace);
        hb_import_close(import);
        import = import_with(dir, NULL); /* beside another one */
        assert_int_equal(hb_import_count(import), 2);
        hb_import_close(import);
    }
}

/* They are said to be too many, whatever lies beside them. */
static void too_many_columns(void **state)
{
    static const int counters[] = {HB_CSV_MAX_FIELDS - 7, 3 * HB_CSV_MAX_FIELDS};
    (void)state;
    keep_text("1_kernel_trace.csv", kernels);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        char reason[100];
        const char *path = keep_wide_table("results.csv", counters[i], 4);
        snprintf(reason, sizeof reason, "results.csv: has %d columns: %d are read", counters[i] + 8,
                 HB_CSV_MAX_FIELDS);
        import_refused(path, HB_ERROR_LIMIT, reason);
        import_refused(dir, HB_ERROR_LIMIT, reason);
    }
}

/* ---- several processes ---- */

/* How rocprofv3's -d and -o name the files of two processes; whether calls tell a number. */
static const struct layout {
    const char *kernels[2], *calls[2], *worker[2], *host;
    int64_t rank[2];
    bool tells_pids;
} layouts[] = {
    {{"node7/4711_kernel_trace.csv", "node7/4712_kernel_trace.csv"},
     {"node7/4711_hip_api_trace.csv", "node7/4712_hip_api_trace.csv"},
     {"process_4711", "process_4712"},
     "",
     {-1, -1},
     true},
    {{"node7.4711.0/node7/4711_kernel_trace.csv", "node7.4712.1/node7/4712_kernel_trace.csv"},
     {"node7.4711.0/node7/4711_hip_api_trace.csv", "node7.4712.1/node7/4712_hip_api_trace.csv"},
     {"node7_4711", "node7_4712"},
     "node7",
     {0, 1},
     true},
    {{"rank1_kernel_trace.csv", "rank10_kernel_trace.csv"},
     {"rank1_hip_api_trace.csv", "rank10_hip_api_trace.csv"},
     {"rank1", "rank10"},
     "",
     {1, 10},
     false},
    {{"run_0_kernel_trace.csv", "run_1_kernel_trace.csv"},
     {"run_0_hip_api_trace.csv", "run_1_hip_api_trace.csv"},
     {"run_0", "run_1"},
     "",
     {-1, -1},
     false},
    {{"kernel_trace_rank0.csv", "kernel_trace_rank1.csv"},
     {"hip_api_trace_rank0.csv", "hip_api_trace_rank1.csv"},
     {"rank0", "rank1"},
     "",
     {0, 1},
     false},
    {{"run_kernel_trace.0.csv", "run_kernel_trace.1.csv"},
     {"run_hip_api_trace.0.csv", "run_hip_api_trace.1.csv"},
     {"run_0", "run_1"},
     "",
     {-1, -1},
     false},
    {{"rank_0/out_kernel_trace.csv", "rank_1/out_kernel_trace.csv"},
     {"rank_0/out_hip_api_trace.csv", "rank_1/out_hip_api_trace.csv"},
     {"process_4711", "process_4712"},
     "",
     {0, 1},
     true},
    {{"kernel_trace.csv", "4712_kernel_trace.csv"},
     {"hip_api_trace.csv", "4712_hip_api_trace.csv"},
     {"process_4711", "process_4712"},
     "",
     {-1, -1},
     true},
};

static void keep_below(const char *name, const char *text)
{
    char path[300];
    for (const char *slash = name; (slash = strchr(slash, '/')); slash++) {
        snprintf(path, sizeof path, "%s/%.*s", dir, (int)(slash - name), name);
        (void)mkdir(path, 0700);
    }
    keep_text(name, text);
}

static void keep_process(const struct layout *l, int i)
{
    char text[1000], pid[16] = "";
    snprintf(text, sizeof text,
             KERNEL_HEADER
             "\"KERNEL_DISPATCH\",\"Agent 4\",1,6,1,1,3,\"of %d\",7,2400000,2500000,0,0,8,"
             "0,16,64,1,1,64,1,1\n",
             i);
    keep_below(l->kernels[i], text);
    if (l->tells_pids) snprintf(pid, sizeof pid, "%d", 4711 + i);
    snprintf(text, sizeof text,
             CALL_HEADER "\"HIP_RUNTIME_API_EXT\",\"hipLaunchKernel\",%s,4712,7,2200000,2210000\n",
             pid);
    keep_below(l->calls[i], text);
}

static size_t index_of(hb_import *import, const char *worker)
{
    size_t i = 0;
    while (i < hb_import_count(import) && strcmp(hb_import_get(import, i)->worker, worker) != 0)
        i++;
    if (i == hb_import_count(import)) fail_msg("no %s", worker);
    return i;
}

static void look_at_process(hb_import *import, const struct layout *l, int i)
{
    char name[20];
    size_t index = index_of(import, l->worker[i]);
    const hb_imported *p = hb_import_get(import, index);
    assert_string_equal(p->host, l->host);
    assert_int_equal(p->rank, l->rank[i]);
    assert_int_equal(p->kernels, 1);
    assert_int_equal(p->calls, 1);
    assert_int_equal(p->linked, 1);
    char *text = written_text(import, index);
    snprintf(name, sizeof name, "\"of %d\"", i);
    HAS(text, name);
    free(text);
}

static void sets_of_processes_are_told_apart(void **state)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const struct layout *l = &layouts[i];
        print_message("%s\n", l->kernels[0]);
        keep_process(l, 0);
        keep_process(l, 1);
        hb_import *import = import_with(dir, NULL);
        assert_int_equal(hb_import_count(import), 2);
        look_at_process(import, l, 0);
        look_at_process(import, l, 1);
        hb_import_close(import);
        assert_int_equal(remove_dir(state), 0);
        assert_int_equal(make_dir(state), 0);
    }
}

/* A table that does not tell its agents has them in the set's other tables alone. */
static void one_file_of_a_rank_stands_for_its_set(void **state)
{
    (void)state;
    keep_process(&layouts[4], 0);
    keep_process(&layouts[4], 1);
    hb_import *import = import_with(in_dir("kernel_trace_rank1.csv"), NULL);
    assert_int_equal(hb_import_count(import), 1);
    assert_int_equal(hb_import_get(import, 0)->calls, 1);
    assert_int_equal(hb_import_get(import, 0)->rank, 1);
    hb_import_close(import);
}

/* Times since boot of one directory's sets stay beside each other. */
static void sets_of_a_directory_have_one_clock(void **state)
{
    (void)state;
    const struct timespec earlier[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1700000000}};
    const struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1700000003}};
    keep_process(&layouts[0], 0);
    keep_process(&layouts[0], 1);
    utimensat(AT_FDCWD, in_dir("node7/4711_kernel_trace.csv"), later, 0);
    utimensat(AT_FDCWD, in_dir("node7/4711_hip_api_trace.csv"), later, 0);
    utimensat(AT_FDCWD, in_dir("node7/4712_kernel_trace.csv"), earlier, 0);
    utimensat(AT_FDCWD, in_dir("node7/4712_hip_api_trace.csv"), earlier, 0);
    hb_import *import = import_with(dir, NULL);
    assert_int_equal(hb_import_get(import, 0)->start_ns, hb_import_get(import, 1)->start_ns);
    hb_import_close(import);
}

static void files_of_others_have_a_cure(void **state)
{
    (void)state;
    import_refused(keep_text("x.nsys-rep", "anything"), HB_ERROR_FORMAT,
                   "nsys export --type sqlite");
    import_refused(keep_text("x.otf2", "anything"), HB_ERROR_FORMAT, "rocpd");
    import_refused(keep_text("perf.data", "PERFILE2"), HB_ERROR_FORMAT, "perf report");
}

/* ---- real ones ---- */

static void real_tables(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        unsigned kernels, calls, linked, processes;
    } sets[] = {
        {TEST_DATA "/rocprofv3_csv/prefill_kernel_trace.csv.gz", 1128, 5, 1124, 1},
        {TEST_DATA "/rocprofv3_csv/decode_hip_api_trace.csv.gz", 144, 920, 27, 2},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        hb_import *import = import_with(sets[i].path, NULL);
        assert_int_equal(hb_import_count(import), sets[i].processes);
        const hb_imported *p = hb_import_get(import, 0);
        assert_int_equal(p->kernels, sets[i].kernels);
        assert_int_equal(p->calls, sets[i].calls);
        assert_int_equal(p->linked, sets[i].linked);
        hb_import_close(import);
    }
}

/* 1,123 of its kernels are of one call. */
static void a_graph_is_one_launch(void **state)
{
    (void)state;
    hb_import *import = import_with(TEST_DATA "/rocprofv3_csv/prefill_kernel_trace.csv.gz", NULL);
    char *text = written_text(import, 0);
    assert_int_equal(count_in(text, "\"correlation\": 57328,"), 1123);
    free(text);
    hb_import_close(import);
}

/* ---- rocprof's JSON ---- */

static const char json[] =
    "{ \"traceEvents\":[{}\n"
    ",{\"args\":{\"name\":\"CPU HIP API\"},\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\"}\n"
    ",{\"ph\":\"X\",\"name\":\"hipMemcpy\",\"pid\":\"2\",\"tid\":\"518\",\"ts\":\"2000\","
    "\"dur\":\"100\",\"args\":{\"BeginNs\":\"2000126\",\"EndNs\":\"2100606\",\"pid\":\"517\","
    "\"tid\":\"518\",\"Name\":\"hipMemcpy\",\"args\":\"( dst(0x7f13d6a00000) src(0x741bb00) "
    "sizeBytes(24) kind(1) stream(1))\"}}\n"
    ",{\"ph\":\"X\",\"name\":\"hipLaunchKernel\",\"pid\":\"2\",\"tid\":\"518\",\"ts\":\"2200\","
    "\"dur\":\"9\",\"args\":{\"BeginNs\":\"2200001\",\"EndNs\":\"2209001\",\"pid\":\"517\","
    "\"tid\":\"518\",\"Name\":\"hipLaunchKernel\",\"args\":\"( kernel(gemm(float*)) "
    "numBlocks({z(1) y(2) x(3}) dimBlocks({z(1) y(1) x(256}) stream(1))\"}}\n"
    ",{\"ph\":\"X\",\"name\":\"copy\",\"pid\":\"1\",\"tid\":\"1\",\"ts\":\"2050\",\"dur\":\"8\","
    "\"args\":{\"BeginNs\":\"2050000\",\"EndNs\":\"2058480\",\"dev-id\":\"2\",\"queue-id\":\"0\","
    "\"Name\":\"CopyHostToDevice\",\"pid\":\"517\",\"tid\":\"518\",\"stream-id\":\"1\"}}\n"
    ",{\"ph\":\"X\",\"name\":\"gemm\",\"pid\":\"8\",\"tid\":\"1\",\"ts\":\"2250\",\"dur\":\"5\","
    "\"args\":{\"BeginNs\":\"2250661\",\"EndNs\":\"2255941\",\"dev-id\":\"2\",\"queue-id\":\"0\","
    "\"Name\":\"gemm\",\"pid\":\"517\",\"tid\":\"518\",\"stream-id\":\"1\"}}\n"
    ",{\"ts\":2010,\"ph\":\"s\",\"cat\":\"DataFlow\",\"id\":0,\"pid\":2,\"tid\":518,\"name\":\"d\"}"
    "\n"
    ",{\"ts\":2050,\"ph\":\"t\",\"cat\":\"DataFlow\",\"id\":0,\"pid\":1,\"tid\":1,\"name\":\"d\"}\n"
    ",{\"ts\":2209,\"ph\":\"s\",\"cat\":\"DataFlow\",\"id\":7,\"pid\":2,\"tid\":518,\"name\":\"d\"}"
    "\n"
    ",{\"ts\":2250,\"ph\":\"t\",\"cat\":\"DataFlow\",\"id\":7,\"pid\":8,\"tid\":1,\"name\":\"d\"}\n"
    "], \"otherData\": {\"CMD\": \"rocminfo\"}}";

static void json_of_rocprof(void **state)
{
    (void)state;
    hb_import *import = import_with(keep_text("results.json", json), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "rocprof");
    assert_int_equal(p->pid, 517);
    assert_int_equal(p->kernels, 1);
    assert_int_equal(p->copies, 1);
    assert_int_equal(p->calls, 2);
    assert_int_equal(p->linked, 2);
    char *text = written_text(import, 0);
    HAS(text, "\"bytes\": 24"); /* of the call */
    HAS(text, "\"grid\":     [3, 2, 1], \"block\":     [256, 1, 1]");
    HAS(text, "\"dur\": 5.280");
    free(text);
    hb_import_close(import);
}

/* What is there of a call's arguments, wherever their text ends. */
static void json_of_rocprof_with_cut_arguments(void **state)
{
    static const char whole[] = "( dst(0x7f13d6a00000) src(0x741bb00) sizeBytes(24) kind(1)";
    (void)state;
    const char *begin = strstr(json, whole), *behind = strstr(begin, "\"}}\n,{");
    const size_t bytes_at = (size_t)(strstr(whole, "24") - whole);
    for (size_t size = 0; size < sizeof whole; size++) {
        char cut[sizeof json] = "";
        size_t kept = (size_t)(begin - json) + size;
        memcpy(cut, json, kept);
        memcpy(cut + kept, behind, strlen(behind));
        hb_import *import = import_with(keep_text("results.json", cut), NULL);
        char *text = written_text(import, 0);
        const char *bytes = strstr(text, "\"bytes\": ");
        assert_int_equal(bytes != NULL, size > bytes_at);
        if (bytes)
            assert_int_equal(strtol(bytes + 9 + (bytes[9] == '"'), NULL, 10),
                             size == bytes_at + 1 ? 2 : 24);
        free(text);
        hb_import_close(import);
    }
}

/* Arrows between times that no clock reaches, in us, join nothing. */
static void json_of_rocprof_with_far_arrows(void **state)
{
    static const char *const times[] = {"9223372036854775", "9300000000000000000",
                                        "9999999999999999999", "-1"};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char text[1000];
        snprintf(
            text, sizeof text,
            "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":\"5\",\"pid\":\"2\",\"tid\":\"7\",\"args\":{"
            "\"BeginNs\":\"5\",\"EndNs\":\"9\",\"pid\":\"1\",\"tid\":\"7\",\"Name\":\"hipFree\"}},"
            "{\"ph\":\"X\",\"ts\":\"%s\",\"pid\":\"6\",\"tid\":\"7\",\"args\":{\"BeginNs\":\"15\","
            "\"EndNs\":\"19\",\"pid\":\"1\",\"tid\":\"7\",\"Name\":\"k\"}},"
            "{\"ph\":\"s\",\"ts\":\"%s\",\"id\":\"1\",\"pid\":\"2\",\"tid\":\"7\"},"
            "{\"ph\":\"t\",\"ts\":\"%s\",\"id\":\"1\",\"pid\":\"6\",\"tid\":\"7\"}]}",
            times[i], times[i], times[i]);
        hb_import *import = import_with(keep_text("results.json", text), NULL);
        const hb_imported *p = hb_import_get(import, 0);
        assert_int_equal(p->kernels, 1);
        assert_int_equal(p->calls, 1);
        assert_int_equal(p->linked, 0);
        hb_import_close(import);
    }
}

/* A run without a trace leaves a list that begins by a comma. */
static void json_of_rocprof_that_is_none(void **state)
{
    (void)state;
    import_refused(
        keep_text("results.json", "{ \"traceEvents\":[,{\"args\":{\"BeginNs\":\"1\"}}]}"),
        HB_ERROR_FORMAT, "byte ");
    for (size_t size = 100; size < sizeof json - 2; size += 11) {
        hb_import *import = NULL;
        const char *path = keep_bytes("cut.json", json, size);
        assert_int_equal(hb_import_open(&path, 1, NULL, &import), HB_ERROR_FORMAT);
    }
}

/* tracy-csvexport does not quote: names have commas, also before numbers. */
static void zones_of_tracy(void **state)
{
    static const char zones[] =
        "name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\n"
        "frame,src/main.cpp,12,1000,9000,1,\n"
        "Grid<int, 3>::step(int, int),src/grid.cpp,40,1500,700,1,text, 1,2\n"
        "upload,src/gpu.cpp,7,2500,300,2,\n"
        "half,src/main.cpp,twelve,1,2,3,\n"
        "\"quoted \"\"x\"\"\",more,src/a.cpp,1,2600,10,2,\n";
    (void)state;
    hb_import *import = import_with(keep_text("zones.csv", zones), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "Tracy CSV");
    assert_int_equal(p->ranges, 3);
    assert_int_equal(p->kernels, 0);
    assert_int_equal(note_of(p, "BAD_ROWS"), 2);
    char *text = written_text(import, 0);
    HAS(text, "\"name\": \"Grid<int, 3>::step(int, int)\"");
    HAS(text, "\"name\": \"upload\"");
    free(text);
    hb_import_close(import);
    import_refused(keep_text("sums.csv", "name,src_file,src_line,total_ns,total_perc,counts\n"
                                         "frame,src/main.cpp,12,9000,90,1\n"),
                   HB_ERROR_FORMAT, "tracy-csvexport -u");
}

/* ONNX Runtime's profile, as it spaces it: sessions, nodes and kernels, of a program that had two
 * sessions, whose lists stand one behind the other. */
#define ORT(cat, name, ts, dur, args)                                                   \
    "{\"cat\" : \"" cat "\",\"pid\" :4711,\"tid\" :4712,\"dur\" :" #dur ",\"ts\" :" #ts \
    ",\"ph\" : \"X\",\"name\" :\"" name "\",\"args\" : {" args "}}"
#define ORT_NODE "\"op_name\" : \"Conv\",\"input_type_shape\" : [{\"float\":[1,3,224,224]}]"
#define ORT_KERNEL                                                                                \
    "\"stream\" : \"7\",\"grid_x\" : \"12\",\"grid_y\" : \"2\",\"grid_z\" : \"1\",\"block_x\" : " \
    "\"256\","                                                                                    \
    "\"block_y\" : \"1\",\"block_z\" : \"1\""

static void profile_of_onnx_runtime(void **state)
{
    static const char profile[] = "[\n" ORT("Session", "model_loading_uri", 10, 80, "") ",\n" ORT(
        "Session", "model_run", 1000, 900,
        "") ",\n" ORT("Node", "/conv1/Conv_kernel_time", 1100, 500,
                      ORT_NODE) ",\n" ORT("Kernel", "conv_kernel", 1200, 300,
                                          ORT_KERNEL) ",\n" ORT("Session", "model_run", 2000, 900,
                                                                "") "\n]\n"
                                                                    "[\n" ORT("Session",
                                                                              "model_run", 5000,
                                                                              400, "") "\n]\n";
    (void)state;
    hb_import *import = import_with(keep_text("ort_profile.json", profile), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "ONNX Runtime");
    assert_int_equal(p->pid, 4711);
    assert_int_equal(p->ranges, 5);
    assert_int_equal(p->kernels, 1);
    char *text = written_text(import, 0);
    HAS(text, "\"name\": \"Conv\""); /* not the node's own name */
    HAS(text, "\"name\": \"conv_kernel\"");
    HAS(text, "\"device\": 0, \"stream\": 7"); /* its pid is the host's */
    HAS(text, "\"grid\":     [12, 2, 1], \"block\":     [256, 1, 1]");
    assert_int_equal(count_in(text, "\"name\": \"ProfilerStep#"), 3); /* runs of the model */
    free(text);
    hb_import_close(import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_set_is_one_process),
        IN_DIR(one_file_stands_for_its_set),
        IN_DIR(gpus_by_their_order),
        IN_DIR(tables_of_other_versions),
        IN_DIR(what_is_no_trace),
        IN_DIR(cut_off_anywhere),
        IN_DIR(by_kernel),
        IN_DIR(of_very_many_kernels),
        IN_DIR(passes_are_one_run),
        IN_DIR(a_counter_of_several_passes_counts_once),
        IN_DIR(many_counters_of_a_kernel),
        IN_DIR(a_column_for_each_counter),
        IN_DIR(too_many_columns),
        IN_DIR(sets_of_processes_are_told_apart),
        IN_DIR(one_file_of_a_rank_stands_for_its_set),
        IN_DIR(sets_of_a_directory_have_one_clock),
        IN_DIR(files_of_others_have_a_cure),
        IN_DIR(real_tables),
        IN_DIR(a_graph_is_one_launch),
        IN_DIR(json_of_rocprof),
        IN_DIR(json_of_rocprof_with_cut_arguments),
        IN_DIR(json_of_rocprof_with_far_arrows),
        IN_DIR(json_of_rocprof_that_is_none),
        IN_DIR(zones_of_tracy),
        IN_DIR(profile_of_onnx_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
