/* SPDX-License-Identifier: MIT
 *
 * Every row of tables of rocprof, rocprofv2, rocprofv3 and Tracy, with all that is told of it, odd
 * ones among them, and fields as they are quoted.
 */
#include <sys/stat.h>

#include "import/csv_rows.h"
#include "imported_rows.h"

#define KERNELS                                                                            \
    "Kind,Agent_Id,Queue_Id,Stream_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,"   \
    "Start_Timestamp,End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,"                \
    "Accum_VGPR_Count,SGPR_Count,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,"      \
    "Grid_Size_X,Grid_Size_Y,Grid_Size_Z\n"
#define CALLS                                                                            \
    "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
#define COPIES                                                                                \
    "Kind,Direction,Stream_Id,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,"           \
    "Start_Timestamp,End_Timestamp\n"
#define MEMORY                                                                            \
    "Kind,Operation,Agent_Id,Allocation_Size,Address,Correlation_Id,Start_Timestamp,"     \
    "End_Timestamp\n"
#define COUNTERS                                                                           \
    "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Grid_Size,Kernel_Id,"         \
    "Kernel_Name,Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,"  \
    "SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"

static const char agents[] =
    "Node_Id,Logical_Node_Id,Agent_Type,Cu_Count,Simd_Per_Cu,Max_Waves_Per_Simd,"
    "Wave_Front_Size,Lds_Size_In_Kb,Workgroup_Max_Size,Name,Product_Name\n"
    "0,0,CPU,0,0,0,0,0,0,EPYC,EPYC\n7,4,GPU,304,4,8,64,64,1024,gfx942,MI300X\n"
    "8,,GPU,104,4,8,64,64,x,gfx90a,,more,7,than,7,has,7,columns,7\n"
    "9,4,GPU,1,1,1,1,1,1,again,again\n,,GPU,1,1,1,1,1,1,no,no\n";

#define OF_AGENTS                                                                              \
    "K,Agent 4,2,7,1,3,\"gemm(float*, int)\",2,2400,2500,65536,32,96,4,48,256,2,1,512,128,3\n" \
    "K,Agent 8,1,,2,3,other,,2510,2505,0,0,,1,2,64,1,1,65,1,1\n"                               \
    "K,4,1,6,3,4,a.kd,5,2520,2530,99999999999,-1,0,x,0x10,64,1,1,64,1,1\n"                     \
    "K,Agent 4,1,6,5,,,5,2560,2570,0,0,1,2,3,0,1,1,64,1,1\n"                                   \
    "K,Agent 0,1,6,6,4,on a processor,5,2560,2570,0,0,1,2,3,64,1,1,64,1,1\n"                   \
    "K,Agent 99,1,6,6,4,on none,5,2560,2570,0,0,1,2,3,64,1,1,64,1,1\n"                         \
    "K,Agent x,1,6,6,4,on none,5,2560,2570,0,0,1,2,3,64,1,1,64,1,1\n"                          \
    "K,\",1,6,6,4,on none,5,2560,2570,0,0,1,2,3,64,1,1,64,1,1\n"                               \
    "K,,1,6,6,4,on none,5,2560,2570,0,0,1,2,3,64,1,1,64,1,1\n"                                 \
    "K,Agent 4,1,6,6,4,no time,5,,2570,0,0,1,2,3,64,1,1,64,1,1\n"                              \
    "K,Agent 4,1,6,6\n"

static const char kernels[] = KERNELS OF_AGENTS
    "K,GPU 1,1,6,,4,a [clone .kd],5,2540,2550,0,0,1,2,3,64,1,1,64,1,1\n"
    "K,CPU 1,1,6,6,4,on none,5,2560,2570,0,0,1,2,3,64,1,1,64,1,1\n";

static const char calls[] = CALLS
    "HIP_RUNTIME_API_EXT,hipLaunchKernel,4711,4712,2,2200,2210\n"
    "HIP_RUNTIME_API_EXT,hipMemcpy,4711,4712,3,2300,2290\n"
    "HIP_COMPILER_API_EXT,__hipPushCallConfiguration,4711,4713,1,2100,2101\n"
    "HSA_CORE_API,hsa_init,4711,,4,2110,2120\nRCCL_API,ncclAllReduce,4711,0,6,2130,2140\n"
    "HIP_RUNTIME_API,hipFree,4711,4712,-5,2150,2160\nHIP_RUNTIME_API,late,4711,4712,7,x,2160\n";

static const char markers[] =
    CALLS "MARKER_CORE_API,\"forward, pass\",4711,4712,5,2000,3000\nMARKER_CORE_API,in,4711,4712,5,"
          "2190,2250\n";

static const char copies[] = COPIES
    "C,MEMORY_COPY_HOST_TO_DEVICE,7,Agent 0,Agent 4,3,2350,2360\n"
    "C,MEMORY_COPY_DEVICE_TO_HOST,,Agent 8,Agent 0,,2361,2362\n"
    "C,MEMORY_COPY_DEVICE_TO_DEVICE,7,Agent 4,Agent 8,99,2363,2364\n"
    "C,MEMORY_COPY_DEVICE_TO_DEVICE,7,Agent 8,Agent 8,99,2365,2366\n"
    "C,MEMORY_COPY_HOST_TO_HOST,7,Agent 0,Agent 0,99,2367,2368\n"
    "C,MEMORY_COPY_HOST_TO_HOST,7,Agent 0,Agent 0,99,x,2368\n";

static const char memory[] = MEMORY
    "M,MEMORY_ALLOCATION_ALLOCATE,Agent 8,1000,0x1000,1,1500,1600\n"
    "M,MEMORY_ALLOCATION_ALLOCATE,Agent 0,50,8192,1,1610,1620\n"
    "M,MEMORY_ALLOCATION_FREE,\",7,0x1000,8,1700,1800\n"
    "M,MEMORY_ALLOCATION_FREE,\",0,0x9999,8,1700,1800\n"
    "M,MEMORY_ALLOCATION_ALLOCATE,Agent 4,-5,-8,1,1900,1910\n"
    "M,MEMORY_ALLOCATION_ALLOCATE,Agent 4,5,8,1,-1,1910\n";

static const char counters[] = COUNTERS
    "2,1,Agent 4,2,4711,65536,3,gemm,256,0,0,0,0,0,WAVES,100.5,2400,2500\n"
    "2,1,Agent 4,2,4711,65536,3,gemm,256,0,0,0,0,0,WAVES,24,2400,2500\n"
    "2,2,Agent 8,2,4711,65536,3,gemm,256,0,0,0,0,0,BUSY,7,2400,2500\n"
    "2,1,Agent 4,2,4711,65536,3,gemm,256,0,0,0,0,0,BUSY,1e1,2400,2500\n"
    "2,1,Agent 4,2,4711,65536,3,gemm,256,0,0,0,0,0,NONE,,2400,2500\n"
    "2,1,Agent 4,2,4711,65536,3,gemm,256,0,0,0,0,0,NONE,x,2400,2500\n"
    "2,9,Agent 4,2,4711,65536,3,new,256,0,0,1,2,3,BUSY,3,2600,2610\n"
    "2,9,Agent 4,2,4711,65536,3,new,256,0,0,1,2,3,WAVES,4,2600,2610\n"
    "2,10,Agent 0,2,4711,65536,3,none,256,0,0,1,2,3,WAVES,4,2600,2610\n"
    "2,,Agent 4,2,4711,65536,3,alone,256,0,0,1,2,3,WAVES,4,2620,2630\n";

static void keep_set(void)
{
    keep_text("4711_agent_info.csv", agents);
    keep_text("4711_kernel_trace.csv", kernels);
    keep_text("4711_hip_api_trace.csv", calls);
    keep_text("4711_marker_api_trace.csv", markers);
    keep_text("4711_memory_copy_trace.csv", copies);
    keep_text("4711_memory_allocation_trace.csv", memory);
    keep_text("4711_counter_collection.csv", counters);
    keep_text("4711_scratch_memory_trace.csv", "Kind,Operation,Alloc_Flags\nS,A,0\nS,A,0\n");
    keep_text("4711_pc_sampling_host.csv", "Sample,Exec_Mask,Instruction\n1,2,3\n");
    keep_text("4711_kernel_stats.csv", "Name,Calls,TotalDurationNs\ngemm,1,2\n");
}

static const char rows_of_set[] =
    "process 4711 '' '' of rocprof CSV serialised\n"
    "NO_CALL 8\n"
    "NO_GRID 3\n"
    "NO_REGISTERS 1\n"
    "NO_BYTES 5\n"
    "NO_ALLOCATION 1\n"
    "BAD_TIMES 5\n"
    "BAD_ROWS 7\n"
    "NOT_SHOWN 3\n"
    "thread 4712 ''\n"
    "thread 4713 ''\n"
    "thread 4711 ''\n"
    "thread 0 ''\n"
    "gpu 0 'MI300X' 'gfx942' version 9.4 block 1024 threads 2048 wave 64 lds 65536 cus 304 "
    "lds of a cu 65536\n"
    "gpu 1 'gfx90a' 'gfx90a' version 9.0 threads 2048 wave 64 lds 65536 cus 104 lds of a cu "
    "65536\n"
    "op 4712 2000-3000 'forward, pass' id 1\n"
    "op 4712 2190-2250 'in' id 2\n"
    "memory 4711 1600 at 0x1000 gpu 1 +1000 = 1000\n"
    "memory 4711 1620 at 0x2000 +50 = 50\n"
    "memory 4711 1700 at 0x1000 gpu 1 -1000 = 0\n"
    "memory 4711 1910 gpu 0 +0 = 0\n"
    "call 4712 2150-2160 'hipFree' no 7 in 1\n"
    "call 4712 2200-2210 'hipLaunchKernel' no 2 in 2 launches\n"
    "call 4712 2300 'hipMemcpy' no 3 in 1 launches\n"
    "call 4713 2100-2101 '__hipPushCallConfiguration' minor no 1\n"
    "call 4711 2110-2120 'hsa_init' no 4\n"
    "call 0 2130-2140 'ncclAllReduce' no 6\n"
    "kernel 0/2 2600-2610 'new' no 2 in 2 registers 1,2,3 BUSY=3 WAVES=4\n"
    "kernel 0/2 2620-2630 'alone' no 2 in 2 registers 1,2,3 WAVES=4\n"
    "kernel 0/6 2520-2530 'a' no 5 grid 1,1,1 block 64,1,1 registers 0,0,16 lds 4294967295 "
    "blocks 0.00328947 warps 0.00328947 occupancy 0 by LDS of no call\n"
    "kernel 0/6 2560-2570 '(kernel without name)' no 5 registers 1,2,3 of no call\n"
    "copy 0/7 2350-2360 'Memcpy HtoD (Host -> Device)' no 3 in 1 HtoD -1>0\n"
    "copy 0/7 2367-2368 'Memcpy HtoH (Host -> Host)' no 99 HtoH -1>-1 of no call\n"
    "kernel 0/7 2400-2500 'gemm(float*, int)' no 2 in 2 grid 2,64,3 block 256,2,1 registers "
    "96,4,48 lds 65536 scratch 32 blocks 1.26316 warps 10.1053 occupancy 25 by LDS "
    "WAVES=124.5 BUSY=10\n"
    "copy 1/0 2361-2362 'Memcpy DtoH (Device -> Host)' DtoH 1>-1 of no call\n"
    "kernel 1/1 2510 'other' grid 2,1,1 block 64,1,1 BUSY=7 of no call\n"
    "kernel 1/6 2540-2550 'a' no 5 grid 1,1,1 block 64,1,1 registers 1,2,3 blocks 0.00961538 "
    "warps 0.00961538 occupancy 0.0300481 by grid of no call\n"
    "copy 1/7 2363-2364 'Memcpy PtoP (Device -> Device)' no 99 PtoP 0>1 of no call\n"
    "copy 1/7 2365-2366 'Memcpy DtoD (Device -> Device)' no 99 DtoD 1>1 of no call\n";
static const char rows_without_agents[] =
    "process 4711 '' '' of rocprof CSV serialised\n"
    "NO_CALL 9\n"
    "NO_GRID 4\n"
    "NO_REGISTERS 1\n"
    "NO_BYTES 5\n"
    "NO_ALLOCATION 1\n"
    "BAD_TIMES 5\n"
    "BAD_ROWS 3\n"
    "NOT_SHOWN 3\n"
    "thread 4712 ''\n"
    "thread 4713 ''\n"
    "thread 4711 ''\n"
    "thread 0 ''\n"
    "op 4712 2000-3000 'forward, pass' id 1\n"
    "op 4712 2190-2250 'in' id 2\n"
    "memory 4711 1600 at 0x1000 gpu 2 +1000 = 1000\n"
    "memory 4711 1620 at 0x2000 gpu 0 +50 = 50\n"
    "memory 4711 1700 at 0x1000 gpu 2 -1000 = 0\n"
    "memory 4711 1910 gpu 1 +0 = 0\n"
    "call 4712 2150-2160 'hipFree' no 7 in 1\n"
    "call 4712 2200-2210 'hipLaunchKernel' no 2 in 2 launches\n"
    "call 4712 2300 'hipMemcpy' no 3 in 1 launches\n"
    "call 4713 2100-2101 '__hipPushCallConfiguration' minor no 1\n"
    "call 4711 2110-2120 'hsa_init' no 4\n"
    "call 0 2130-2140 'ncclAllReduce' no 6\n"
    "kernel 0/2 2600-2610 'none' no 2 in 2 registers 1,2,3 WAVES=4\n"
    "kernel 0/6 2560-2570 'on a processor' no 5 grid 1,1,1 block 64,1,1 registers 1,2,3 of "
    "no call\n"
    "copy 0/7 2367-2368 'Memcpy HtoH (Host -> Host)' no 99 HtoH -1>-1 of no call\n"
    "kernel 1/2 2600-2610 'new' no 2 in 2 registers 1,2,3 BUSY=3 WAVES=4\n"
    "kernel 1/2 2620-2630 'alone' no 2 in 2 registers 1,2,3 WAVES=4\n"
    "kernel 1/6 2520-2530 'a' no 5 grid 1,1,1 block 64,1,1 registers 0,0,16 lds 4294967295 "
    "of no call\n"
    "kernel 1/6 2560-2570 '(kernel without name)' no 5 registers 1,2,3 of no call\n"
    "copy 1/7 2350-2360 'Memcpy HtoD (Host -> Device)' no 3 in 1 HtoD -1>1\n"
    "kernel 1/7 2400-2500 'gemm(float*, int)' no 2 in 2 grid 2,64,3 block 256,2,1 registers "
    "96,4,48 lds 65536 scratch 32 WAVES=124.5 BUSY=10\n"
    "copy 2/0 2361-2362 'Memcpy DtoH (Device -> Host)' DtoH 2>-1 of no call\n"
    "kernel 2/1 2510 'other' grid 2,1,1 block 64,1,1 BUSY=7 of no call\n"
    "copy 2/7 2363-2364 'Memcpy PtoP (Device -> Device)' no 99 PtoP 1>2 of no call\n"
    "copy 2/7 2365-2366 'Memcpy DtoD (Device -> Device)' no 99 DtoD 2>2 of no call\n"
    "kernel 3/6 2560-2570 'on none' no 5 grid 1,1,1 block 64,1,1 registers 1,2,3 of no call\n";

static void tables_of_rocprofv3(void **state)
{
    static const rows_left left[] = {
        {"hip", 7, 5, 2, 2, 5, 0, 4, 5},    {"hsa", 7, 5, 5, 2, 5, 0, 4, 1},
        {"rccl", 7, 5, 5, 2, 5, 0, 4, 1},   {"ranges", 7, 5, 6, 0, 5, 0, 4, 2},
        {"copies", 7, 0, 6, 2, 5, 0, 4, 6}, {"memory", 7, 5, 6, 2, 0, 0, 4, 6},
        {"counters", 7, 5, 6, 2, 5, 0, 0, 9},
    };
    (void)state;
    keep_set();
    check_rows(dir, NULL, rows_of_set);
    check_drops(dir, left, HB_ARRAY_LEN(left));
    remove(in_dir("4711_agent_info.csv"));
    keep_text("4711_kernel_trace.csv", KERNELS OF_AGENTS);
    check_rows(dir, NULL, rows_without_agents);
}

/* By their numbers among the GPUs, or among the processors. */
static void gpus_by_their_own_numbers(void **state)
{
    (void)state;
    keep_text("9_kernel_trace.csv", KERNELS
              "K,GPU 2,1,,,,k,5,10,20,0,0,1,2,3,64,1,1,64,1,1\n"
              "K,CPU 2,1,,,,k,5,10,20,0,0,1,2,3,64,1,1,64,1,1\n"
              "K,GPU 1000001,1,,,,k,5,10,20,0,0,1,2,3,64,1,1,64,1,1\n");
    keep_text("9_memory_copy_trace.csv", COPIES
              "C,MEMORY_COPY_HOST_TO_HOST,7,CPU 0,CPU 1,1,30,31\n"
              "C,MEMORY_COPY_HOST_TO_DEVICE,7,CPU 0,GPU 1,1,32,33\n"
              "C,MEMORY_COPY_DEVICE_TO_DEVICE,7,GPU 3,GPU 1,1,34,35\n");
    keep_text("9_memory_allocation_trace.csv", MEMORY "M,ALLOCATE,GPU 0,10,64,1,40,41\n");
    check_rows(dir, NULL,
        "process 9 '' '' of rocprof CSV\n"
        "NO_CALL 4\n"
        "NO_BYTES 3\n"
        "BAD_ROWS 2\n"
        "thread 9 ''\n"
        "memory 9 41 at 0x40 gpu 0 +10 = 10\n"
        "copy 0/7 30-31 'Memcpy HtoH (Host -> Host)' no 1 HtoH -1>-1 of no call\n"
        "copy 1/7 32-33 'Memcpy HtoD (Host -> Device)' no 1 HtoD -1>1 of no call\n"
        "copy 1/7 34-35 'Memcpy PtoP (Device -> Device)' no 1 PtoP 3>1 of no call\n"
        "kernel 2/1 10-20 'k' no 5 grid 1,1,1 block 64,1,1 registers 1,2,3 of no call\n");
}

/* GPUs between which something was copied, and on which nothing else ran. */
static void gpus_of_copies_alone(void **state)
{
    (void)state;
    check_rows(keep_text("1_memory_copy_trace.csv",
                         COPIES "C,MEMORY_COPY_DEVICE_TO_DEVICE,7,Agent 9,Agent 4,1,34,35\n"
                                "C,MEMORY_COPY_DEVICE_TO_HOST,7,Agent 6,Agent 0,1,36,37\n"),
               NULL,
               "process 1 '' '' of rocprof CSV\n"
               "NO_CALL 2\n"
               "NO_BYTES 2\n"
               "copy 0/7 34-35 'Memcpy PtoP (Device -> Device)' no 1 PtoP 2>0 of no call\n"
               "copy 1/7 36-37 'Memcpy DtoH (Device -> Host)' no 1 DtoH 1>-1 of no call\n");
}

/* ---- processes ---- */

#define KERNEL(guid, name, start) guid ",Agent 1," name "," #start ",9000\n"
#define CALL(guid, name, pid)     guid ",HIP_API," name "," #pid ",1,100,200\n"
#define GUID_KERNELS              "Guid,Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n"
#define GUID_CALLS                                                                          \
    "Guid,Domain,Function,Process_Id,Thread_Id,Start_Timestamp,End_Timestamp\n"

/* What tables without a process are of: the first whose calls stand beside them, by the recording
 * where it is told. */
static void processes_of_a_set(void **state)
{
    static const struct {
        const char *kernels, *calls, *counted, *counters, *expected;
    } sets[] = {
        {GUID_KERNELS KERNEL("a", "ka", 1) KERNEL("b", "kb", 2) KERNEL("a", "kc", 3),
         GUID_CALLS CALL("b", "cb", 8) CALL("a", "ca", 7) CALL("a", "cc", 9) CALL("c", "cd", 7),
         NULL, NULL,
         "process 7 '' '' of rocprof CSV\n"
         "NO_CALL 2\n"
         "NO_GRID 2\n"
         "NO_REGISTERS 2\n"
         "thread 1 ''\n"
         "call 1 100-200 'ca' no 1\n"
         "call 1 100-200 'cc' no 2\n"
         "kernel 0/0 1-9000 'ka' of no call\n"
         "kernel 0/0 3-9000 'kc' of no call\n"
         "process 8 '' '' of rocprof CSV\n"
         "NO_CALL 1\n"
         "NO_GRID 1\n"
         "NO_REGISTERS 1\n"
         "thread 1 ''\n"
         "call 1 100-200 'cb' no 1\n"
         "kernel 0/0 2-9000 'kb' of no call\n"
         "process 7 '' '' of rocprof CSV\n"
         "thread 1 ''\n"
         "call 1 100-200 'cd'\n"},
        {"Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp\nAgent 1,k,1,2\n",
         CALLS "HIP_API,c7,7,1,0,10,20\nHIP_API,c8,8,1,0,10,20\nHIP_API,c,,1,0,30,40\n"
               "HIP_API,d7,7,1,0,50,60\n",
         NULL, NULL,
         "process 7 '' '' of rocprof CSV\n"
         "NO_CALL 1\n"
         "NO_GRID 1\n"
         "NO_REGISTERS 1\n"
         "thread 1 ''\n"
         "call 1 10-20 'c7' no 1\n"
         "call 1 50-60 'd7' no 2\n"
         "kernel 0/0 1-2 'k' of no call\n"
         "process 8 '' '' of rocprof CSV\n"
         "thread 1 ''\n"
         "call 1 10-20 'c8'\n"
         "call 1 30-40 'c'\n"},
        {"Agent_Id,Kernel_Name,Dispatch_Id,Start_Timestamp,End_Timestamp\nAgent 1,k,1,1,2\n", NULL,
         "x_counter_collection.csv", COUNTERS "0,1,Agent 1,2,77,1,1,k,1,0,0,0,0,0,W,5,1,2\n",
         "process 77 '' '' of rocprof CSV serialised\n"
         "NO_CALL 1\n"
         "NO_GRID 1\n"
         "NO_REGISTERS 1\n"
         "kernel 0/0 1-2 'k' W=5 of no call\n"},
        {"Agent_Id,Kernel_Name,Dispatch_Id,Start_Timestamp,End_Timestamp\nAgent 1,k,1,1,2\n",
         NULL, "x_again_counter_collection.csv",
         COUNTERS "0,1,Agent 1,2,77,1,1,k,1,0,0,0,0,0,W,5,1,2\n",
         "process 0 '' '' of rocprof CSV\n"
         "NO_CALL 1\n"
         "NO_GRID 1\n"
         "NO_REGISTERS 1\n"
         "kernel 0/0 1-2 'k' of no call\n"
         "process 77 '' '' of rocprof CSV serialised\n"
         "NO_CALL 1\n"
         "NO_GRID 1\n"
         "kernel 0/2 1-2 'k' registers 0,0,0 W=5 of no call\n"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(sets); i++) {
        if (sets[i].kernels) keep_text("x_kernel_trace.csv", sets[i].kernels);
        if (sets[i].calls) keep_text("x_hip_api_trace.csv", sets[i].calls);
        if (sets[i].counters) keep_text(sets[i].counted, sets[i].counters);
        check_rows(dir, NULL, sets[i].expected);
        remove_tree(dir);
        assert_int_equal(make_dir(NULL), 0);
    }
}

/* What a table's name tells of who it is: "kernel_trace" is what is in it. */
static void names_of_tables(void **state)
{
    static const struct {
        const char *name, *worker;
        int64_t rank;
    } rows[] = {
        {"4711_kernel_trace.csv", "process_4711", -1},
        {"kernel_trace.csv", "process_0", -1},
        {"run_kernel_trace.csv", "run", -1},
        {"run.1_kernel_trace.csv", "run_1", -1},
        {"x_7.csv", "x_7", -1},
        {"any.csv", "any", -1},
        {"kernel_trace.rank12.csv", "rank12", 12},
        {"kernel_trace-rank-3.csv", "rank-3", 3},
        {"run_kernel_trace_0.csv", "run_0", -1},
        {"run_kernel_trace_p_5.csv", "run_p_5", -1},
        {"RANK4_kernel_trace.csv", "RANK4", 4},
        {"frank4_kernel_trace.csv", "frank4", -1},
        {"a_rank_kernel_trace.csv", "a_rank", -1},
        {"471100000000_kernel_trace.csv", "471100000000", -1}, /* no process has that */
        {"12x_kernel_trace.csv", "12x", -1},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_import *import = import_dropping(
            keep_text(rows[i].name, "Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n"
                                    "Agent 1,k,1,2\n"),
            NULL);
        const hb_imported *p = hb_import_get(import, 0);
        if (strcmp(p->worker, rows[i].worker) != 0 || p->rank != rows[i].rank)
            fail_msg("%s: %s, rank %lld", rows[i].name, p->worker, (long long)p->rank);
        hb_import_close(import);
        remove(in_dir(rows[i].name));
    }
}

/* v1 has columns for counters, of which all names that others have are none; v2 has times by other
 * names. */
static void tables_of_older_versions(void **state)
{
    (void)state;
    check_rows(keep_text("r.csv",
                         "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,"
                         "arch_vgpr,accum_vgpr,sgpr,wave_size,sig,obj,WAVES,BUSY,DispatchNs,"
                         "BeginNs,EndNs,CompleteNs\n"
                         "0,gemm [clone .kd],5,1,0,517,518,64,64,16,8,40,4,24,64,0x0,0x7f,16.5,,"
                         "1000,2000,3000,3100\n"
                         "1,next,2,1,0,517,518,64,64,16,8,40,4,24,64,0x0,0x7f,1,2,1,4000,5000,3\n"
                         "1,last,x,1,0,517,518,64,64,16,8,40,4,24,64,0x0,0x7f,1,2,1,4000,5000,3\n"),
               NULL,
               "process 517 '' '' of rocprof CSV 1 serialised\n"
               "NO_CALL 2\n"
               "NO_GRID 2\n"
               "BAD_ROWS 1\n"
               "kernel 0/1 4000-5000 'next' registers 40,4,24 lds 16 scratch 8 WAVES=1 "
               "BUSY=2 of no call\n"
               "kernel 1/1 2000-3000 'gemm' registers 40,4,24 lds 16 scratch 8 WAVES=16.5 of "
               "no call\n");
    check_rows(keep_text("s.csv",
                         "WAVES,KernelName,gpu-id,wgr,BeginNs,EndNs,BUSY\n7,k,1,64,10,20,8\n"),
               NULL,
               "process 0 '' '' of rocprof CSV 1 serialised\n"
               "NO_CALL 1\n"
               "NO_GRID 1\n"
               "NO_REGISTERS 1\n"
               "kernel 0/0 10-20 'k' WAVES=7 BUSY=8 of no call\n");
    check_drops(in_dir("r.csv"), (const rows_left[]){{"counters", 2, 0, 0, 0, 0, 0, 0, 0}}, 1);
}

/* ---- Tracy ---- */

static void zones_of_tracy(void **state)
{
    static const char zones[] =
        "name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\n"
        "frame,a.cpp,12,1000,9000,1,\nf<int, 3>(1, 2),a.cpp,40,1500,700,1,text\n"
        "1,2,3,4,5,6,7,8,9\n,a.cpp,1,2,3,4\nshort,a.cpp,1,2,3\nhex,a.cpp,1,0x2,3,4\n"
        "empty,a.cpp,1,,3,4\nlong,a.cpp,1,100,9223372036854775807,2\n"
        "far,a.cpp,1,9223372036854775807,1,2\n\"a \"\"b\"\"\",a.cpp,1,20,0,2\n";
    (void)state;
    check_rows(keep_text("zones.csv", zones), NULL,
        "process 0 '' '' of Tracy CSV\n"
        "BAD_TIMES 2\n"
        "BAD_ROWS 4\n"
        "thread 1 ''\n"
        "thread 6 ''\n"
        "thread 2 ''\n"
        "op 1 1000-10000 'frame' id 1\n"
        "op 1 1500-2200 'f<int, 3>(1, 2)' id 2\n"
        "op 6 4-9 '1' id 3\n"
        "op 2 20 'a \"b\"' id 4\n");
    check_drops(in_dir("zones.csv"), (const rows_left[]){{"hip", 0, 0, 0, 4, 0, 0, 0, 0}}, 1);
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    hb_import *import;
    o.drop = "ranges";
    assert_int_equal(hb_import_open_any(in_dir("zones.csv"), &o, &import), HB_ERROR_FORMAT);
}

/* ---- fields ---- */

/* Fields of all rows by '|', rows by '/'. */
static void fields_as_they_are_quoted(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"a,b\nc,d\n", "a|b/c|d/"},
        {"a,b\r\nc,d", "a|b/c|d/"},
        {"a\rb\n", "a/b/"},
        {"\n\n,\n\r\na", "|/a/"},
        {"\xef\xbb\xbf" "a,b\n", "a|b/"},
        {"\xef\xbb", "\xef\xbb/"},
        {"\"a,b\",c\n", "a,b|c/"},
        {"\"a\nb\",c\n", "a\nb|c/"},
        {"\"a \"\"b\"\" c\",\"\"\"\"\n", "a \"b\" c|\"/"},
        {"\"a \"b\" c\",d\n", "a \"b\" c|d/"},
        {"\"f<\"x\">(a, b)\",d\n", "f<\"x\">(a, b)|d/"},
        {"a,\",b\n", "a||b/"},
        {"\"\",a\n", "|a/"},
        {"a,\"\"\n", "a|/"},
        {"a,\"b\"", "a|b/"},
        {"a,\"b", "a/"},
        {"a,\"b\"\"", "a/"},
        {"a,\"b\"c\nd\n", "a/"},
        {"a,", "a|/"},
        {"a b , c\n", "a b | c/"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_arena arena = {0};
        hb_csv *csv = calloc(1, sizeof *csv);
        char found[200] = "";
        hb_csv_open(csv, &arena, keep_text("t.csv", rows[i].text));
        while (hb_csv_next(csv)) {
            for (uint32_t k = 0; k < csv->count; k++)
                snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s",
                         k ? "|" : "", (int)csv->fields[k].len, csv->fields[k].s);
            snprintf(found + strlen(found), sizeof found - strlen(found), "/");
        }
        hb_csv_close(csv);
        hb_arena_free(&arena);
        free(csv);
        if (strcmp(found, rows[i].expected) != 0)
            fail_msg("%zu: '%s' where '%s' should be", i, found, rows[i].expected);
    }
}

static void numbers_in_fields(void **state)
{
    static const struct {
        const char *text;
        int64_t expected;
    } rows[] = {
        {"0", 0},
        {"12", 12},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775808", -1},
        {"99999999999999999999", -1},
        {"0x1F", 31},
        {"0Xaf", 175},
        {"0x", -1},
        {"0x0", 0},
        {"0xg", -1},
        {"0x:", -1},
        {"0x/", -1},
        {"0x`", -1},
        {"0x7fffffffffffffff", INT64_MAX},
        {"0x12345678901234567", 0x1234567890123456},
        {"1x2", -1},
        {"00x2", -1},
        {"-1", -1},
        {" 1", -1},
        {"1 ", -1},
        {"", -1},
        {"/", -1},
        {":", -1},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_csv csv;
        memset(&csv, 0, sizeof csv);
        csv.count = 1;
        csv.fields[0] = (hb_str){rows[i].text, (uint32_t)strlen(rows[i].text)};
        if (hb_csv_int(&csv, 0) != rows[i].expected) fail_msg("%s", rows[i].text);
        assert_int_equal(hb_csv_int(&csv, 1), -1);
        assert_int_equal(hb_csv_int(&csv, -1), -1);
    }
}

/* ---- many files ---- */

#define ONE_KERNEL "Kernel_Name,Agent_Id,Start_Timestamp,End_Timestamp\nk,GPU 0,10,20\n"

/* Names of more than a mebibyte, all of one set. */
static void a_set_of_very_many_files(void **state)
{
    enum { FILES = 4400, LENGTH = 240 };
    char name[LENGTH + 1];
    (void)state;
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "run_%0*d_kernel_trace.csv", LENGTH - 21, i);
        keep_text(name, ONE_KERNEL);
    }
    hb_import *import = import_with(keep_text("run_kernel_trace.csv", ONE_KERNEL), NULL);
    assert_int_equal(hb_import_count(import), 1);
    assert_int_equal(hb_import_get(import, 0)->kernels, FILES + 1);
    hb_import_close(import);
}

/* What lies beside each rank is looked at once for all: it takes what its names do, not room for
 * any of them for each. */
static void many_ranks_in_a_directory(void **state)
{
    enum { RANKS = 100 };
    char name[40];
    (void)state;
    for (int i = 0; i < RANKS; i++) {
        snprintf(name, sizeof name, "%d_kernel_trace.csv", i);
        keep_text(name, ONE_KERNEL);
    }
    hb_import *import = import_with(dir, NULL);
    assert_int_equal(hb_import_count(import), RANKS);
    assert_in_range(import->arena.bytes, 1, 4 << 20);
    hb_import_close(import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(tables_of_rocprofv3),
        IN_DIR(gpus_by_their_own_numbers),
        IN_DIR(gpus_of_copies_alone),
        IN_DIR(processes_of_a_set),
        IN_DIR(names_of_tables),
        IN_DIR(tables_of_older_versions),
        IN_DIR(zones_of_tracy),
        IN_DIR(fields_as_they_are_quoted),
        IN_DIR(a_set_of_very_many_files),
        IN_DIR(many_ranks_in_a_directory),
        cmocka_unit_test(numbers_in_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
