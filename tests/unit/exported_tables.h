/* SPDX-License-Identifier: MIT
 *
 * A small trace with something of each kind, and the tables and rows that are made of it.
 */
#ifndef HB_TEST_EXPORTED_TABLES_H
#define HB_TEST_EXPORTED_TABLES_H

/* Quotes stand for double ones. */
static const char exported_trace[] =
    "{'deviceProperties':[{'id':0,'name':'First','totalGlobalMem':1073741824,"
    "'computeMajor':9,'computeMinor':0,'numSms':104,'warpSize':64,"
    "'maxThreadsPerBlock':1024,'maxThreadsPerMultiprocessor':2048,"
    "'maxSharedMemoryPerMultiProcessor':65536,'gcnArchName':'gfx90a'},{'id':1,"
    "'name':'Second','totalGlobalMem':2147483648,'computeMajor':9,'computeMinor':4,"
    "'numSms':110,'warpSize':32,'maxThreadsPerBlock':512,"
    "'maxThreadsPerMultiprocessor':1024,'maxSharedMemoryPerMultiProcessor':163840,"
    "'gcnArchName':'gfx942'}],'host_name':'node',"
    "'baseTimeNanoseconds':1700000000000000000,'distributedInfo':{'backend':'nccl',"
    "'rank':1,'world_size':2},'traceEvents':["
    "{'ph':'X','cat':'user_annotation','name':'ProfilerStep#1','pid':7,'tid':7,'ts':0,"
    "'dur':1000,'args':{}},"
    "{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':7,'tid':7,'ts':10,'dur':300,"
    "'args':{'External id':1,'Input Dims':[[64,32]]}},"
    "{'ph':'X','cat':'cuda_runtime','name':'hipLaunchKernel','pid':7,'tid':7,'ts':20,"
    "'dur':5,'args':{'correlation':11}},"
    "{'ph':'X','cat':'kernel','name':'gemm','pid':0,'tid':0,'ts':100,'dur':40,"
    "'args':{'correlation':11,'device':0,'stream':2,'hip stream':9,'grid':[4,2,1],"
    "'block':[64,4,1],'registers per thread':32,'agprs per thread':16,"
    "'sgprs per wave':48,'shared memory':1024,'scratch per thread':64,'SQ_WAVES':8,"
    "'L2':2.5}},"
    "{'ph':'X','cat':'cpu_op','name':'aten::copy_','pid':7,'tid':8,'ts':400,'dur':200,"
    "'args':{'External id':2}},"
    "{'ph':'X','cat':'cuda_runtime','name':'hipMemcpyAsync','pid':7,'tid':8,'ts':410,"
    "'dur':50,'args':{'correlation':12}},"
    "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy HtoD (Host -> Device)','pid':1,'tid':3,"
    "'ts':420,'dur':20,'args':{'device':1,'stream':3,'correlation':12,'bytes':4096}},"
    "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy DtoH (Device -> Host)','pid':1,'tid':3,"
    "'ts':450,'dur':20,'args':{'device':1,'stream':3,'bytes':512}},"
    "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy DtoD (Device -> Device)','pid':1,"
    "'tid':3,'ts':480,'dur':3,'args':{'device':1,'stream':3}},"
    "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy PtoP (Device -> Device)','pid':1,"
    "'tid':3,'ts':490,'dur':3,'args':{'device':1,'stream':3,'bytes':64,'fromDevice':0,"
    "'toDevice':1}},"
    "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy HtoH (Host -> Host)','pid':1,'tid':3,"
    "'ts':495,'dur':0,'args':{'device':1,'stream':3,'bytes':1}},"
    "{'ph':'X','cat':'gpu_memset','name':'Memset (Device)','pid':1,'tid':3,'ts':497,"
    "'dur':5,'args':{'device':1,'stream':3,'bytes':100}},"
    "{'ph':'X','cat':'kernel','name':'relu','pid':1,'tid':4,'ts':700,'dur':60,"
    "'args':{'correlation':13,'device':1,'stream':4,'grid':[1,1,1],'block':[256,1,1]}},"
    "{'ph':'X','cat':'kernel','name':'relu','pid':1,'tid':4,'ts':770,'dur':60,"
    "'args':{'device':1,'stream':4}},"
    "{'ph':'X','cat':'cuda_runtime','name':'hipModuleLaunchKernel','pid':7,'tid':8,"
    "'ts':650,'dur':7,'args':{'correlation':13}},"
    "{'ph':'X','cat':'cuda_runtime','name':'hsa_signal_create','pid':7,'tid':8,'ts':660,"
    "'dur':7,'args':{}},"
    "{'ph':'X','cat':'cuda_runtime','name':'ncclAllReduce','pid':7,'tid':8,'ts':670,"
    "'dur':7,'args':{}},"
    "{'ph':'X','cat':'cuda_runtime','name':'rcclX','pid':7,'tid':8,'ts':680,'dur':7,"
    "'args':{}},"
    "{'ph':'X','cat':'cuda_runtime','name':'__hipPushCallConfiguration','pid':7,'tid':8,"
    "'ts':690,'dur':7,'args':{}},"
    "{'ph':'i','s':'t','name':'[memory]','pid':7,'tid':7,'ts':15,'args':{'Addr':100,"
    "'Bytes':4096,'Device Type':1,'Device Id':0,'Total Allocated':4096,"
    "'Total Reserved':8192}},"
    "{'ph':'i','s':'t','name':'[memory]','pid':7,'tid':7,'ts':30,'args':{'Addr':200,"
    "'Bytes':100,'Device Type':0,'Device Id':-1,'Total Allocated':100,"
    "'Total Reserved':8192}},"
    "{'ph':'i','s':'t','name':'[memory]','pid':7,'tid':7,'ts':500,'args':{'Addr':100,"
    "'Bytes':-4096,'Device Type':1,'Device Id':0,'Total Allocated':0,"
    "'Total Reserved':8192}},"
    "{'ph':'i','s':'t','name':'[memory]','pid':7,'tid':7,'ts':510,'args':{'Addr':300,"
    "'Bytes':7,'Device Type':1,'Device Id':1,'Total Allocated':9,'Total Reserved':8192}},"
    "{'ph':'C','name':'queue','pid':7,'tid':7,'ts':50,'args':{'rows':3,'free':-1.5}}]}";

static const struct {
    const char *name, *text;
} exported_tables[] = {
    {"7_agent_info.csv",
     "'Node_Id','Logical_Node_Id','Agent_Type','Cu_Count','Simd_Per_Cu',"
     "'Max_Waves_Per_Simd','Max_Waves_Per_Cu','Wave_Front_Size','Lds_Size_In_Kb',"
     "'Gfx_Target_Version','Workgroup_Max_Size','Name','Product_Name'\n"
     "0,0,'CPU',0,0,0,0,0,0,0,0,'',''\n"
     "1,1,'GPU',104,0,0,32,64,64,90000,1024,'gfx90a','First'\n"
     "2,2,'GPU',110,0,0,32,32,160,90400,512,'gfx942','Second'\n"},
    {"7_counter_collection.csv",
     "'Correlation_Id','Dispatch_Id','Agent_Id','Queue_Id','Process_Id','Thread_Id',"
     "'Grid_Size','Kernel_Id','Kernel_Name','Workgroup_Size','LDS_Block_Size',"
     "'Scratch_Size','VGPR_Count','Accum_VGPR_Count','SGPR_Count','Counter_Name',"
     "'Counter_Value','Start_Timestamp','End_Timestamp'\n"
     "11,1,'Agent 1',0,7,0,2048,0,'gemm',256,1024,64,32,16,48,'SQ_WAVES',8,1700000000000100000,"
     "1700000000000140000\n"
     "11,1,'Agent 1',0,7,0,2048,0,'gemm',256,1024,64,32,16,48,'L2',2.5,1700000000000100000,"
     "1700000000000140000\n"},
    {"7_hip_api_trace.csv",
     "'Domain','Function','Process_Id','Thread_Id','Correlation_Id','Start_Timestamp',"
     "'End_Timestamp'\n"
     "'HIP_RUNTIME_API','hipLaunchKernel',7,7,11,1700000000000020000,1700000000000025000\n"
     "'HIP_RUNTIME_API','hipMemcpyAsync',7,8,12,1700000000000410000,1700000000000460000\n"
     "'HIP_RUNTIME_API','hipModuleLaunchKernel',7,8,13,1700000000000650000,"
     "1700000000000657000\n"
     "'HSA_CORE_API','hsa_signal_create',7,8,1,1700000000000660000,1700000000000667000\n"
     "'RCCL_API','ncclAllReduce',7,8,2,1700000000000670000,1700000000000677000\n"
     "'RCCL_API','rcclX',7,8,3,1700000000000680000,1700000000000687000\n"
     "'HIP_COMPILER_API','__hipPushCallConfiguration',7,8,4,1700000000000690000,"
     "1700000000000697000\n"},
    {"7_kernel_trace.csv",
     "'Kind','Agent_Id','Queue_Id','Stream_Id','Thread_Id','Dispatch_Id','Kernel_Id',"
     "'Kernel_Name','Correlation_Id','Start_Timestamp','End_Timestamp','LDS_Block_Size',"
     "'Scratch_Size','VGPR_Count','Accum_VGPR_Count','SGPR_Count','Workgroup_Size_X',"
     "'Workgroup_Size_Y','Workgroup_Size_Z','Grid_Size_X','Grid_Size_Y','Grid_Size_Z'\n"
     "'KERNEL_DISPATCH','Agent 1',,9,0,1,,'gemm',11,1700000000000100000,"
     "1700000000000140000,1024,64,32,16,48,64,4,1,256,8,1\n"
     "'KERNEL_DISPATCH','Agent 2',,4,0,2,,'relu',13,1700000000000700000,"
     "1700000000000760000,0,0,,,,256,1,1,256,1,1\n"
     "'KERNEL_DISPATCH','Agent 2',,4,0,3,,'relu',0,1700000000000770000,"
     "1700000000000830000,0,0,,,,0,0,0,0,0,0\n"},
    {"7_marker_api_trace.csv",
     "'Domain','Function','Process_Id','Thread_Id','Correlation_Id','Start_Timestamp',"
     "'End_Timestamp'\n"
     "'MARKER_CORE_API','ProfilerStep#1',7,7,0,1700000000000000000,1700000000001000000\n"
     "'MARKER_CORE_API','aten::mm',7,7,0,1700000000000010000,1700000000000310000\n"
     "'MARKER_CORE_API','aten::copy_',7,8,0,1700000000000400000,1700000000000600000\n"},
    {"7_memory_allocation_trace.csv",
     "'Kind','Operation','Agent_Id','Allocation_Size','Address','Correlation_Id',"
     "'Start_Timestamp','End_Timestamp'\n"
     "'MEMORY_ALLOCATION','MEMORY_ALLOCATION_ALLOCATE','Agent 1',4096,"
     "'0x0000000000000064',0,1700000000000015000,1700000000000015000\n"
     "'MEMORY_ALLOCATION','MEMORY_ALLOCATION_ALLOCATE','Agent 0',100,'0x00000000000000c8',"
     "0,1700000000000030000,1700000000000030000\n"
     "'MEMORY_ALLOCATION','MEMORY_ALLOCATION_FREE','Agent 1',0,'0x0000000000000064',0,"
     "1700000000000500000,1700000000000500000\n"
     "'MEMORY_ALLOCATION','MEMORY_ALLOCATION_ALLOCATE','Agent 2',7,'0x000000000000012c',0,"
     "1700000000000510000,1700000000000510000\n"},
    {"7_memory_copy_trace.csv",
     "'Kind','Direction','Stream_Id','Source_Agent_Id','Destination_Agent_Id',"
     "'Correlation_Id','Start_Timestamp','End_Timestamp'\n"
     "'MEMORY_COPY','MEMORY_COPY_HOST_TO_DEVICE',3,'Agent 0','Agent 2',12,"
     "1700000000000420000,1700000000000440000\n"
     "'MEMORY_COPY','MEMORY_COPY_DEVICE_TO_HOST',3,'Agent 2','Agent 0',0,"
     "1700000000000450000,1700000000000470000\n"
     "'MEMORY_COPY','MEMORY_COPY_DEVICE_TO_DEVICE',3,'Agent 2','Agent 2',0,"
     "1700000000000480000,1700000000000483000\n"
     "'MEMORY_COPY','MEMORY_COPY_DEVICE_TO_DEVICE',3,'Agent 1','Agent 2',0,"
     "1700000000000490000,1700000000000493000\n"
     "'MEMORY_COPY','MEMORY_COPY_HOST_TO_HOST',3,'Agent 0','Agent 0',0,"
     "1700000000000495000,1700000000000495000\n"},
};

static const struct {
    const char *sql, *expected;
} exported_rows[] = {
    {"SELECT rank, hostname FROM (SELECT json_extract(environment, '$.RANK') || '/' "
     "|| json_extract(environment, '$.WORLD_SIZE') AS rank, nid FROM "
     "rocpd_info_process) p JOIN rocpd_info_node n ON n.id = p.nid",
     "1/2 node\n"},
    {"SELECT pid, start, end, init, fini FROM rocpd_info_process",
     "7 1700000000000000000 1700000000001000000 1700000000000000000 "
     "1700000000001000000\n"},
    {"SELECT id, pid, tid FROM rocpd_info_thread", "7 1 7\n"
                                                   "8 1 8\n"},
    {"SELECT id, type, absolute_index, logical_index, type_index, name, product_name "
     "FROM rocpd_info_agent",
     "0 CPU 0 0 0  \n"
     "1 GPU 1 1 0 gfx90a First\n"
     "2 GPU 2 2 1 gfx942 Second\n"},
    {"SELECT extdata FROM rocpd_info_agent",
     "{}\n"
     "{\"cu_count\":104,\"max_waves_per_cu\":32,\"wave_front_size\":64,\"lds_size_in_kb\":64,"
     "\"gfx_target_version\":90000,\"workgroup_max_size\":1024,\"max_engine_clk_fcompute\":0,"
     "\"mem_banks\":[{\"size_in_bytes\":1073741824,\"width\":0,\"mem_clk_max\":0}]}\n"
     "{\"cu_count\":110,\"max_waves_per_cu\":32,\"wave_front_size\":32,\"lds_size_in_kb\":160,"
     "\"gfx_target_version\":90400,\"workgroup_max_size\":512,\"max_engine_clk_fcompute\":0,"
     "\"mem_banks\":[{\"size_in_bytes\":2147483648,\"width\":0,\"mem_clk_max\":0}]}\n"},
    {"SELECT id, name FROM rocpd_info_queue", "0 Queue 0\n"},
    {"SELECT id, name FROM rocpd_info_stream", "3 Stream 3\n"
                                               "4 Stream 4\n"
                                               "9 Stream 9\n"},
    {"SELECT id, name, units FROM rocpd_info_pmc", "1 queue rows\n"
                                                   "2 queue free\n"
                                                   "3 SQ_WAVES \n"
                                                   "4 L2 \n"},
    {"SELECT id, kernel_name, sgpr_count, arch_vgpr_count, accum_vgpr_count FROM "
     "rocpd_info_kernel_symbol",
     "1 gemm 48 32 16\n"
     "2 relu - - -\n"},
    {"SELECT e.id, s.string, e.correlation_id, e.stack_id, e.extdata FROM rocpd_event "
     "e JOIN rocpd_string s ON s.id = e.category_id ORDER BY e.id",
     "1 MARKER_CORE_API 0 0 {\"message\":\"ProfilerStep#1\"}\n"
     "2 MARKER_CORE_API 0 0 {\"message\":\"aten::mm\"}\n"
     "3 MEMORY_ALLOCATION 0 0 {}\n"
     "4 MEMORY_ALLOCATION 0 0 {}\n"
     "5 MARKER_CORE_API 0 0 {\"message\":\"aten::copy_\"}\n"
     "6 MEMORY_ALLOCATION 0 0 {}\n"
     "7 MEMORY_ALLOCATION 0 0 {}\n"
     "8 COUNTER 0 0 {}\n"
     "9 COUNTER 0 0 {}\n"
     "10 HIP_RUNTIME_API 0 11 {}\n"
     "11 HIP_RUNTIME_API 0 12 {}\n"
     "12 HIP_RUNTIME_API 0 13 {}\n"
     "13 HSA_CORE_API 0 1 {}\n"
     "14 RCCL_API 0 2 {}\n"
     "15 RCCL_API 0 3 {}\n"
     "16 HIP_COMPILER_API 0 4 {}\n"
     "17 KERNEL_DISPATCH 0 11 {}\n"
     "18 MEMORY_COPY 0 12 {}\n"
     "19 MEMORY_COPY 0 0 {}\n"
     "20 MEMORY_COPY 0 0 {}\n"
     "21 MEMORY_COPY 0 0 {}\n"
     "22 MEMORY_COPY 0 0 {}\n"
     "23 MEMORY_COPY 0 0 {}\n"
     "24 KERNEL_DISPATCH 0 13 {}\n"
     "25 KERNEL_DISPATCH 0 0 {}\n"},
    {"SELECT event_id, pmc_id, value FROM rocpd_pmc_event", "8 1 3.0\n"
                                                            "9 2 -1.5\n"
                                                            "17 3 8.0\n"
                                                            "17 4 2.5\n"},
    {"SELECT r.tid, r.start, r.end, s.string, r.event_id FROM rocpd_region r JOIN "
     "rocpd_string s ON s.id = r.name_id",
     "7 1700000000000000000 1700000000001000000 roctxRangePushA 1\n"
     "7 1700000000000010000 1700000000000310000 roctxRangePushA 2\n"
     "8 1700000000000400000 1700000000000600000 roctxRangePushA 5\n"
     "7 1700000000000020000 1700000000000025000 hipLaunchKernel 10\n"
     "8 1700000000000410000 1700000000000460000 hipMemcpyAsync 11\n"
     "8 1700000000000650000 1700000000000657000 hipModuleLaunchKernel 12\n"
     "8 1700000000000660000 1700000000000667000 hsa_signal_create 13\n"
     "8 1700000000000670000 1700000000000677000 ncclAllReduce 14\n"
     "8 1700000000000680000 1700000000000687000 rcclX 15\n"
     "8 1700000000000690000 1700000000000697000 __hipPushCallConfiguration 16\n"},
    {"SELECT track_id, timestamp, event_id FROM rocpd_sample", "1 1700000000000050000 8\n"
                                                               "1 1700000000000050000 9\n"},
    {"SELECT t.tid, s.string FROM rocpd_track t JOIN rocpd_string s ON s.id = "
     "t.name_id",
     "7 queue\n"},
    {"SELECT tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, "
     "private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, "
     "workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id FROM "
     "rocpd_kernel_dispatch",
     "7 1 1 1 0 9 1700000000000100000 1700000000000140000 64 1024 64 4 1 256 8 1 17\n"
     "7 2 2 2 0 4 1700000000000700000 1700000000000760000 0 0 256 1 1 256 1 1 24\n"
     "7 2 2 3 0 4 1700000000000770000 1700000000000830000 0 0 0 0 0 0 0 0 25\n"},
    {"SELECT c.tid, c.start, c.end, s.string, c.src_agent_id, c.dst_agent_id, c.size, "
     "c.queue_id, c.stream_id, c.event_id FROM rocpd_memory_copy c JOIN rocpd_string "
     "s ON s.id = c.name_id",
     "7 1700000000000420000 1700000000000440000 MEMORY_COPY_HOST_TO_DEVICE 0 2 4096 0 "
     "3 18\n"
     "7 1700000000000450000 1700000000000470000 MEMORY_COPY_DEVICE_TO_HOST 2 0 512 0 "
     "3 19\n"
     "7 1700000000000480000 1700000000000483000 MEMORY_COPY_DEVICE_TO_DEVICE 2 2 0 0 "
     "3 20\n"
     "7 1700000000000490000 1700000000000493000 MEMORY_COPY_DEVICE_TO_DEVICE 1 2 64 0 "
     "3 21\n"
     "7 1700000000000495000 1700000000000495000 MEMORY_COPY_HOST_TO_HOST 0 0 1 0 3 22\n"
     "7 1700000000000497000 1700000000000502000 MEMORY_FILL 2 2 100 0 3 23\n"},
    {"SELECT tid, agent_id, type, level, start, end, address, size, event_id FROM "
     "rocpd_memory_allocate",
     "7 1 ALLOC REAL 1700000000000015000 1700000000000015000 100 4096 3\n"
     "7 0 ALLOC REAL 1700000000000030000 1700000000000030000 200 100 4\n"
     "7 1 FREE REAL 1700000000000500000 1700000000000500000 100 0 6\n"
     "7 2 ALLOC REAL 1700000000000510000 1700000000000510000 300 7 7\n"},
};

#endif
