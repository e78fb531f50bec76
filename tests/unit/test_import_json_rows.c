/* SPDX-License-Identifier: MIT
 *
 * Every row of JSON of rocprofv3, rocprof and of others in Chrome's format, with all that is told
 * of it, odd ones among them.
 */
#include "imported_rows.h"

/* ---- rocprofv3 ---- */

#define V3_TIMES(start, end) "'start_timestamp':" #start ",'end_timestamp':" #end
#define V3_ID(number)        "'correlation_id':{'internal':" #number ",'external':0,'ancestor':1}"

/* Of two processes; in the first handles are objects, also with other members, and numbers alone;
 * GPUs are counted in their own order. */
static const char v3[] =
    "{'rocprofiler-sdk-tool':[7,{'metadata':{'pid':815,'init_time':5,"
    "'fini_time':9000,'node':{'id':3,'hostname':'node7','machine_id':'a1'},"
    "'command':['/opt/bin/train','/x/y']},"
    "'agents':[8,{'id':{'handle':70},'type':1,'logical_node_type_id':0,'name':'EPYC'},"
    "{'id':{'size':8,'handle':71},'type':2,'logical_node_type_id':1,'cu_count':256,"
    "'name':'gfx950','product_name':'MI350X'},"
    "{'id':0,'type':2,'logical_node_type_id':0,'cu_count':80,'name':'gfx90a'},"
    "{'id':{'handle':73},'type':2,'logical_node_type_id':1024,'name':'far'},"
    "{'id':{'handle':74},'type':2,'logical_node_type_id':-1,'name':'none'},"
    "{'id':{'handle':75},'type':3,'logical_node_type_id':2,'name':'nic'}],"
    "'counters':[9,{'id':{'handle':5},'description':'w','name':'WAVES'},"
    "{'id':{'handle':0},'name':'BUSY'},{'id':{'handle':6},'name':7},{'name':'ALONE'}],"
    "'strings':{'more':[1],'callback_records':[],'buffer_records':["
    "{'kind':'HIP_FIRST','operations':['hipFirst']},"
    "{'of':1,'kind':'HIP_RUNTIME_API','operations':['hipLaunchKernel','hipMemcpy',"
    "'hipGetLastError']},"
    "{'kind':'MARKER_CORE_API','operations':['roctxMark','roctxRangePush']},"
    "{'kind':'MEMORY_ALLOCATION','operations':['NONE','MEMORY_ALLOCATION_ALLOCATE',"
    "'MEMORY_ALLOCATION_FREE']},"
    "{'kind':'HSA_CORE_API','operations':['hsa_init']},"
    "{'kind':'RCCL_API','operations':['ncclAllReduce']},"
    "{'kind':'OTHER_API','operations':7}],"
    "'marker_api':[5,{'key':1,'of':2,'value':'for\\'ward'},{'key':2,'value':3},{'value':'alone'}]},"
    "'kernel_symbols':[6,{'kernel_id':3,'size':1,'arch_vgpr_count':96,'accum_vgpr_count':4,"
    "'sgpr_count':48,'formatted_kernel_name':'gemm(float*)'},"
    "{'kernel_id':0,'formatted_kernel_name':'plain'},"
    "{'kernel_id':4,'arch_vgpr_count':0,'formatted_kernel_name':'none used'},"
    "{'kernel_id':5,'formatted_kernel_name':5},{'formatted_kernel_name':'alone'}],"
    "'buffer_records':{"
    "'kernel_dispatch':["
    "{'size':1,'kind':11,'operation':2,'thread_id':816," V3_ID(2) "," V3_TIMES(2400, 2500) ","
    "'dispatch_info':{'size':2,'agent_id':{'handle':71},'queue_id':{'handle':9},'kernel_id':3,"
    "'dispatch_id':1,'private_segment_size':16,'group_segment_size':65536,"
    "'workgroup_size':{'x':256,'y':2,'z':1},'grid_size':{'x':512,'y':128,'z':3}},"
    "'stream_id':{'handle':2}},"
    /* in another order, with members that nobody knows */
    "{'new':[1],'dispatch_info':{'grid_size':{'z':1,'y':2,'w':9,'x':65},'kernel_id':0,"
    "'agent_id':0,'workgroup_size':{'x':64,'y':1,'z':1},'dispatch_id':2}," V3_TIMES(2600, 2650)
    ",'correlation_id':{'external':{'x':1},'internal':0}},"
    "{" V3_TIMES(2700, 2750) ",'dispatch_info':{'agent_id':{'handle':71},'kernel_id':5,"
    "'dispatch_id':0}},"
    "{" V3_TIMES(2800, 2850) ",'dispatch_info':{'agent_id':{'handle':71},'kernel_id':4}},"
    "{" V3_TIMES(2900, 2950) ",'dispatch_info':{'agent_id':{'handle':70},'kernel_id':4}},"
    "{" V3_TIMES(-1, 2950) ",'dispatch_info':{'agent_id':{'handle':71},'kernel_id':4}},"
    "9],"
    "'hip_api':["
    "{'kind':1,'operation':0,'thread_id':816," V3_ID(2) "," V3_TIMES(2200, 2210) "},"
    "{'kind':1,'operation':1,'thread_id':816," V3_ID(3) "," V3_TIMES(2300, 2310) "},"
    "{'kind':1,'operation':2,'thread_id':817," V3_ID(4) "," V3_TIMES(2320, 2330) "},"
    "{'kind':1,'operation':3,'thread_id':817," V3_TIMES(1, 2) "},"
    "{'kind':1,'operation':-1,'thread_id':817," V3_TIMES(1, 2) "},"
    "{'kind':6,'operation':0,'thread_id':817," V3_TIMES(1, 2) "},"
    "{'kind':7,'operation':0,'thread_id':817," V3_TIMES(1, 2) "},"
    "{'operation':0,'thread_id':817," V3_TIMES(1, 2) "}],"
    "'hsa_api':[{'kind':4,'operation':0,'thread_id':817," V3_ID(5) "," V3_TIMES(100, 90) "}],"
    "'rccl_api':[{'kind':5,'operation':0,'thread_id':817," V3_ID(6) "," V3_TIMES(110, 120) "}],"
    "'marker_api':["
    "{'kind':2,'operation':1,'thread_id':816," V3_ID(1) "," V3_TIMES(2000, 3000) "},"
    "{'kind':2,'operation':0,'thread_id':816," V3_ID(2) "," V3_TIMES(2100, 2100) "}],"
    "'memory_copy':["
    "{" V3_ID(3) "," V3_TIMES(2350, 2360) ",'dst_agent_id':{'handle':71},"
    "'src_agent_id':{'handle':70},'bytes':65536,'stream_id':{'handle':3}},"
    "{" V3_TIMES(2361, 2362) ",'dst_agent_id':{'handle':70},'src_agent_id':{'handle':0}},"
    "{" V3_TIMES(2363, 2364) ",'dst_agent_id':{'handle':71},'src_agent_id':{'handle':0},"
    "'bytes':1},"
    "{" V3_TIMES(-5, 2364) ",'dst_agent_id':{'handle':71}}],"
    "'memory_allocation':["
    "{'kind':3,'operation':1,'thread_id':816,'agent_id':{'handle':71},'address':'0x7eda00200000',"
    "'allocation_size':1000," V3_TIMES(1500, 1600) "},"
    "{'kind':3,'operation':1,'thread_id':816,'agent_id':{'handle':70},'address':'4096',"
    "'allocation_size':10," V3_TIMES(1700, 1800) "},"
    "{'kind':3,'operation':2,'thread_id':816,'address':'0x7eda00200000'," V3_TIMES(4000, 4100)
    "},"
    "{'kind':3,'operation':2,'thread_id':816,'address':'0x7eda00200000'," V3_TIMES(4200, 4300)
    "}],"
    "'x_api':[{'kind':0,'operation':0,'thread_id':817," V3_TIMES(130, 140) "}],"
    "'pc_sampling':{},'scratch_memory':[{'kind':4},{'kind':4}],'api':[{'kind':4}]},"
    "'callback_records':{'counter_collection_more':[1],'counter_collection':[4,"
    "{'of':1,'dispatch_data':{'dispatch_info':{'dispatch_id':1}},'records':[3,"
    "{'counter_id':{'handle':5},'value':100.5},{'counter_id':{'handle':5},'at':1,'value':24},"
    "{'counter_id':{'handle':0},'value':7},{'counter_id':{'handle':0},'value':'7'},"
    "{'counter_id':{'handle':6},'value':7},{'value':7}]},"
    /* once more, for other counters */
    "{'dispatch_data':{'dispatch_info':{'dispatch_id':1}},"
    "'records':[{'counter_id':{'handle':5},'value':9}]},"
    /* of a kernel that stands here alone, and of one on no GPU */
    "{'dispatch_data':{" V3_TIMES(5000, 5010) ",'dispatch_info':{'agent_id':{'handle':71},"
    "'dispatch_id':8,'kernel_id':3}},'records':[{'counter_id':{'handle':0},'value':3}]},"
    "{'dispatch_data':{" V3_TIMES(5000, 5010) ",'dispatch_info':{'agent_id':{'handle':70},"
    "'dispatch_id':9,'kernel_id':3}},'records':[{'counter_id':{'handle':0},'value':3}]},"
    "{'records':[{'counter_id':{'handle':0},'value':3}]},{'records':7}]}},"
    "{'metadata':{'node':3,'command':4,'pid':816},'buffer_records':{'marker_api':[],"
    "'kernel_dispatch':7,'memory_allocation':[{'address':64,'allocation_size':5,"
    "'thread_id':816," V3_TIMES(10, 20) "}]},"
    "'callback_records':{'counter_collection':5,'counter_collection':[{'dispatch_data':{"
    "'dispatch_info':{'dispatch_id':1}},'records':[{'counter_id':{'handle':5},'value':9}]}]},"
    "'counters':[{'id':{'handle':5},'name':'WAVES'}]}],'made_by':{'x':[1]}}";

static const char rows_of_v3[] =
    "process 815 'train' 'node7' of rocprofv3 JSON end 9000 serialised\n"
    "NO_CALL 6\n"
    "NO_GRID 3\n"
    "NO_REGISTERS 2\n"
    "NO_BYTES 1\n"
    "NO_ALLOCATION 1\n"
    "BAD_TIMES 3\n"
    "BAD_ROWS 7\n"
    "NOT_SHOWN 3\n"
    "thread 816 ''\n"
    "thread 817 ''\n"
    "gpu 0 'gfx90a' 'gfx90a' version 9.0 cus 80\n"
    "gpu 1 'MI350X' 'gfx950' version 9.5 cus 256\n"
    "op 816 2000-3000 'for\"ward' id 1\n"
    "op 816 2100 'roctxMark' id 2\n"
    "memory 816 1600 at 0x7eda00200000 gpu 1 +1000 = 1000\n"
    "memory 816 1800 at 0x1000 +10 = 10\n"
    "memory 816 4000 at 0x7eda00200000 gpu 1 -1000 = 0\n"
    "call 816 2200-2210 'hipLaunchKernel' no 2 in 1 launches\n"
    "call 816 2300-2310 'hipMemcpy' no 3 in 1 launches\n"
    "call 817 100 'hsa_init' no 5\n"
    "call 817 110-120 'ncclAllReduce' no 6\n"
    "call 817 130-140 'hipFirst' no 1\n"
    "call 817 2320-2330 'hipGetLastError' minor no 4\n"
    "copy 0/0 2361-2362 'Memcpy DtoH (Device -> Host)' DtoH 0>-1 of no call\n"
    "kernel 0/0 2600-2650 'plain' grid 2,2,1 block 64,1,1 of no call\n"
    "copy 1/0 2363-2364 'Memcpy PtoP (Device -> Device)' bytes 1 PtoP 0>1 of no call\n"
    "kernel 1/0 2700-2750 '(kernel without name)' of no call\n"
    "kernel 1/0 2800-2850 'none used' registers 0,0,0 of no call\n"
    "kernel 1/0 5000-5010 'gemm(float*)' registers 96,4,48 BUSY=3 of no call\n"
    "kernel 1/2 2400-2500 'gemm(float*)' no 2 in 1 grid 2,64,3 block 256,2,1 registers "
    "96,4,48 lds 65536 scratch 16 blocks 1.5 warps 12 occupancy 37.5 by grid WAVES=124.5 "
    "BUSY=7\n"
    "copy 1/3 2350-2360 'Memcpy HtoD (Host -> Device)' no 3 in 1 bytes 65536 HtoD -1>1\n"
    "process 816 '' '' of rocprofv3 JSON\n"
    "BAD_TIMES 1\n"
    "thread 816 ''\n"
    "memory 816 20 at 0x40 +5 = 5\n";

static void records_of_rocprofv3(void **state)
{
    static const rows_left left[] = {
        {"hip", 5, 3, 2, 2, 5, 0, 2, 4},
        {"hsa", 5, 3, 5, 2, 5, 0, 2, 1},
        {"rccl", 5, 3, 5, 2, 5, 0, 2, 1},
        {"ranges", 5, 3, 6, 0, 5, 0, 2, 2},
        {"copies", 5, 0, 6, 2, 5, 0, 2, 4},
        {"memory", 5, 3, 6, 2, 0, 0, 2, 4}, /* the second process has nothing else */
        {"counters", 5, 3, 6, 2, 5, 0, 0, 5}, /* the kernels stay */
        {"hip,hsa,copies", 5, 0, 1, 2, 5, 0, 2, 9},
    };
    const char *path = keep_quoted("r.json", v3);
    (void)state;
    check_rows(path, NULL, rows_of_v3);
    check_drops(path, left, HB_ARRAY_LEN(left));
}

/* ---- rocprof ---- */

#define V1(pid, ts, args)   "{'ph':'X','pid':'" #pid "','ts':'" #ts "','args':{" args "}}"
#define V1_AT(begin, end)   "'BeginNs':'" #begin "','EndNs':'" #end "',"
#define V1_OF(pid, tid)     "'pid':'" #pid "','tid':'" #tid "',"
#define V1_NAME(name)       "'Name':'" name "'"
#define V1_ARROW(ph, id, pid, tid, ts)                                                       \
    "{'ph':'" ph "','id':" #id ",'pid':" #pid ",'tid':'" #tid "','ts':" #ts ",'cat':'DataFlow'}"

/* Rows of ranges, copies, calls of HIP and of HSA, of two kinds that no view shows, of GPUs and of
 * barriers; arrows by ids in no order, to the first and the last microsecond of a call, and beside
 * it. */
static const char v1[] =
    "{'traceEvents':[7,{},"
    "{'ph':'M','pid':2,'name':'process_name','args':{'name':'CPU HIP API'}},"
    V1(0, 10, V1_AT(10000, 90000) V1_OF(517, 518) V1_NAME("for\\'ward")) ","
    V1(2, 20, V1_AT(20500, 23400) V1_OF(517, 518) V1_NAME("hipLaunchKernel")
       ",'args':'( numBlocks({z(1) y(2) x(3}) dimBlocks({z(1) y(1) x(64}) sharedMemBytes(7) "
       "stream(0x5))'") ","
    V1(2, 30, V1_AT(30000, 30999) V1_OF(517, 518) V1_NAME("hipMemcpy")
       ",'args':'( dst(0x10) src(0x20) sizeBytes(24) kind(1))'") ","
    V1(2, 30, V1_AT(30000, 30999) V1_OF(517, 519) V1_NAME("hipGetLastError")) ","
    V1(3, 40, V1_AT(40000, 39000) V1_OF(517, 519) V1_NAME("hsa_init")) ","
    V1(3, 41, V1_AT(41000, 42000) V1_OF(517, 519) "'x':1") ","
    V1(4, 41, V1_AT(41000, 42000) V1_OF(517, 519) V1_NAME("x")) ","
    V1(5, 41, V1_AT(41000, 42000) V1_OF(517, 519) V1_NAME("x")) ","
    V1(6, 50, V1_AT(50000, 51000) V1_OF(517, 518) V1_NAME("gemm.kd")
       ",'dev-id':'3','queue-id':'2','stream-id':'4'") ","
    V1(8, 60, V1_AT(60000, 61000) V1_OF(517, 518) V1_NAME("_Z4softPf [clone .kd]")) ","
    V1(8, 60, V1_AT(60500, 61500) V1_OF(517, 518) V1_NAME("last")) ","
    V1(511, 70, V1_AT(70000, 71000) V1_OF(517, 518) V1_NAME("")) ","
    V1(512, 80, V1_AT(80000, 81000) V1_OF(517, 518) V1_NAME("barrier")) ","
    V1(1, 60, V1_AT(60000, 60100) V1_OF(517, 518) V1_NAME("CopyDeviceToHost")
       ",'dev-id':3") ","
    V1(1, 61, V1_AT(61000, 61100) V1_OF(517, 518) V1_NAME("FillBuffer") ",'dev-id':5") ","
    "{'ph':'X','pid':6,'ts':1},{'ph':'X','pid':2,'ts':1,'args':[1]},"
    V1(2, 90, V1_AT(90000, 91000) V1_OF(600, 601) V1_NAME("hipFree")) ","
    V1(6, 95, V1_AT(95000, 96000) V1_OF(600, 601) V1_NAME("other") ",'dev-id':-2") ","
    V1_ARROW("t", 9, 8, 0, 60) "," V1_ARROW("t", 3, 8, 0, 60) "," V1_ARROW("t", 4, 1, 0, 60) ","
    V1_ARROW("t", 5, 6, 0, 50) "," V1_ARROW("t", 6, 6, 0, 95) "," V1_ARROW("t", 7, 511, 0, 70) ","
    V1_ARROW("s", 9, 2, 518, 20) "," V1_ARROW("s", 4, 2, 518, 30) ","
    V1_ARROW("s", 3, 2, 518, 23) "," V1_ARROW("s", 5, 2, 518, 24) ","
    V1_ARROW("s", 8, 2, 518, 30) "," V1_ARROW("s", 6, 2, 601, 89) ","
    V1_ARROW("s", 7, 2, 517, 30)
    "],'traceEvents':{},'otherData':{'x':1}}";

static const char rows_of_v1[] =
    "process 517 '' '' of rocprof 1\n"
    "NO_CALL 3\n"
    "NO_GRID 3\n"
    "NO_REGISTERS 4\n"
    "BAD_ROWS 1\n"
    "NOT_SHOWN 3\n"
    "thread 518 ''\n"
    "thread 519 ''\n"
    "op 518 10000-90000 'for\"ward' id 1\n"
    "call 518 20500-23400 'hipLaunchKernel' no 1 in 1 launches grid 3,2,1 block 64,1,1 lds 7 "
    "stream 0x5\n"
    "call 518 30000-30999 'hipMemcpy' no 2 in 1 launches ptr 0x10 src 0x20 bytes 24 kind 1\n"
    "call 519 30000-30999 'hipGetLastError' minor no 3\n"
    "call 519 40000 'hsa_init' no 4\n"
    "kernel 0/0 60000-61000 'soft(float*)' no 1 in 1 grid 3,2,1 block 64,1,1\n"
    "kernel 0/0 60500-61500 'last' no 1 in 1\n"
    "copy 1/0 60000-60100 'Memcpy DtoH (Device -> Host)' no 2 in 1 bytes 24 DtoH 1>-1\n"
    "kernel 1/4 50000-51000 'gemm' of no call\n"
    "fill 2/0 61000-61100 'Memset (Device)' Device 2>2 of no call\n"
    "kernel 3/0 70000-71000 '(kernel without name)' of no call\n"
    "process 600 '' '' of rocprof 1\n"
    "NO_CALL 1\n"
    "NO_GRID 1\n"
    "NO_REGISTERS 1\n"
    "thread 601 ''\n"
    "call 601 90000-91000 'hipFree' no 1\n"
    "kernel 0/0 95000-96000 'other' of no call\n";

static void events_of_rocprof(void **state)
{
    static const rows_left left[] = {
        {"hip", 5, 2, 1, 1, 0, 0, 0, 4},
        {"hsa", 5, 2, 4, 1, 0, 0, 0, 2},
        {"ranges", 5, 2, 5, 0, 0, 0, 0, 1},
        {"copies", 5, 0, 5, 1, 0, 0, 0, 2},
    };
    const char *path = keep_quoted("results.json", v1);
    (void)state;
    check_rows(path, NULL, rows_of_v1);
    check_drops(path, left, HB_ARRAY_LEN(left));
}

/* A GPU's memory by the calls that allocated and freed it, where a call tells both its place and
 * its size. */
static const char v1_memory[] =
    "{'traceEvents':["
    V1(2, 1, V1_AT(1000, 2000) V1_OF(5, 6) V1_NAME("hipMalloc")
       ",'args':'( ptr(0x100) size(10))'") ","
    V1(2, 2, V1_AT(2000, 2000) V1_OF(5, 6) V1_NAME("hipMallocAsync")
       ",'args':'( ptr(0x200) size(20))'") ","
    V1(2, 3, V1_AT(3000, 4000) V1_OF(5, 7) V1_NAME("hipExtMallocWithFlags")
       ",'args':'( ptr(0x300) size(30))'") ","
    V1(2, 4, V1_AT(4000, 5000) V1_OF(5, 6) V1_NAME("hipMallocManaged")
       ",'args':'( ptr(0x400) size(40))'") ","
    V1(2, 5, V1_AT(5000, 6000) V1_OF(5, 6) V1_NAME("hipMalloc") ",'args':'( ptr(0x500))'") ","
    V1(2, 5, V1_AT(5100, 5200) V1_OF(5, 6) V1_NAME("hipMalloc") ",'args':'( size(0x500))'") ","
    V1(2, 5, V1_AT(5300, 5400) V1_OF(5, 6) V1_NAME("hipHostMalloc")
       ",'args':'( ptr(0x600) size(60))'") ","
    V1(2, 6, V1_AT(6000, 7000) V1_OF(5, 6) V1_NAME("hipFree") ",'args':'( ptr(0x100))'") ","
    V1(2, 7, V1_AT(7000, 8000) V1_OF(5, 7) V1_NAME("hipFreeAsync")
       ",'args':'( ptr(0x300) size(9))'") ","
    V1(2, 8, V1_AT(8000, 9000) V1_OF(5, 6) V1_NAME("hipFree")) ","
    V1(2, 9, V1_AT(9000, 9100) V1_OF(5, 6) V1_NAME("hipFree") ",'args':'( ptr(0))'") "]}";

static const char rows_of_v1_memory[] =
    "process 5 '' '' of rocprof 1\n"
    "thread 6 ''\n"
    "thread 7 ''\n"
    "memory 6 1999 at 0x100 gpu 0 +10 = 10\n"
    "memory 6 2000 at 0x200 gpu 0 +20 = 30\n"
    "memory 6 4999 at 0x400 gpu 0 +40 = 100\n"
    "memory 6 6000 at 0x100 gpu 0 -10 = 90\n"
    "memory 7 3999 at 0x300 gpu 0 +30 = 60\n"
    "memory 7 7000 at 0x300 gpu 0 -30 = 60\n"
    "call 6 1000-2000 'hipMalloc' ptr 0x100 bytes 10\n"
    "call 6 2000 'hipMallocAsync' ptr 0x200 bytes 20\n"
    "call 6 4000-5000 'hipMallocManaged' ptr 0x400 bytes 40\n"
    "call 6 5000-6000 'hipMalloc' ptr 0x500\n"
    "call 6 5100-5200 'hipMalloc' bytes 1280\n"
    "call 6 5300-5400 'hipHostMalloc' ptr 0x600 bytes 60\n"
    "call 6 6000-7000 'hipFree' ptr 0x100\n"
    "call 6 8000-9000 'hipFree'\n"
    "call 6 9000-9100 'hipFree'\n"
    "call 7 3000-4000 'hipExtMallocWithFlags' ptr 0x300 bytes 30\n"
    "call 7 7000-8000 'hipFreeAsync' ptr 0x300 bytes 9\n";

static void memory_of_calls_of_rocprof(void **state)
{
    static const rows_left left[] = {{"memory", 0, 0, 11, 0, 0, 0, 0, 0},
                                     {"hsa", 0, 0, 11, 0, 6, 0, 0, 0}};
    const char *path = keep_quoted("results.json", v1_memory);
    (void)state;
    check_rows(path, NULL, rows_of_v1_memory);
    check_drops(path, left, HB_ARRAY_LEN(left));
}

/* ---- Chrome's format ---- */

#define EVENT(ph, cat, name, pid, tid, ts, more)                                              \
    "{'ph':'" ph "','cat':'" cat "','name':'" name "','pid':" #pid ",'tid':" #tid ",'ts':" #ts \
    more "}"
#define ARGS(args)  ",'args':{" args "}"
#define DUR(number) ",'dur':" #number

/* Of each kind on the host, under other tools' words for it; two processes, one of which is named
 * before its events, and one that has none. */
static const char hosts[] =
    "{'traceEvents':[7,"
    "{'ph':'M','name':'process_name','pid':8,'args':{'name':'pro\\'gram'}},"
    "{'ph':'M','name':'process_name','pid':99,'args':{'name':'none'}},"
    "{'ph':'M','name':'thread_name','pid':7,'args':{'name':'main'}},"
    "{'ph':'M','name':'process_name','pid':7,'args':5},"
    EVENT("X", "mine", "outer", 7, 1, 10, DUR(50)) ","
    EVENT("X", "cpu_op", "op", 7, 1, 11, DUR(9) ARGS("'External id':5,'Input Dims':[[2]]")) ","
    EVENT("X", "user_annotation", "note", 7, 1, 12, DUR(3)) ","
    EVENT("X", "python", "py", 7, 1, 13, DUR(1)) ","
    EVENT("X", "MARKER_API", "range", 7, 1, 14, DUR(1)) ","
    "{'ph':'X','name':'no category','pid':'7','tid':'10','ts':'14.5','dur':0.25},"
    EVENT("X", "hip_api", "__hipPushCallConfiguration", 7, 1, 15, DUR(1)) ","
    EVENT("X", "HSA_API", "hsa", 7, 1, 16, DUR(1)) ","
    EVENT("X", "rccl_api", "rccl", 7, 1, 17, DUR(1)) ","
    EVENT("X", "cuda_runtime", "cudaFree", 7, 1, 18, DUR(1)) ","
    EVENT("X", "Runtime", "hipFree", 7, 1, 19, DUR(1)) ","
    EVENT("X", "hip_api", "hipLaunchKernel", 7, 1, 20, DUR(2)
          ARGS("'correlation':4,'grid':[3,2,0],'block':[64,1,1],'shared memory':16,'stream':9,"
               "'kind':'x'")) ","
    EVENT("X", "hip_api", "hipMemcpy", 7, 1, 23, DUR(2)
          ARGS("'corr_id':'0x5','dst':'0x10','src':'0x20','sizeBytes':'77','kind':'1'")) ","
    EVENT("X", "hip_api", "hipMalloc", 7, 1, 26, DUR(2)
          ARGS("'ptr':9223372036854775808,'size':10,'correlation':18446744073709551615")) ","
    EVENT("X", "hip_api", "grid alone", 7, 1, 29, DUR(1) ARGS("'grid':[3,2]")) ","
    EVENT("X", "hip_api", "block alone", 7, 1, 30, DUR(1) ARGS("'block':[3,2,1],'src':5")) ","
    /* what no view shows, or is made up of other events */
    EVENT("X", "python_function", "frame", 7, 1, 31, DUR(1)) ","
    EVENT("X", "Trace", "span", 99, 1, 32, DUR(1)) ","
    EVENT("X", "cpu_op", "made", 7, 1, 33, DUR(1) ARGS("'hipboard':'inferred'")) ","
    EVENT("X", "cpu_op", "made", 7, 1, 34, DUR(1) ARGS("'External id':2251799813685248")) ","
    EVENT("X", "cpu_op", "made", 7, 1, 35, DUR(1) ARGS("'External id':9007199254740991")) ","
    EVENT("X", "user_annotation", "made", 7, 1, 35, DUR(1) ARGS("'hipboard':'inferred'")) ","
    EVENT("X", "cpu_op", "below", 7, 1, 36, DUR(1) ARGS("'External id':2251799813685247")) ","
    EVENT("X", "cpu_op", "above", 7, 1, 38, DUR(1) ARGS("'External id':9007199254740992")) ","
    EVENT("X", "hip_api", "call", 7, 1, 40, DUR(1) ARGS("'hipboard':1")) ","
    /* moments */
    EVENT("i", "mine", "moment", 7, 1, 41, DUR(0)) "," EVENT("I", "mine", "other", 7, 1, 42, "") ","
    EVENT("i", "memory", "[memory]", 7, 1, 43,
          ARGS("'Addr':256,'Bytes':64,'Total Allocated':64,'Device Type':1,'Device Id':2")) ","
    EVENT("i", "memory", "[memory]", 7, 1, 44,
          ARGS("'Addr':256,'Bytes':-64,'Total Allocated':0,'Device Type':1,'Device Id':5000")) ","
    EVENT("i", "memory", "[memory]", 7, 1, 45,
          ARGS("'Addr':512,'Bytes':8,'Total Allocated':-8,'Device Type':0,'Device Id':3")) ","
    EVENT("i", "memory", "[OutOfMemory]", 7, 1, 45.5,
          ARGS("'Bytes':4096,'Total Allocated':64,'Device Type':1,'Device Id':2")) ","
    EVENT("i", "memory", "no total", 7, 1, 46, ARGS("'Addr':512,'Bytes':8")) ","
    EVENT("X", "mine", "no moment", 7, 1, 47, ARGS("'Addr':5,'Bytes':8,'Total Allocated':8")) ","
    /* numbers */
    EVENT("C", "", "queue", 7, 1, 48, ARGS("'rows':5,'text':'x','value':2.5")) ","
    EVENT("C", "", "queue", 7, -1, 49, ARGS("'value':3")) ","
    EVENT("C", "", "none", 7, 1, 50, ARGS("'text':'x'")) ","
    EVENT("C", "", "none", 7, 1, 51, ",'args':5") ","
    EVENT("C", "", "early", 7, 1, -52, ARGS("'value':3")) ","
    /* no names, no times, other processes */
    "{'ph':'X','cat':'mine','pid':7,'tid':1,'ts':53,'dur':1},"
    "{'ph':'X','cat':'mine','name':'x','pid':7,'tid':1,'dur':1},"
    "{'ph':'X','cat':'mine','name':'x','pid':7,'tid':1,'ts':null,'dur':1},"
    "{'ph':'X','cat':'mine','name':'back','pid':8,'tid':2,'ts':60,'dur':-5},"
    EVENT("X", "mine", "of none", -1, 2, 61, DUR(1)) ","
    EVENT("X", "mine", "of a float", 7.0, 1.0, 62, DUR(1)) ","
    EVENT("s", "mine", "arrow", 7, 1, 63, "") "," EVENT("Z", "mine", "unknown", 7, 1, 64, "")
    "]}";

static const char rows_of_hosts[] =
    "process 7 '' '' of Chrome JSON\n"
    "BAD_TIMES 3\n"
    "BAD_ROWS 3\n"
    "INPUTS 1\n"
    "NOT_SHOWN 3\n"
    "thread 1 ''\n"
    "thread 10 ''\n"
    "thread 7 ''\n"
    "thread 2 ''\n"
    "op 1 10000-60000 'outer' id 1\n"
    "op 1 11000-20000 'op' id 2\n"
    "annotation 1 12000-15000 'note' in 3\n"
    "op 1 13000-14000 'py' id 4\n"
    "op 1 14000-15000 'range' id 5\n"
    "op 1 36000-37000 'below' id 7\n"
    "op 1 38000-39000 'above' id 8\n"
    "op 1 41000 'moment' id 9\n"
    "op 1 42000 'other' id 10\n"
    "op 1 47000 'no moment' id 11\n"
    "op 1 62000-63000 'of a float' id 13\n"
    "memory 1 43000 at 0x100 gpu 2 +64 = 64\n"
    "memory 1 44000 at 0x100 gpu 1023 -64 = 0\n"
    "memory 1 45000 at 0x200 +8 = 0\n"
    "memory 1 45500 gpu 2 +4096 = 64 failed\n"
    "op 10 14500-14750 'no category' id 6\n"
    "op 2 61000-62000 'of none' id 12\n"
    "sample 1 48000 'queue' 5 'rows'\n"
    "sample 1 48000 'queue' 2.5\n"
    "sample 7 49000 'queue' 3\n"
    "call 1 15000-16000 '__hipPushCallConfiguration' minor in 2\n"
    "call 1 16000-17000 'hsa' in 2\n"
    "call 1 17000-18000 'rccl' in 2\n"
    "call 1 18000-19000 'cudaFree' in 2\n"
    "call 1 19000-20000 'hipFree' in 2\n"
    "call 1 20000-22000 'hipLaunchKernel' no 4 in 1 grid 3,2,1 block 64,1,1 lds 16 stream "
    "0x9 kind 4\n"
    "call 1 23000-25000 'hipMemcpy' no 5 in 1 ptr 0x10 src 0x20 bytes 77 kind 1\n"
    "call 1 26000-28000 'hipMalloc' in 1 ptr 0x8000000000000000 bytes 10\n"
    "call 1 29000-30000 'grid alone' in 1\n"
    "call 1 30000-31000 'block alone' in 1\n"
    "call 1 40000-41000 'call' in 1\n"
    "process 8 'pro\"gram' '' of Chrome JSON\n"
    "thread 2 ''\n"
    "op 2 60000 'back' id 1\n";

static void rows_of_the_host_in_chromes_format(void **state)
{
    static const rows_left left[] = {
        {"hip", 0, 0, 2, 14, 4, 3, 0, 9},
        {"hsa", 0, 0, 10, 14, 4, 3, 0, 1},
        {"rccl", 0, 0, 10, 14, 4, 3, 0, 1},
        {"ranges", 0, 0, 11, 0, 4, 3, 0, 13}, /* the second process has nothing else */
        {"memory", 0, 0, 11, 14, 0, 3, 0, 4},
        {"counters", 0, 0, 11, 14, 4, 0, 0, 5},
    };
    const char *path = keep_quoted("trace", hosts);
    (void)state;
    check_rows(path, NULL, rows_of_hosts);
    check_drops(path, left, HB_ARRAY_LEN(left));
}

/* Kernels, copies and fills under all names of what they tell; whose they are, by their args and by
 * their pids. */
static const char devices[] =
    "[" EVENT("X", "mine", "op", 70, 1, 1, DUR(1)) ","
    EVENT("X", "kernel", "all", 2, 5, 10, DUR(1)
          ARGS("'device':1,'stream':3,'correlation':7,'grid':[2,3,4],'block':[8,1,2],"
               "'registers per thread':40,'AGPRs per thread':4,'sgprs per wave':16,"
               "'shared memory':128,'scratch per thread':12,'blocks per SM':3,'WAVES':5,"
               "'queued':9,'rate':2.5,'text':'x'")) ","
    EVENT("X", "KERNEL_DISPATCH", "amd", 2, 5, 20, DUR(1)
          ARGS("'Agent_Id':3,'queue_id':6,'corr_id':8,'VGPR_Count':8,'Accum_VGPR_Count':2,"
               "'SGPR_Count':4,'LDS_Block_Size':64,'Scratch_Size':32,'grid_x':5,'grid_y':6,"
               "'grid_z':7,'block_x':32,'block_y':2,'block_z':3")) ","
    EVENT("X", "kernel", "gpu 0", 90, 5, 30, DUR(1) ARGS("'agent':'GPU 0'")) ","
    EVENT("X", "kernel", "agent 4", 90, 5, 31, DUR(1) ARGS("'agent':'Agent 4','hip stream':9")) ","
    EVENT("X", "kernel", "pid 63", 63, 5, 32, DUR(1)) ","
    EVENT("X", "kernel", "pid 64", 64, 5, 33, DUR(1)) ","
    EVENT("X", "kernel", "no pid", -1, 5, 34, DUR(1)) ","
    EVENT("X", "kernel", "grid alone", 0, 5, 35, DUR(1) ARGS("'grid':[2,3,4]")) ","
    EVENT("X", "kernel", "block alone", 0, 5, 36, DUR(1) ARGS("'block':[2,3,4],'device':2.0")) ","
    EVENT("X", "kernel", "grid of one", 0, 5, 36, DUR(1) ARGS("'grid':'7','block':'7'")) ","
    EVENT("X", "kernel", "huge", 0, 5, 37, DUR(1)
          ARGS("'grid':[99999999999,1,1],'block':[1,1,1],'device':1e300,'shared memory':1e12")) ","
    EVENT("X", "gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 5, 40, DUR(1)
          ARGS("'bytes':64,'device':1,'stream':'2'")) ","
    EVENT("X", "gpu_memcpy", "Memcpy DtoH (Device -> Host)", 0, 5, 41, DUR(1)) ","
    EVENT("X", "Memcpy", "Memcpy HtoH", 0, 5, 42, DUR(1)) ","
    EVENT("X", "gpu_memcpy", "Memcpy DtoD", 0, 5, 43, DUR(1)) ","
    EVENT("X", "gpu_memcpy", "Memcpy PtoP", 0, 5, 44, DUR(1)
          ARGS("'fromDevice':1,'toDevice':2")) ","
    EVENT("X", "gpu_memcpy", "Memcpy PtoP", 0, 5, 45, DUR(1)
          ARGS("'fromDevice':-1,'toDevice':9999")) ","
    EVENT("X", "gpu_memcpy", "Memcpy PtoP", 0, 5, 46, DUR(1) ARGS("'fromDevice':3")) ","
    EVENT("X", "MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", 0, 5, 47, DUR(1)) ","
    EVENT("X", "MEMORY_COPY", "MEMORY_COPY_DEVICE_TO_HOST", 0, 5, 48, DUR(1)) ","
    EVENT("X", "MEMORY_COPY", "MEMORY_COPY_DEVICE_TO_DEVICE", 0, 5, 49, DUR(1)) ","
    EVENT("X", "MEMORY_COPY", "CopyHostToDevice", 0, 5, 50, DUR(1)) ","
    EVENT("X", "MEMORY_COPY", "CopyDeviceToHost", 0, 5, 51, DUR(1)) ","
    EVENT("X", "MEMORY_COPY", "CopyDeviceToDevice", 0, 5, 52, DUR(1)) ","
    EVENT("X", "MEMORY_COPY", "some", 0, 5, 53, DUR(1) ARGS("'bytes':-5")) ","
    EVENT("X", "gpu_memset", "Memset", 0, 5, 54, DUR(1) ARGS("'bytes':5,'WAVES':1")) ","
    EVENT("X", "hip_memset", "any", 0, 5, 55, DUR(1)) "]";

static const char rows_of_devices[] =
    "process 70 '' '' of Chrome JSON serialised\n"
    "NO_CALL 27\n"
    "NO_GRID 8\n"
    "NO_REGISTERS 9\n"
    "NO_BYTES 13\n"
    "thread 1 ''\n"
    "op 1 1000-2000 'op' id 1\n"
    "kernel 0/5 30000-31000 'gpu 0' of no call\n"
    "kernel 0/5 34000-35000 'no pid' of no call\n"
    "kernel 0/5 35000-36000 'grid alone' of no call\n"
    "kernel 0/5 36000-37000 'grid of one' of no call\n"
    "kernel 0/5 37000-38000 'huge' grid 4294967295,1,1 block 1,1,1 lds 4294967295 of no call\n"
    "copy 0/5 41000-42000 'Memcpy DtoH (Device -> Host)' DtoH 0>-1 of no call\n"
    "copy 0/5 42000-43000 'Memcpy HtoH (Host -> Host)' HtoH -1>-1 of no call\n"
    "copy 0/5 43000-44000 'Memcpy DtoD (Device -> Device)' DtoD 0>0 of no call\n"
    "copy 0/5 44000-45000 'Memcpy PtoP (Device -> Device)' PtoP 1>2 of no call\n"
    "copy 0/5 45000-46000 'Memcpy PtoP (Device -> Device)' PtoP 0>4 of no call\n"
    "copy 0/5 46000-47000 'Memcpy DtoD (Device -> Device)' DtoD 0>0 of no call\n"
    "copy 0/5 47000-48000 'Memcpy HtoD (Host -> Device)' HtoD -1>0 of no call\n"
    "copy 0/5 48000-49000 'Memcpy DtoH (Device -> Host)' DtoH 0>-1 of no call\n"
    "copy 0/5 49000-50000 'Memcpy DtoD (Device -> Device)' DtoD 0>0 of no call\n"
    "copy 0/5 50000-51000 'Memcpy HtoD (Host -> Device)' HtoD -1>0 of no call\n"
    "copy 0/5 51000-52000 'Memcpy DtoH (Device -> Host)' DtoH 0>-1 of no call\n"
    "copy 0/5 52000-53000 'Memcpy DtoD (Device -> Device)' DtoD 0>0 of no call\n"
    "copy 0/5 53000-54000 'Memcpy' 0>0 of no call\n"
    "fill 0/5 54000-55000 'Memset (Device)' bytes 5 Device 0>0 of no call\n"
    "fill 0/5 55000-56000 'Memset (Device)' Device 0>0 of no call\n"
    "copy 1/2 40000-41000 'Memcpy HtoD (Host -> Device)' bytes 64 HtoD -1>1 of no call\n"
    "kernel 1/3 10000-11000 'all' no 7 grid 2,3,4 block 8,1,2 registers 40,4,16 lds 128 "
    "scratch 12 WAVES=5 rate=2.5 of no call\n"
    "kernel 2/5 36000-37000 'block alone' of no call\n"
    "kernel 3/5 32000-33000 'pid 63' of no call\n"
    "kernel 5/5 20000-21000 'amd' no 8 grid 5,6,7 block 32,2,3 registers 8,2,4 lds 64 "
    "scratch 32 of no call\n"
    "kernel 6/9 31000-32000 'agent 4' of no call\n"
    "kernel 7/5 33000-34000 'pid 64' of no call\n";

static void rows_of_gpus_in_chromes_format(void **state)
{
    static const rows_left left[] = {
        {"copies", 11, 0, 0, 1, 0, 0, 1, 16},
        {"counters", 11, 16, 0, 1, 0, 0, 0, 1},
    };
    const char *path = keep_quoted("trace", devices);
    (void)state;
    check_rows(path, NULL, rows_of_devices);
    check_drops(path, left, HB_ARRAY_LEN(left));
}

/* Calls without a number get what no other call and no work has, where some work has none either.
 */
static void numbers_of_calls(void **state)
{
    static const struct {
        const char *last, *expected;
    } rows[] = {
        {EVENT("X", "kernel", "k", 0, 5, 31, DUR(1)),
         "process 7 '' '' of Chrome JSON\n"
         "NO_CALL 2\n"
         "NO_GRID 2\n"
         "NO_REGISTERS 2\n"
         "thread 1 ''\n"
         "sync 1 1000-2000 'hipDeviceSynchronize' no 1\n"
         "call 1 3000-4000 'hipFree' no 3\n"
         "call 1 5000-6000 'hipGetDevice' no 4\n"
         "sync 1 7000-8000 'hipDeviceSynchronize' no 5\n"
         "kernel 0/5 30000-31000 'k' no 2 of no call\n"
         "kernel 0/5 31000-32000 'k' of no call\n"},
        {EVENT("X", "kernel", "k", 0, 5, 31, DUR(1) ARGS("'correlation':9")),
         "process 7 '' '' of Chrome JSON\n"
         "NO_CALL 2\n"
         "NO_GRID 2\n"
         "NO_REGISTERS 2\n"
         "thread 1 ''\n"
         "sync 1 1000-2000 'hipDeviceSynchronize' no 1\n"
         "call 1 3000-4000 'hipFree'\n"
         "call 1 5000-6000 'hipGetDevice' no 4\n"
         "sync 1 7000-8000 'hipDeviceSynchronize'\n"
         "kernel 0/5 30000-31000 'k' no 2 of no call\n"
         "kernel 0/5 31000-32000 'k' no 9 of no call\n"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char text[2000];
        snprintf(text, sizeof text, "[%s]",
                 EVENT("X", "hip_api", "hipDeviceSynchronize", 7, 1, 1, DUR(1)
                       ARGS("'correlation':1")) ","
                 EVENT("X", "hip_api", "hipFree", 7, 1, 3, DUR(1)) ","
                 EVENT("X", "hip_api", "hipGetDevice", 7, 1, 5, DUR(1)
                       ARGS("'correlation':4")) ","
                 EVENT("X", "hip_api", "hipDeviceSynchronize", 7, 1, 7, DUR(1)) ","
                 EVENT("X", "gpu_kernel", "k", 0, 5, 30, DUR(1) ARGS("'correlation':2")) ",LAST");
        snprintf(strstr(text, "LAST"), 1000, "%s]", rows[i].last);
        check_rows(keep_quoted("trace", text), NULL, rows[i].expected);
    }
}

/* GPUs of any number, of which there are no more than 1024, and numbers of several digits. */
static void gpus_of_large_numbers(void **state)
{
    (void)state;
    check_rows(keep_quoted("trace",
                           "[" EVENT("X", "mine", "op", 70, 1, 1, DUR(1)) ","
                           EVENT("X", "kernel", "a", 0, 5, 10, DUR(1)
                                 ARGS("'device':5000,'grid':[10,200,30],'block':[64,10,1]")) ","
                           EVENT("X", "kernel", "b", 0, 5, 20, DUR(1) ARGS("'device':1022")) ","
                           EVENT("X", "gpu_memcpy", "Memcpy PtoP", 0, 5, 30, DUR(1)
                                 ARGS("'device':1,'fromDevice':4000,'toDevice':4000000000")) "]"),
               NULL,
               "process 70 '' '' of Chrome JSON\n"
               "NO_CALL 3\n"
               "NO_GRID 1\n"
               "NO_REGISTERS 2\n"
               "NO_BYTES 1\n"
               "thread 1 ''\n"
               "op 1 1000-2000 'op' id 1\n"
               "copy 1/5 30000-31000 'Memcpy DtoD (Device -> Device)' DtoD 1023>1023 of no "
               "call\n"
               "kernel 1022/5 20000-21000 'b' of no call\n"
               "kernel 1023/5 10000-11000 'a' grid 10,200,30 block 64,10,1 of no call\n");
}

/* Begun and ended on threads of two processes, ends without a beginning and the reverse; a clock
 * and what else stands beside the events. */
static const char pairs[] =
    "{'more':[1],'baseTimeNanoseconds':1700000000000000000,'host_name':'node\\'7','traceEvents':["
    EVENT("B", "mine", "a", 7, 1, 10, "") "," EVENT("B", "mine", "b", 7, 1, 11, "") ","
    EVENT("B", "mine", "c", 8, 1, 12, "") "," EVENT("B", "mine", "d", 7, 2, 13, "") ","
    EVENT("E", "", "", 7, 1, 14, "") "," EVENT("E", "", "", 8, 1, 15, "") ","
    EVENT("B", "mine", "e", 7, 1, 16, "") "," EVENT("E", "", "", 7, 1, 17, "") ","
    EVENT("E", "", "", 7, 3, 18, "") ","
    EVENT("B", "kernel", "k", 0, 4, 19, ARGS("'device':1")) ","
    EVENT("E", "", "", 0, 4, 20.5, ARGS("'correlation':3,'stream':8")) ","
    EVENT("X", "mine", "last", 7, 1, 30, DUR(5)) "]}";

static const char rows_of_pairs[] =
    "process 7 '' 'node\"7' of Chrome JSON at 1700000000000000000\n"
    "NO_CALL 1\n"
    "NO_GRID 1\n"
    "NO_REGISTERS 1\n"
    "UNPAIRED 3\n"
    "thread 1 ''\n"
    "thread 2 ''\n"
    "op 1 10000-35000 'a' unfinished id 4\n"
    "op 1 11000-14000 'b' id 1\n"
    "op 1 16000-17000 'e' id 2\n"
    "op 1 30000-35000 'last' id 3\n"
    "op 2 13000-35000 'd' unfinished id 5\n"
    "kernel 1/8 19000-20500 'k' no 3 of no call\n"
    "process 8 '' '' of Chrome JSON at 1700000000000000000\n"
    "thread 1 ''\n"
    "op 1 12000-15000 'c' id 1\n";

static void pairs_in_chromes_format(void **state)
{
    (void)state;
    check_rows(keep_quoted("trace", pairs), NULL, rows_of_pairs);
}

/* Times of the day are told by themselves, from 2001 on, or by a time that is 0 of others. */
static void times_of_day_in_chromes_format(void **state)
{
    static const struct {
        const char *more, *ts;
        int64_t start; /* 0: not told */
    } rows[] = {
        {"", "999999999999999.999", 0},
        {"", "1000000000000000", 0},
        {"", "1000000000000000.001", 1000000000000000001},
        {"'baseTimeNanoseconds':0,", "5", 0},
        {"'baseTimeNanoseconds':-7,", "5", 0},
        {"'baseTimeNanoseconds':'x',", "5", 0},
        {"'baseTimeNanoseconds':1,", "5", 5001},
        {"'baseTimeNanoseconds':1,", "1000000000000000.001", 1000000000000000002},
    };
    static const char *const categories[] = {"mine", "gpu_kernel"};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < 2; k++) {
            char text[400];
            snprintf(text, sizeof text,
                     "{%s'traceEvents':[{'ph':'X','cat':'%s','name':'a','pid':0,'tid':8,'ts':%s,"
                     "'dur':1},{'ph':'C','name':'b','pid':0,'tid':8,'ts':2000000000000000,"
                     "'args':{'value':1}}]}",
                     rows[i].more, categories[k], rows[i].ts);
            hb_import *import = import_dropping(keep_quoted("trace", text), NULL);
            const hb_imported *p = hb_import_get(import, 0);
            if (rows[i].start)
                assert_string_equal(p->clock, "told by the file");
            else
                assert_string_equal(p->clock, "time since boot, its end as given");
            if (rows[i].start) assert_int_equal(p->start_ns, rows[i].start);
            hb_import_close(import);
        }
}

/* ---- ONNX Runtime ---- */

/* Lists of several sessions, and what stands between them; kernels are of one GPU, whatever the
 * host's pid is. */
static const char onnx[] =
    "[" EVENT("X", "Session", "model_run", 7, 1, 10, DUR(50)) ","
    EVENT("X", "Node", "conv_kernel_time", 7, 1, 11, DUR(9) ARGS("'op_name':'Conv'")) ","
    EVENT("X", "Node", "escaped", 7, 1, 21, DUR(9) ARGS("'op_name':'a\\tb'")) ","
    EVENT("X", "Node", "number", 7, 1, 31, DUR(9) ARGS("'op_name':5")) ","
    EVENT("X", "Kernel", "k", 7, 1, 12, DUR(2)
          ARGS("'stream':'7','grid_x':'12','grid_y':'2','grid_z':'1','block_x':'256','block_y':'1',"
               "'block_z':'1'")) "]\n5 [" EVENT("X", "Session", "model_run", 7, 1, 70, DUR(5)) "]";

static const char rows_of_onnx[] =
    "process 7 '' '' of ONNX Runtime\n"
    "NO_CALL 1\n"
    "NO_REGISTERS 1\n"
    "thread 1 ''\n"
    "op 1 10000-60000 'model_run' id 1\n"
    "op 1 11000-20000 'Conv' id 2\n"
    "op 1 21000-30000 'a	b' id 3\n"
    "op 1 31000-40000 'number' id 4\n"
    "op 1 70000-75000 'model_run' id 5\n"
    "kernel 0/7 12000-14000 'k' grid 12,2,1 block 256,1,1 of no call\n";

static void sessions_of_onnx_runtime(void **state)
{
    (void)state;
    check_rows(keep_quoted("profile.json", onnx), NULL, rows_of_onnx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(records_of_rocprofv3),
        IN_DIR(events_of_rocprof),
        IN_DIR(memory_of_calls_of_rocprof),
        IN_DIR(rows_of_the_host_in_chromes_format),
        IN_DIR(rows_of_gpus_in_chromes_format),
        IN_DIR(numbers_of_calls),
        IN_DIR(gpus_of_large_numbers),
        IN_DIR(pairs_in_chromes_format),
        IN_DIR(times_of_day_in_chromes_format),
        IN_DIR(sessions_of_onnx_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
