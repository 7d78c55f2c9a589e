/* Types of the agent's recordings, with their fields and constants, as tables. */
#include "engine/jfr/jfr_types.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* clang-format off */
/* Macros for rows. */
#define TYPE(type, name, label)       { type, name, label, { NULL }, false, JFR_OTHER }
#define UNLABELLED(type, name)        { type, name, NULL, { NULL }, false, JFR_OTHER }
#define SIMPLE(type, name, label)     { type, name, label, { NULL }, true, JFR_OTHER }
#define EVENT(type, kind, name, label, ...) { type, name, label, { __VA_ARGS__ }, false, kind }

#define NUMBER(owner, name, type, label, unit) { owner, name, type, label, JFR_INLINE, unit }
#define PLAIN(owner, name, type, label)  NUMBER(owner, name, type, label, JFR_UNIT_NONE)
#define POOLED(owner, name, type, label) { owner, name, type, label, JFR_IN_POOL, JFR_UNIT_NONE }
#define ARRAY(owner, name, type, label)  { owner, name, type, label, JFR_IN_ARRAY, JFR_UNIT_NONE }
#define START_TIME(owner)  NUMBER(owner, "startTime", JFR_T_LONG, "Start Time", JFR_UNIT_TICKS)
#define STACK_TRACE(owner) POOLED(owner, "stackTrace", JFR_T_STACK_TRACE, "Stack Trace")
#define CONTEXT(owner) POOLED(owner, "context", JFR_T_CONTEXT, "Context")
#define EXTRA(owner) \
	NUMBER(owner, "extraBytes", JFR_T_INT, "Bytes From Here On", JFR_UNIT_COUNT), \
	NUMBER(owner, "extraVersion", JFR_T_INT, "Version Of What Follows", JFR_UNIT_COUNT)

const struct jfr_type_row jfr_types[] = {
	UNLABELLED(JFR_T_BOOLEAN, "boolean"),
	UNLABELLED(JFR_T_CHAR, "char"),
	UNLABELLED(JFR_T_FLOAT, "float"),
	UNLABELLED(JFR_T_DOUBLE, "double"),
	UNLABELLED(JFR_T_BYTE, "byte"),
	UNLABELLED(JFR_T_SHORT, "short"),
	UNLABELLED(JFR_T_INT, "int"),
	UNLABELLED(JFR_T_LONG, "long"),

	UNLABELLED(JFR_T_STRING, "java.lang.String"),
	TYPE(JFR_T_CLASS, "java.lang.Class", "Java Class"),
	TYPE(JFR_T_THREAD, "java.lang.Thread", "Thread"),
	TYPE(JFR_T_CLASS_LOADER, "jdk.types.ClassLoader", "Java Class Loader"),
	SIMPLE(JFR_T_FRAME_TYPE, "jdk.types.FrameType", "Frame type"),
	SIMPLE(JFR_T_THREAD_STATE, "jdk.types.ThreadState", "Java Thread State"),
	TYPE(JFR_T_STACK_TRACE, "jdk.types.StackTrace", "Stacktrace"),
	UNLABELLED(JFR_T_STACK_FRAME, "jdk.types.StackFrame"),
	TYPE(JFR_T_METHOD, "jdk.types.Method", "Java Method"),
	TYPE(JFR_T_PACKAGE, "jdk.types.Package", "Package"),
	SIMPLE(JFR_T_SYMBOL, "jdk.types.Symbol", "Symbol"),
	SIMPLE(JFR_T_USER_EVENT_TYPE, "profiler.types.UserEventType", "User-Defined Event Type"),
	SIMPLE(JFR_T_CONTEXT, JFR_CONTEXT_TYPE, "Context"),
	SIMPLE(JFR_T_WAIT, JFR_WAIT_TYPE, "Wait"),

	EVENT(JFR_T_EXECUTION_SAMPLE, JFR_EXECUTION_SAMPLE, "jdk.ExecutionSample", "Method Profiling Sample",
	      "Java Virtual Machine", "Profiling"),
	EVENT(JFR_T_CPU_LOAD, JFR_OTHER, "jdk.CPULoad", "CPU Load", "Operating System", "Processor"),
	EVENT(JFR_T_ACTIVE_RECORDING, JFR_OTHER, "jdk.ActiveRecording", "Profiler Recording",
	      "Flight Recorder"),
	EVENT(JFR_T_ACTIVE_SETTING, JFR_SETTING, "jdk.ActiveSetting", "Profiler Setting", "Flight Recorder"),
	EVENT(JFR_T_OS_INFORMATION, JFR_OTHER, "jdk.OSInformation", "OS Information", "Operating System"),
	EVENT(JFR_T_CPU_INFORMATION, JFR_OTHER, "jdk.CPUInformation", "CPU Information", "Operating System",
	      "Processor"),
	EVENT(JFR_T_NATIVE_LIBRARY, JFR_LIBRARY, "jdk.NativeLibrary", "Native Library", "Java Virtual Machine",
	      "Runtime"),
	EVENT(JFR_T_WALL_CLOCK_SAMPLE, JFR_WALL_SAMPLE, "profiler.WallClockSample", "Wall Clock Sample",
	      "Java Virtual Machine", "Profiling"),
	EVENT(JFR_T_MALLOC, JFR_MALLOC, "profiler.Malloc", "malloc", "Java Virtual Machine", "Native Memory"),
	EVENT(JFR_T_FREE, JFR_FREE, "profiler.Free", "free", "Java Virtual Machine", "Native Memory"),
	EVENT(JFR_T_NATIVE_LOCK, JFR_LOCK, "profiler.NativeLock", "Native Lock Sample", "Java Virtual Machine",
	      "Native Lock"),
	EVENT(JFR_T_USER_EVENT, JFR_USER_EVENT, "profiler.UserEvent", "User-Defined Event", "Profiler"),
	EVENT(JFR_T_RETAINED_HEAP, JFR_RETAINED, "asprof.RetainedHeap", "Retained Native Memory",
	      "Java Virtual Machine", "Native Memory"),
	EVENT(JFR_T_LOSSES, JFR_LOSSES, "asprof.Losses", "Profiler Losses", "Profiler"),
	EVENT(JFR_T_CRASH, JFR_OTHER, "asprof.Crash", "Crash", "Profiler"),
	EVENT(JFR_T_STALL, JFR_STALL, "asprof.Stall", "Event Loop Stall", "Profiler"),
	EVENT(JFR_T_THREAD_TIMES, JFR_THREAD_TIMES, "asprof.ThreadTimes", "Thread Times", "Profiler"),
	EVENT(JFR_T_THROTTLING, JFR_THROTTLING, "asprof.Throttling", "CPU Limit of the Control Group",
	      "Profiler"),
	EVENT(JFR_T_COST, JFR_COST, "asprof.Cost", "Profiler Cost", "Profiler"),
	EVENT(JFR_T_LOGGED_STATE, JFR_LOGGED_STATE, "asprof.ThreadState", "Thread State", "Profiler"),

	UNLABELLED(JFR_T_LABEL, "jdk.jfr.Label"),
	UNLABELLED(JFR_T_CATEGORY, "jdk.jfr.Category"),
	TYPE(JFR_T_CONTENT_TYPE, "jdk.jfr.ContentType", "Content Type"),
	TYPE(JFR_T_TIMESTAMP, "jdk.jfr.Timestamp", "Timestamp"),
	TYPE(JFR_T_TIMESPAN, "jdk.jfr.Timespan", "Timespan"),
	TYPE(JFR_T_DATA_AMOUNT, "jdk.jfr.DataAmount", "Data Amount"),
	TYPE(JFR_T_MEMORY_ADDRESS, "jdk.jfr.MemoryAddress", "Memory Address"),
	TYPE(JFR_T_UNSIGNED, "jdk.jfr.Unsigned", "Unsigned Value"),
	TYPE(JFR_T_PERCENTAGE, "jdk.jfr.Percentage", "Percentage"),
};

const struct jfr_field_row jfr_fields[] = {
	POOLED(JFR_T_CLASS, "classLoader", JFR_T_CLASS_LOADER, "Class Loader"),
	POOLED(JFR_T_CLASS, "name", JFR_T_SYMBOL, "Name"),
	POOLED(JFR_T_CLASS, "package", JFR_T_PACKAGE, "Package"),
	PLAIN(JFR_T_CLASS, "modifiers", JFR_T_INT, "Access Modifiers"),

	PLAIN(JFR_T_THREAD, "osName", JFR_T_STRING, "OS Thread Name"),
	PLAIN(JFR_T_THREAD, "osThreadId", JFR_T_LONG, "OS Thread Id"),
	PLAIN(JFR_T_THREAD, "javaName", JFR_T_STRING, "Java Thread Name"),
	PLAIN(JFR_T_THREAD, "javaThreadId", JFR_T_LONG, "Java Thread Id"),

	POOLED(JFR_T_CLASS_LOADER, "type", JFR_T_CLASS, "Type"),
	POOLED(JFR_T_CLASS_LOADER, "name", JFR_T_SYMBOL, "Name"),

	PLAIN(JFR_T_FRAME_TYPE, "description", JFR_T_STRING, "Description"),
	PLAIN(JFR_T_THREAD_STATE, "name", JFR_T_STRING, "Name"),

	PLAIN(JFR_T_STACK_TRACE, "truncated", JFR_T_BOOLEAN, "Truncated"),
	ARRAY(JFR_T_STACK_TRACE, "frames", JFR_T_STACK_FRAME, "Stack Frames"),

	POOLED(JFR_T_STACK_FRAME, "method", JFR_T_METHOD, "Java Method"),
	PLAIN(JFR_T_STACK_FRAME, "lineNumber", JFR_T_INT, "Line Number"),
	PLAIN(JFR_T_STACK_FRAME, "bytecodeIndex", JFR_T_INT, "Bytecode Index"),
	POOLED(JFR_T_STACK_FRAME, "type", JFR_T_FRAME_TYPE, "Frame Type"),

	POOLED(JFR_T_METHOD, "type", JFR_T_CLASS, "Type"),
	POOLED(JFR_T_METHOD, "name", JFR_T_SYMBOL, "Name"),
	POOLED(JFR_T_METHOD, "descriptor", JFR_T_SYMBOL, "Descriptor"),
	PLAIN(JFR_T_METHOD, "modifiers", JFR_T_INT, "Access Modifiers"),
	PLAIN(JFR_T_METHOD, "hidden", JFR_T_BOOLEAN, "Hidden"),

	POOLED(JFR_T_PACKAGE, "name", JFR_T_SYMBOL, "Name"),
	PLAIN(JFR_T_SYMBOL, "string", JFR_T_STRING, "String"),
	PLAIN(JFR_T_USER_EVENT_TYPE, "name", JFR_T_STRING, "Name"),

	/* Lines of "key=value": trace_id and span_id in hexadecimal, in the format of W3C's trace
	 * context, then labels. It is a single field for JDK Mission Control (9.1). That gives an
	 * event with a field of an unknown structure type a new identifier in each chunk, and its
	 * pages then do not find the event. */
	PLAIN(JFR_T_CONTEXT, "labels", JFR_T_STRING, "Labels"),

	/* Lines of "key=value": state, then cause, call, on and owner if they are known. A single
	 * field for the same reason. */
	PLAIN(JFR_T_WAIT, "description", JFR_T_STRING, "Description"),

	/* async-profiler's reader reads the known fields of a sample, of profiler.Malloc and of
	 * profiler.Free. It then continues directly after them, regardless of the event's length.
	 * So the agent's additional fields have the form of an event that this reader skips: a
	 * length in bytes, and a number that is no type. */

	START_TIME(JFR_T_EXECUTION_SAMPLE),
	POOLED(JFR_T_EXECUTION_SAMPLE, "sampledThread", JFR_T_THREAD, "Thread"),
	STACK_TRACE(JFR_T_EXECUTION_SAMPLE),
	POOLED(JFR_T_EXECUTION_SAMPLE, "state", JFR_T_THREAD_STATE, "Thread State"),
	EXTRA(JFR_T_EXECUTION_SAMPLE),
	CONTEXT(JFR_T_EXECUTION_SAMPLE),

	START_TIME(JFR_T_CPU_LOAD),
	NUMBER(JFR_T_CPU_LOAD, "jvmUser", JFR_T_FLOAT, "JVM User", JFR_UNIT_RATIO),
	NUMBER(JFR_T_CPU_LOAD, "jvmSystem", JFR_T_FLOAT, "JVM System", JFR_UNIT_RATIO),
	NUMBER(JFR_T_CPU_LOAD, "machineTotal", JFR_T_FLOAT, "Machine Total", JFR_UNIT_RATIO),

	START_TIME(JFR_T_ACTIVE_RECORDING),
	PLAIN(JFR_T_ACTIVE_RECORDING, "id", JFR_T_LONG, "Id"),
	PLAIN(JFR_T_ACTIVE_RECORDING, "name", JFR_T_STRING, "Name"),
	PLAIN(JFR_T_ACTIVE_RECORDING, "destination", JFR_T_STRING, "Destination"),
	NUMBER(JFR_T_ACTIVE_RECORDING, "maxAge", JFR_T_LONG, "Max Age", JFR_UNIT_SPAN_MILLIS),
	NUMBER(JFR_T_ACTIVE_RECORDING, "maxSize", JFR_T_LONG, "Max Size", JFR_UNIT_BYTES),
	NUMBER(JFR_T_ACTIVE_RECORDING, "recordingStart", JFR_T_LONG, "Start Time", JFR_UNIT_MILLIS),
	NUMBER(JFR_T_ACTIVE_RECORDING, "recordingDuration", JFR_T_LONG, "Recording Duration",
	       JFR_UNIT_SPAN_MILLIS),

	START_TIME(JFR_T_ACTIVE_SETTING),
	PLAIN(JFR_T_ACTIVE_SETTING, "id", JFR_T_LONG, "Event Id"),
	PLAIN(JFR_T_ACTIVE_SETTING, "name", JFR_T_STRING, "Setting Name"),
	PLAIN(JFR_T_ACTIVE_SETTING, "value", JFR_T_STRING, "Setting Value"),

	START_TIME(JFR_T_OS_INFORMATION),
	PLAIN(JFR_T_OS_INFORMATION, "osVersion", JFR_T_STRING, "OS Version"),

	START_TIME(JFR_T_CPU_INFORMATION),
	PLAIN(JFR_T_CPU_INFORMATION, "cpu", JFR_T_STRING, "Type"),
	PLAIN(JFR_T_CPU_INFORMATION, "description", JFR_T_STRING, "Description"),
	NUMBER(JFR_T_CPU_INFORMATION, "sockets", JFR_T_INT, "Sockets", JFR_UNIT_COUNT),
	NUMBER(JFR_T_CPU_INFORMATION, "cores", JFR_T_INT, "Cores", JFR_UNIT_COUNT),
	NUMBER(JFR_T_CPU_INFORMATION, "hwThreads", JFR_T_INT, "Hardware Threads", JFR_UNIT_COUNT),

	START_TIME(JFR_T_NATIVE_LIBRARY),
	PLAIN(JFR_T_NATIVE_LIBRARY, "name", JFR_T_STRING, "Name"),
	NUMBER(JFR_T_NATIVE_LIBRARY, "baseAddress", JFR_T_LONG, "Base Address", JFR_UNIT_ADDRESS),
	NUMBER(JFR_T_NATIVE_LIBRARY, "topAddress", JFR_T_LONG, "Top Address", JFR_UNIT_ADDRESS),
	/* Only the agent's: the debug file's build-id, and the position of baseAddress in the
	 * file. */
	PLAIN(JFR_T_NATIVE_LIBRARY, "buildId", JFR_T_STRING, "Build Id"),
	NUMBER(JFR_T_NATIVE_LIBRARY, "linkAddress", JFR_T_LONG, "Link Address", JFR_UNIT_ADDRESS),
	NUMBER(JFR_T_NATIVE_LIBRARY, "fileOffset", JFR_T_LONG, "File Offset", JFR_UNIT_BYTES),

	START_TIME(JFR_T_WALL_CLOCK_SAMPLE),
	POOLED(JFR_T_WALL_CLOCK_SAMPLE, "sampledThread", JFR_T_THREAD, "Thread"),
	STACK_TRACE(JFR_T_WALL_CLOCK_SAMPLE),
	POOLED(JFR_T_WALL_CLOCK_SAMPLE, "state", JFR_T_THREAD_STATE, "Thread State"),
	NUMBER(JFR_T_WALL_CLOCK_SAMPLE, "samples", JFR_T_INT, "Samples", JFR_UNIT_COUNT),
	NUMBER(JFR_T_WALL_CLOCK_SAMPLE, "timeSpan", JFR_T_LONG, "Time Span", JFR_UNIT_SPAN_TICKS),
	EXTRA(JFR_T_WALL_CLOCK_SAMPLE),
	CONTEXT(JFR_T_WALL_CLOCK_SAMPLE),
	POOLED(JFR_T_WALL_CLOCK_SAMPLE, "wait", JFR_T_WAIT, "Wait"),
	/* Of the thread that owns the lock, taken ownerDelay after the sample. */
	POOLED(JFR_T_WALL_CLOCK_SAMPLE, "ownerStackTrace", JFR_T_STACK_TRACE, "Owner's Stack Trace"),
	NUMBER(JFR_T_WALL_CLOCK_SAMPLE, "ownerDelay", JFR_T_LONG, "Owner's Delay",
	       JFR_UNIT_SPAN_NANOS),

	START_TIME(JFR_T_MALLOC),
	POOLED(JFR_T_MALLOC, "eventThread", JFR_T_THREAD, "Event Thread"),
	STACK_TRACE(JFR_T_MALLOC),
	NUMBER(JFR_T_MALLOC, "address", JFR_T_LONG, "Address", JFR_UNIT_ADDRESS),
	NUMBER(JFR_T_MALLOC, "size", JFR_T_LONG, "Size", JFR_UNIT_BYTES),
	EXTRA(JFR_T_MALLOC),
	NUMBER(JFR_T_MALLOC, "weight", JFR_T_LONG, "Bytes Stood For", JFR_UNIT_BYTES),
	CONTEXT(JFR_T_MALLOC),

	START_TIME(JFR_T_FREE),
	POOLED(JFR_T_FREE, "eventThread", JFR_T_THREAD, "Event Thread"),
	STACK_TRACE(JFR_T_FREE),
	NUMBER(JFR_T_FREE, "address", JFR_T_LONG, "Address", JFR_UNIT_ADDRESS),
	EXTRA(JFR_T_FREE),
	NUMBER(JFR_T_FREE, "weight", JFR_T_LONG, "Bytes Stood For", JFR_UNIT_BYTES),
	NUMBER(JFR_T_FREE, "birth", JFR_T_LONG, "Allocation Time", JFR_UNIT_TICKS),

	/* A wait of the duration stands for waits of the weight. The additional fields are as in a wall-clock sample. */
	START_TIME(JFR_T_NATIVE_LOCK),
	NUMBER(JFR_T_NATIVE_LOCK, "duration", JFR_T_LONG, "Duration", JFR_UNIT_SPAN_TICKS),
	POOLED(JFR_T_NATIVE_LOCK, "eventThread", JFR_T_THREAD, "Event Thread"),
	STACK_TRACE(JFR_T_NATIVE_LOCK),
	NUMBER(JFR_T_NATIVE_LOCK, "address", JFR_T_LONG, "Lock Address", JFR_UNIT_ADDRESS),
	EXTRA(JFR_T_NATIVE_LOCK),
	NUMBER(JFR_T_NATIVE_LOCK, "weight", JFR_T_LONG, "Time Stood For", JFR_UNIT_SPAN_TICKS),
	CONTEXT(JFR_T_NATIVE_LOCK),
	POOLED(JFR_T_NATIVE_LOCK, "wait", JFR_T_WAIT, "Wait"),
	POOLED(JFR_T_NATIVE_LOCK, "ownerStackTrace", JFR_T_STACK_TRACE, "Owner's Stack Trace"),

	START_TIME(JFR_T_USER_EVENT),
	POOLED(JFR_T_USER_EVENT, "eventThread", JFR_T_THREAD, "Event Thread"),
	POOLED(JFR_T_USER_EVENT, "type", JFR_T_USER_EVENT_TYPE, "User Event Type"),
	PLAIN(JFR_T_USER_EVENT, "data", JFR_T_STRING, "User Data"),

	/* Estimates from the weights of samples; the totals count from the start of sampling. */
	START_TIME(JFR_T_RETAINED_HEAP),
	STACK_TRACE(JFR_T_RETAINED_HEAP),
	NUMBER(JFR_T_RETAINED_HEAP, "count", JFR_T_LONG, "Allocations Retained", JFR_UNIT_COUNT),
	NUMBER(JFR_T_RETAINED_HEAP, "bytes", JFR_T_LONG, "Bytes Retained", JFR_UNIT_BYTES),
	NUMBER(JFR_T_RETAINED_HEAP, "oldest", JFR_T_LONG, "Oldest Allocation", JFR_UNIT_TICKS),
	NUMBER(JFR_T_RETAINED_HEAP, "allocatedCount", JFR_T_LONG, "Total Allocations",
	       JFR_UNIT_COUNT),
	NUMBER(JFR_T_RETAINED_HEAP, "allocatedBytes", JFR_T_LONG, "Total Bytes Allocated",
	       JFR_UNIT_BYTES),
	NUMBER(JFR_T_RETAINED_HEAP, "freedCount", JFR_T_LONG, "Total Frees", JFR_UNIT_COUNT),
	NUMBER(JFR_T_RETAINED_HEAP, "freedBytes", JFR_T_LONG, "Total Bytes Freed", JFR_UNIT_BYTES),

	/* Losses of one chunk. */
	START_TIME(JFR_T_LOSSES),
	NUMBER(JFR_T_LOSSES, "samples", JFR_T_LONG, "Samples Taken", JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "ringFull", JFR_T_LONG, "Samples Lost to a Full Ring", JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "timerFailures", JFR_T_LONG, "Timers Not Set", JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "tableEvictions", JFR_T_LONG, "Live Allocations Forgotten",
	       JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "stackTableFull", JFR_T_LONG, "Samples Without Stack: Table Full",
	       JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "threadTableFull", JFR_T_LONG,
	       "Samples Without Thread Name: Table Full", JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "eventsDropped", JFR_T_LONG, "Events Not Written", JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "late", JFR_T_LONG, "Samples Lost as They Came Late", JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "stalls", JFR_T_LONG, "Stalls Not Reported", JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "contextTableFull", JFR_T_LONG, "Samples Without Context or Wait: Table Full",
	       JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "retainedStacksCut", JFR_T_LONG, "Retained Stacks Cut: Table Full",
	       JFR_UNIT_COUNT),
	NUMBER(JFR_T_LOSSES, "memoryRefused", JFR_T_LONG, "Requests Refused by the Limit of Memory",
	       JFR_UNIT_COUNT),

	/* The code and the address are those of siginfo_t. */
	START_TIME(JFR_T_CRASH),
	POOLED(JFR_T_CRASH, "eventThread", JFR_T_THREAD, "Event Thread"),
	STACK_TRACE(JFR_T_CRASH),
	PLAIN(JFR_T_CRASH, "signal", JFR_T_INT, "Signal"),
	PLAIN(JFR_T_CRASH, "code", JFR_T_INT, "Signal Code"),
	NUMBER(JFR_T_CRASH, "address", JFR_T_LONG, "Address", JFR_UNIT_ADDRESS),
	CONTEXT(JFR_T_CRASH),

	START_TIME(JFR_T_STALL),
	NUMBER(JFR_T_STALL, "duration", JFR_T_LONG, "Duration", JFR_UNIT_SPAN_TICKS),
	POOLED(JFR_T_STALL, "eventThread", JFR_T_THREAD, "Event Thread"),
	STACK_TRACE(JFR_T_STALL),
	PLAIN(JFR_T_STALL, "ready", JFR_T_INT, "Ready Descriptors"),
	CONTEXT(JFR_T_STALL),

	/* The kernel's counts for one thread during the duration. The JDK's readers expect the
	 * duration in ticks, after the start. The three times add up to it. */
	START_TIME(JFR_T_THREAD_TIMES),
	NUMBER(JFR_T_THREAD_TIMES, "duration", JFR_T_LONG, "Duration", JFR_UNIT_SPAN_TICKS),
	POOLED(JFR_T_THREAD_TIMES, "eventThread", JFR_T_THREAD, "Event Thread"),
	NUMBER(JFR_T_THREAD_TIMES, "cpuTime", JFR_T_LONG, "CPU Time", JFR_UNIT_SPAN_NANOS),
	NUMBER(JFR_T_THREAD_TIMES, "runQueueTime", JFR_T_LONG, "Run Queue Time",
	       JFR_UNIT_SPAN_NANOS),
	NUMBER(JFR_T_THREAD_TIMES, "blockedTime", JFR_T_LONG, "Blocked Time", JFR_UNIT_SPAN_NANOS),
	NUMBER(JFR_T_THREAD_TIMES, "majorFaults", JFR_T_LONG, "Major Page Faults", JFR_UNIT_COUNT),
	NUMBER(JFR_T_THREAD_TIMES, "voluntarySwitches", JFR_T_LONG, "Voluntary Context Switches",
	       JFR_UNIT_COUNT),
	NUMBER(JFR_T_THREAD_TIMES, "involuntarySwitches", JFR_T_LONG,
	       "Involuntary Context Switches", JFR_UNIT_COUNT),
	NUMBER(JFR_T_THREAD_TIMES, "bytesRead", JFR_T_LONG, "Bytes Read", JFR_UNIT_BYTES),
	NUMBER(JFR_T_THREAD_TIMES, "bytesWritten", JFR_T_LONG, "Bytes Written", JFR_UNIT_BYTES),

	/* Time in which the control group's CPU limit kept the process off the processors, as the
	 * sum of all processors. */
	START_TIME(JFR_T_THROTTLING),
	NUMBER(JFR_T_THROTTLING, "duration", JFR_T_LONG, "Duration", JFR_UNIT_SPAN_TICKS),
	NUMBER(JFR_T_THROTTLING, "throttledTime", JFR_T_LONG, "Throttled Time",
	       JFR_UNIT_SPAN_NANOS),

	/* What a thread did during the duration, as looks at it found. Without a stack: another engine takes the samples. */
	START_TIME(JFR_T_LOGGED_STATE),
	NUMBER(JFR_T_LOGGED_STATE, "duration", JFR_T_LONG, "Duration", JFR_UNIT_SPAN_TICKS),
	POOLED(JFR_T_LOGGED_STATE, "eventThread", JFR_T_THREAD, "Event Thread"),
	POOLED(JFR_T_LOGGED_STATE, "wait", JFR_T_WAIT, "Wait"),

	/* CPU time for one kind of samples in a report; "agent" is the rest. keptTime is sampledTime, multiplied by the
	 * share of the samples that the overhead budget kept. */
	START_TIME(JFR_T_COST),
	PLAIN(JFR_T_COST, "kind", JFR_T_STRING, "Kind"),
	NUMBER(JFR_T_COST, "samples", JFR_T_LONG, "Samples", JFR_UNIT_COUNT),
	NUMBER(JFR_T_COST, "cpuTime", JFR_T_LONG, "CPU Time", JFR_UNIT_SPAN_NANOS),
	NUMBER(JFR_T_COST, "programTime", JFR_T_LONG, "CPU Time of the Program",
	       JFR_UNIT_SPAN_NANOS),
	NUMBER(JFR_T_COST, "elapsed", JFR_T_LONG, "Time Measured", JFR_UNIT_SPAN_NANOS),
	NUMBER(JFR_T_COST, "sampledTime", JFR_T_LONG, "Time Sampled", JFR_UNIT_SPAN_NANOS),
	NUMBER(JFR_T_COST, "keptTime", JFR_T_LONG, "Time Sampled, by the Kept Share",
	       JFR_UNIT_SPAN_NANOS),

	PLAIN(JFR_T_LABEL, "value", JFR_T_STRING, NULL),
	ARRAY(JFR_T_CATEGORY, "value", JFR_T_STRING, NULL),
	PLAIN(JFR_T_TIMESTAMP, "value", JFR_T_STRING, NULL),
	PLAIN(JFR_T_TIMESPAN, "value", JFR_T_STRING, NULL),
	PLAIN(JFR_T_DATA_AMOUNT, "value", JFR_T_STRING, NULL),
};

const struct jfr_constant_row jfr_constants[] = {
	{ JFR_T_FRAME_TYPE, JFR_FRAME_INTERPRETED, "Interpreted" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_JIT, "JIT compiled" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_INLINED, "Inlined" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_NATIVE, "Native" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_CPP, "C++" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_KERNEL, "Kernel" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_C1, "C1 compiled" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_PYTHON, "Python" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_JAVASCRIPT, "JavaScript" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_RUBY, "Ruby" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_PHP, "PHP" },
	{ JFR_T_FRAME_TYPE, JFR_FRAME_PERL, "Perl" },

	{ JFR_T_THREAD_STATE, JFR_STATE_DEFAULT, "STATE_DEFAULT" },
	{ JFR_T_THREAD_STATE, JFR_STATE_RUNNABLE, "STATE_RUNNABLE" },
	{ JFR_T_THREAD_STATE, JFR_STATE_SLEEPING, "STATE_SLEEPING" },
};
/* clang-format on */

/* Events of other writers. */
static const struct {
	const char *name;
	enum jfr_kind kind;
} others[] = {
	{ "jdk.NativeMethodSample", JFR_EXECUTION_SAMPLE },
	{ "jdk.CPUTimeSample", JFR_EXECUTION_SAMPLE },
	{ "jdk.ObjectAllocationInNewTLAB", JFR_OBJECT },
	{ "jdk.ObjectAllocationOutsideTLAB", JFR_OBJECT },
	{ "jdk.ObjectAllocationSample", JFR_OBJECT },
	{ "profiler.LiveObject", JFR_LIVE_OBJECT },
	{ "jdk.JavaMonitorEnter", JFR_LOCK },
	{ "jdk.ThreadPark", JFR_LOCK },
};

enum jfr_kind jfr_kind_named(const char *name)
{
	for (size_t i = 0; i < COUNT(jfr_types); i++)
		if (jfr_types[i].kind && !strcmp(name, jfr_types[i].name))
			return jfr_types[i].kind;
	for (size_t i = 0; i < COUNT(others); i++)
		if (!strcmp(name, others[i].name))
			return others[i].kind;
	return JFR_OTHER;
}

const struct jfr_constant_row *jfr_constant_named(enum jfr_type_id type, const char *name)
{
	for (size_t i = 0; i < COUNT(jfr_constants); i++)
		if (jfr_constants[i].type == type && !strcmp(jfr_constants[i].name, name))
			return &jfr_constants[i];
	return NULL;
}

const size_t jfr_type_count = COUNT(jfr_types);
const size_t jfr_field_count = COUNT(jfr_fields);
const size_t jfr_constant_count = COUNT(jfr_constants);
