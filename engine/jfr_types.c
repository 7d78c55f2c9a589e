/* What a recording of ours holds: types, their fields and fixed constants, as tables. */
#include "engine/jfr_types.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* clang-format off */
const struct jfr_type_row jfr_types[] = {
	{ JFR_T_BOOLEAN, "boolean", NULL, { NULL }, false },
	{ JFR_T_CHAR, "char", NULL, { NULL }, false },
	{ JFR_T_FLOAT, "float", NULL, { NULL }, false },
	{ JFR_T_DOUBLE, "double", NULL, { NULL }, false },
	{ JFR_T_BYTE, "byte", NULL, { NULL }, false },
	{ JFR_T_SHORT, "short", NULL, { NULL }, false },
	{ JFR_T_INT, "int", NULL, { NULL }, false },
	{ JFR_T_LONG, "long", NULL, { NULL }, false },

	{ JFR_T_STRING, "java.lang.String", NULL, { NULL }, false },
	{ JFR_T_CLASS, "java.lang.Class", "Java Class", { NULL }, false },
	{ JFR_T_THREAD, "java.lang.Thread", "Thread", { NULL }, false },
	{ JFR_T_CLASS_LOADER, "jdk.types.ClassLoader", "Java Class Loader", { NULL }, false },
	{ JFR_T_FRAME_TYPE, "jdk.types.FrameType", "Frame type", { NULL }, true },
	{ JFR_T_THREAD_STATE, "jdk.types.ThreadState", "Java Thread State", { NULL }, true },
	{ JFR_T_STACK_TRACE, "jdk.types.StackTrace", "Stacktrace", { NULL }, false },
	{ JFR_T_STACK_FRAME, "jdk.types.StackFrame", NULL, { NULL }, false },
	{ JFR_T_METHOD, "jdk.types.Method", "Java Method", { NULL }, false },
	{ JFR_T_PACKAGE, "jdk.types.Package", "Package", { NULL }, false },
	{ JFR_T_SYMBOL, "jdk.types.Symbol", "Symbol", { NULL }, true },
	{ JFR_T_LOG_LEVEL, "profiler.types.LogLevel", "Log Level", { NULL }, true },
	{ JFR_T_USER_EVENT_TYPE, "profiler.types.UserEventType", "User-Defined Event Type",
	  { NULL }, true },

	{ JFR_T_EXECUTION_SAMPLE, "jdk.ExecutionSample", "Method Profiling Sample",
	  { "Java Virtual Machine", "Profiling" }, false },
	{ JFR_T_CPU_LOAD, "jdk.CPULoad", "CPU Load", { "Operating System", "Processor" }, false },
	{ JFR_T_ACTIVE_RECORDING, "jdk.ActiveRecording", "Profiler Recording",
	  { "Flight Recorder" }, false },
	{ JFR_T_ACTIVE_SETTING, "jdk.ActiveSetting", "Profiler Setting",
	  { "Flight Recorder" }, false },
	{ JFR_T_OS_INFORMATION, "jdk.OSInformation", "OS Information",
	  { "Operating System" }, false },
	{ JFR_T_CPU_INFORMATION, "jdk.CPUInformation", "CPU Information",
	  { "Operating System", "Processor" }, false },
	{ JFR_T_NATIVE_LIBRARY, "jdk.NativeLibrary", "Native Library",
	  { "Java Virtual Machine", "Runtime" }, false },
	{ JFR_T_LOG, "profiler.Log", "Log Message", { "Profiler" }, false },
	{ JFR_T_WALL_CLOCK_SAMPLE, "profiler.WallClockSample", "Wall Clock Sample",
	  { "Java Virtual Machine", "Profiling" }, false },
	{ JFR_T_MALLOC, "profiler.Malloc", "malloc",
	  { "Java Virtual Machine", "Native Memory" }, false },
	{ JFR_T_FREE, "profiler.Free", "free", { "Java Virtual Machine", "Native Memory" }, false },
	{ JFR_T_USER_EVENT, "profiler.UserEvent", "User-Defined Event", { "Profiler" }, false },
	{ JFR_T_RETAINED_HEAP, "asprof.RetainedHeap", "Retained Native Memory",
	  { "Java Virtual Machine", "Native Memory" }, false },
	{ JFR_T_LOSSES, "asprof.Losses", "Profiler Losses", { "Profiler" }, false },

	{ JFR_T_LABEL, "jdk.jfr.Label", NULL, { NULL }, false },
	{ JFR_T_CATEGORY, "jdk.jfr.Category", NULL, { NULL }, false },
	{ JFR_T_CONTENT_TYPE, "jdk.jfr.ContentType", "Content Type", { NULL }, false },
	{ JFR_T_TIMESTAMP, "jdk.jfr.Timestamp", "Timestamp", { NULL }, false },
	{ JFR_T_TIMESPAN, "jdk.jfr.Timespan", "Timespan", { NULL }, false },
	{ JFR_T_DATA_AMOUNT, "jdk.jfr.DataAmount", "Data Amount", { NULL }, false },
	{ JFR_T_MEMORY_ADDRESS, "jdk.jfr.MemoryAddress", "Memory Address", { NULL }, false },
	{ JFR_T_UNSIGNED, "jdk.jfr.Unsigned", "Unsigned Value", { NULL }, false },
	{ JFR_T_PERCENTAGE, "jdk.jfr.Percentage", "Percentage", { NULL }, false },
};

const struct jfr_field_row jfr_fields[] = {
	{ JFR_T_CLASS, "classLoader", JFR_T_CLASS_LOADER, "Class Loader", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_CLASS, "name", JFR_T_SYMBOL, "Name", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_CLASS, "package", JFR_T_PACKAGE, "Package", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_CLASS, "modifiers", JFR_T_INT, "Access Modifiers", JFR_INLINE, JFR_UNIT_NONE },

	{ JFR_T_THREAD, "osName", JFR_T_STRING, "OS Thread Name", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_THREAD, "osThreadId", JFR_T_LONG, "OS Thread Id", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_THREAD, "javaName", JFR_T_STRING, "Java Thread Name", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_THREAD, "javaThreadId", JFR_T_LONG, "Java Thread Id", JFR_INLINE, JFR_UNIT_NONE },

	{ JFR_T_CLASS_LOADER, "type", JFR_T_CLASS, "Type", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_CLASS_LOADER, "name", JFR_T_SYMBOL, "Name", JFR_IN_POOL, JFR_UNIT_NONE },

	{ JFR_T_FRAME_TYPE, "description", JFR_T_STRING, "Description", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_THREAD_STATE, "name", JFR_T_STRING, "Name", JFR_INLINE, JFR_UNIT_NONE },

	{ JFR_T_STACK_TRACE, "truncated", JFR_T_BOOLEAN, "Truncated", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_STACK_TRACE, "frames", JFR_T_STACK_FRAME, "Stack Frames", JFR_IN_ARRAY, JFR_UNIT_NONE },

	{ JFR_T_STACK_FRAME, "method", JFR_T_METHOD, "Java Method", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_STACK_FRAME, "lineNumber", JFR_T_INT, "Line Number", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_STACK_FRAME, "bytecodeIndex", JFR_T_INT, "Bytecode Index", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_STACK_FRAME, "type", JFR_T_FRAME_TYPE, "Frame Type", JFR_IN_POOL, JFR_UNIT_NONE },

	{ JFR_T_METHOD, "type", JFR_T_CLASS, "Type", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_METHOD, "name", JFR_T_SYMBOL, "Name", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_METHOD, "descriptor", JFR_T_SYMBOL, "Descriptor", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_METHOD, "modifiers", JFR_T_INT, "Access Modifiers", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_METHOD, "hidden", JFR_T_BOOLEAN, "Hidden", JFR_INLINE, JFR_UNIT_NONE },

	{ JFR_T_PACKAGE, "name", JFR_T_SYMBOL, "Name", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_SYMBOL, "string", JFR_T_STRING, "String", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_LOG_LEVEL, "name", JFR_T_STRING, "Name", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_USER_EVENT_TYPE, "name", JFR_T_STRING, "Name", JFR_INLINE, JFR_UNIT_NONE },

	{ JFR_T_EXECUTION_SAMPLE, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_EXECUTION_SAMPLE, "sampledThread", JFR_T_THREAD, "Thread", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_EXECUTION_SAMPLE, "stackTrace", JFR_T_STACK_TRACE, "Stack Trace", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_EXECUTION_SAMPLE, "state", JFR_T_THREAD_STATE, "Thread State", JFR_IN_POOL, JFR_UNIT_NONE },

	{ JFR_T_CPU_LOAD, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_CPU_LOAD, "jvmUser", JFR_T_FLOAT, "JVM User", JFR_INLINE, JFR_UNIT_RATIO },
	{ JFR_T_CPU_LOAD, "jvmSystem", JFR_T_FLOAT, "JVM System", JFR_INLINE, JFR_UNIT_RATIO },
	{ JFR_T_CPU_LOAD, "machineTotal", JFR_T_FLOAT, "Machine Total", JFR_INLINE, JFR_UNIT_RATIO },

	{ JFR_T_ACTIVE_RECORDING, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_ACTIVE_RECORDING, "id", JFR_T_LONG, "Id", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_ACTIVE_RECORDING, "name", JFR_T_STRING, "Name", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_ACTIVE_RECORDING, "destination", JFR_T_STRING, "Destination", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_ACTIVE_RECORDING, "maxAge", JFR_T_LONG, "Max Age", JFR_INLINE, JFR_UNIT_SPAN_MILLIS },
	{ JFR_T_ACTIVE_RECORDING, "maxSize", JFR_T_LONG, "Max Size", JFR_INLINE, JFR_UNIT_BYTES },
	{ JFR_T_ACTIVE_RECORDING, "recordingStart", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_MILLIS },
	{ JFR_T_ACTIVE_RECORDING, "recordingDuration", JFR_T_LONG, "Recording Duration",
	  JFR_INLINE, JFR_UNIT_SPAN_MILLIS },

	{ JFR_T_ACTIVE_SETTING, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_ACTIVE_SETTING, "id", JFR_T_LONG, "Event Id", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_ACTIVE_SETTING, "name", JFR_T_STRING, "Setting Name", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_ACTIVE_SETTING, "value", JFR_T_STRING, "Setting Value", JFR_INLINE, JFR_UNIT_NONE },

	{ JFR_T_OS_INFORMATION, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_OS_INFORMATION, "osVersion", JFR_T_STRING, "OS Version", JFR_INLINE, JFR_UNIT_NONE },

	{ JFR_T_CPU_INFORMATION, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_CPU_INFORMATION, "cpu", JFR_T_STRING, "Type", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_CPU_INFORMATION, "description", JFR_T_STRING, "Description", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_CPU_INFORMATION, "sockets", JFR_T_INT, "Sockets", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_CPU_INFORMATION, "cores", JFR_T_INT, "Cores", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_CPU_INFORMATION, "hwThreads", JFR_T_INT, "Hardware Threads", JFR_INLINE, JFR_UNIT_COUNT },

	{ JFR_T_NATIVE_LIBRARY, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_NATIVE_LIBRARY, "name", JFR_T_STRING, "Name", JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_NATIVE_LIBRARY, "baseAddress", JFR_T_LONG, "Base Address", JFR_INLINE, JFR_UNIT_ADDRESS },
	{ JFR_T_NATIVE_LIBRARY, "topAddress", JFR_T_LONG, "Top Address", JFR_INLINE, JFR_UNIT_ADDRESS },

	{ JFR_T_LOG, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_LOG, "level", JFR_T_LOG_LEVEL, "Level", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_LOG, "message", JFR_T_STRING, "Message", JFR_INLINE, JFR_UNIT_NONE },

	{ JFR_T_WALL_CLOCK_SAMPLE, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_WALL_CLOCK_SAMPLE, "sampledThread", JFR_T_THREAD, "Thread", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_WALL_CLOCK_SAMPLE, "stackTrace", JFR_T_STACK_TRACE, "Stack Trace",
	  JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_WALL_CLOCK_SAMPLE, "state", JFR_T_THREAD_STATE, "Thread State", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_WALL_CLOCK_SAMPLE, "samples", JFR_T_INT, "Samples", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_WALL_CLOCK_SAMPLE, "timeSpan", JFR_T_LONG, "Time Span", JFR_INLINE, JFR_UNIT_SPAN_TICKS },

	/* async-profiler's reader takes the fields that it knows of profiler.Malloc and profiler.Free
	 * and goes on reading right behind them, whatever the event's length. So what we add is
	 * shaped like an event that it skips: its length in bytes, and a number that is no type. */
	{ JFR_T_MALLOC, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_MALLOC, "eventThread", JFR_T_THREAD, "Event Thread", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_MALLOC, "stackTrace", JFR_T_STACK_TRACE, "Stack Trace", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_MALLOC, "address", JFR_T_LONG, "Address", JFR_INLINE, JFR_UNIT_ADDRESS },
	{ JFR_T_MALLOC, "size", JFR_T_LONG, "Size", JFR_INLINE, JFR_UNIT_BYTES },
	{ JFR_T_MALLOC, "extraBytes", JFR_T_INT, "Bytes From Here On", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_MALLOC, "extraVersion", JFR_T_INT, "Version Of What Follows", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_MALLOC, "weight", JFR_T_LONG, "Bytes Stood For", JFR_INLINE, JFR_UNIT_BYTES },

	{ JFR_T_FREE, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_FREE, "eventThread", JFR_T_THREAD, "Event Thread", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_FREE, "stackTrace", JFR_T_STACK_TRACE, "Stack Trace", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_FREE, "address", JFR_T_LONG, "Address", JFR_INLINE, JFR_UNIT_ADDRESS },
	{ JFR_T_FREE, "extraBytes", JFR_T_INT, "Bytes From Here On", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_FREE, "extraVersion", JFR_T_INT, "Version Of What Follows", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_FREE, "size", JFR_T_LONG, "Size", JFR_INLINE, JFR_UNIT_BYTES },
	{ JFR_T_FREE, "weight", JFR_T_LONG, "Bytes Stood For", JFR_INLINE, JFR_UNIT_BYTES },
	{ JFR_T_FREE, "birth", JFR_T_LONG, "Allocation Time", JFR_INLINE, JFR_UNIT_TICKS },

	{ JFR_T_USER_EVENT, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_USER_EVENT, "eventThread", JFR_T_THREAD, "Event Thread", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_USER_EVENT, "type", JFR_T_USER_EVENT_TYPE, "User Event Type", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_USER_EVENT, "data", JFR_T_STRING, "User Data", JFR_INLINE, JFR_UNIT_NONE },

	/* Estimates from the weights of samples; the totals count from the start of sampling. */
	{ JFR_T_RETAINED_HEAP, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_RETAINED_HEAP, "stackTrace", JFR_T_STACK_TRACE, "Stack Trace", JFR_IN_POOL, JFR_UNIT_NONE },
	{ JFR_T_RETAINED_HEAP, "count", JFR_T_LONG, "Allocations Retained", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_RETAINED_HEAP, "bytes", JFR_T_LONG, "Bytes Retained", JFR_INLINE, JFR_UNIT_BYTES },
	{ JFR_T_RETAINED_HEAP, "oldest", JFR_T_LONG, "Oldest Allocation", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_RETAINED_HEAP, "allocatedCount", JFR_T_LONG, "Total Allocations",
	  JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_RETAINED_HEAP, "allocatedBytes", JFR_T_LONG, "Total Bytes Allocated",
	  JFR_INLINE, JFR_UNIT_BYTES },
	{ JFR_T_RETAINED_HEAP, "freedCount", JFR_T_LONG, "Total Frees", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_RETAINED_HEAP, "freedBytes", JFR_T_LONG, "Total Bytes Freed", JFR_INLINE, JFR_UNIT_BYTES },

	/* Of one chunk. */
	{ JFR_T_LOSSES, "startTime", JFR_T_LONG, "Start Time", JFR_INLINE, JFR_UNIT_TICKS },
	{ JFR_T_LOSSES, "samples", JFR_T_LONG, "Samples Taken", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_LOSSES, "ringFull", JFR_T_LONG, "Samples Lost to a Full Ring", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_LOSSES, "timerFailures", JFR_T_LONG, "Timers Not Set", JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_LOSSES, "tableEvictions", JFR_T_LONG, "Live Allocations Forgotten",
	  JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_LOSSES, "stackTableFull", JFR_T_LONG, "Samples Without Stack: Table Full",
	  JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_LOSSES, "threadTableFull", JFR_T_LONG, "Samples Without Thread Name: Table Full",
	  JFR_INLINE, JFR_UNIT_COUNT },
	{ JFR_T_LOSSES, "eventsDropped", JFR_T_LONG, "Events Not Written", JFR_INLINE, JFR_UNIT_COUNT },

	{ JFR_T_LABEL, "value", JFR_T_STRING, NULL, JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_CATEGORY, "value", JFR_T_STRING, NULL, JFR_IN_ARRAY, JFR_UNIT_NONE },
	{ JFR_T_TIMESTAMP, "value", JFR_T_STRING, NULL, JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_TIMESPAN, "value", JFR_T_STRING, NULL, JFR_INLINE, JFR_UNIT_NONE },
	{ JFR_T_DATA_AMOUNT, "value", JFR_T_STRING, NULL, JFR_INLINE, JFR_UNIT_NONE },
};

const struct jfr_constant_row jfr_constants[] = {
	{ JFR_T_FRAME_TYPE, JFR_FRAME_INTERPRETED, "Interpreted" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_JIT, "JIT compiled" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_INLINED, "Inlined" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_NATIVE, "Native" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_CPP, "C++" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_KERNEL, "Kernel" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_C1, "C1 compiled" },

	{ JFR_T_THREAD_STATE, JFR_STATE_DEFAULT, "STATE_DEFAULT" },
	{ JFR_T_THREAD_STATE, JFR_STATE_RUNNABLE, "STATE_RUNNABLE" },
	{ JFR_T_THREAD_STATE, JFR_STATE_SLEEPING, "STATE_SLEEPING" },

	{ JFR_T_LOG_LEVEL, JFR_LOG_TRACE, "TRACE" },
	{ JFR_T_LOG_LEVEL, JFR_LOG_DEBUG, "DEBUG" },
	{ JFR_T_LOG_LEVEL, JFR_LOG_INFO, "INFO" },
	{ JFR_T_LOG_LEVEL, JFR_LOG_WARN, "WARN" },
	{ JFR_T_LOG_LEVEL, JFR_LOG_ERROR, "ERROR" },
};
/* clang-format on */

const size_t jfr_type_count = COUNT(jfr_types);
const size_t jfr_field_count = COUNT(jfr_fields);
const size_t jfr_constant_count = COUNT(jfr_constants);
