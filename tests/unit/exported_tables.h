/* SPDX-License-Identifier: MIT
 *
 * A small trace with something of each kind, and the tables that are made of it.
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
     "11,1,'Agent 1',0,7,0,0,0,'gemm',0,0,0,0,0,0,'SQ_WAVES',8,1700000000000100000,"
     "1700000000000140000\n"
     "11,1,'Agent 1',0,7,0,0,0,'gemm',0,0,0,0,0,0,'L2',2.5,1700000000000100000,"
     "1700000000000140000\n"},
    {"7_hip_api_trace.csv",
     "'Domain','Function','Process_Id','Thread_Id','Correlation_Id','Start_Timestamp',"
     "'End_Timestamp'\n"
     "'HIP_RUNTIME_API','hipLaunchKernel',7,7,11,1700000000000020000,1700000000000025000\n"
     "'HIP_RUNTIME_API','hipMemcpyAsync',7,8,12,1700000000000410000,1700000000000460000\n"
     "'HIP_RUNTIME_API','hipModuleLaunchKernel',7,8,13,1700000000000650000,"
     "1700000000000657000\n"
     "'HSA_CORE_API','hsa_signal_create',7,8,0,1700000000000660000,1700000000000667000\n"
     "'RCCL_API','ncclAllReduce',7,8,0,1700000000000670000,1700000000000677000\n"
     "'RCCL_API','rcclX',7,8,0,1700000000000680000,1700000000000687000\n"
     "'HIP_COMPILER_API','__hipPushCallConfiguration',7,8,0,1700000000000690000,"
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

#endif
