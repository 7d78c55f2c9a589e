/* Option table. */
#include "core/options/option_table.h"

#include <stddef.h>
#include <string.h>

#include "core/units.h"

/* An interval that never ends; adding it to a time does not overflow. */
#define NEVER DAYS(36500)

static const char *const engine_words[] = {
	[ENGINE_AUTO] = "auto",
	[ENGINE_ASYNC_PROFILER] = "async-profiler",
	[ENGINE_BUILTIN] = "builtin",
	NULL,
};

static const char *const mem_engine_words[] = {
	[MEM_ENGINE_AUTO] = "auto",
	[MEM_ENGINE_ENGINE] = "engine",
	[MEM_ENGINE_BUILTIN] = "builtin",
	NULL,
};

static const char *const frames_words[] = {
	[FRAMES_AUTO] = "auto",
	[FRAMES_NATIVE] = "native",
	NULL,
};

static const char *const waits_words[] = {
	[WAITS_ON] = "on",
	[WAITS_KINDS] = "kinds",
	[WAITS_OFF] = "off",
	NULL,
};

static const char *const sandbox_words[] = { "leave", NULL };

static const char *const log_words[] = {
	[LOG_OFF] = "off",   [LOG_ERROR] = "error", [LOG_WARN] = "warn",
	[LOG_INFO] = "info", [LOG_DEBUG] = "debug", NULL,
};

/* Words of async-profiler 2 to 4, which treats unknown words as `no`. */
static const char *const cstack_words[] = { "dwarf", "fp", "lbr", "vm", "vmx", "no", NULL };

/* Words are stored as unsigned int. */
_Static_assert(sizeof(enum engine_choice) == sizeof(unsigned int), "enum size");
_Static_assert(sizeof(enum mem_engine_choice) == sizeof(unsigned int), "enum size");
_Static_assert(sizeof(enum frames_choice) == sizeof(unsigned int), "enum size");
_Static_assert(sizeof(enum waits_choice) == sizeof(unsigned int), "enum size");
_Static_assert(sizeof(enum log_level) == sizeof(unsigned int), "enum size");

#define FIELD(field) .offset = offsetof(struct config, field)

const struct option option_table[] = {
	{ .name = "ENABLED",
	  .type = OPTION_SWITCH,
	  FIELD(enabled),
	  .fallback = "on",
	  .help = "`off`: the preload does nothing at all." },
	{ .name = "ENGINE",
	  .type = OPTION_WORD,
	  FIELD(engine),
	  .words = engine_words,
	  .fallback = "auto",
	  .help = "Engine that takes the samples; `auto`: async-profiler if its library is "
		  "found, else the builtin engine." },
	{ .name = "LIB",
	  .type = OPTION_TEXT,
	  FIELD(lib),
	  .check = check_library,
	  .expects = "a soname or an absolute path",
	  .fallback = "libasyncProfiler.so",
	  .help = "async-profiler's library: an absolute path, or a name that is searched as "
		  "by the dynamic linker, but never in the working directory." },
	{ .name = "REPORTING_INTERVAL",
	  .type = OPTION_DURATION,
	  FIELD(reporting_interval_ns),
	  .min = SECONDS(1),
	  .max = HOURS(24),
	  .off = NEVER,
	  .fallback = "30s",
	  .help = "Time between reports; `off`: one report, when the program ends." },
	{ .name = "CPU_INTERVAL",
	  .type = OPTION_DURATION,
	  FIELD(cpu_interval_ns),
	  .min = US(100),
	  .max = HOURS(1),
	  .zero = true,
	  .off = OPTION_OFF,
	  .fallback = "100ms",
	  .help = "CPU time between two samples of a running thread." },
	{ .name = "WALL_INTERVAL",
	  .type = OPTION_DURATION,
	  FIELD(wall_interval_ns),
	  .min = US(100),
	  .max = HOURS(1),
	  .zero = true,
	  .off = OPTION_OFF,
	  .fallback = "1s",
	  .help = "Time between two samples of every thread, running or not." },
	{ .name = "NATIVE_MEM",
	  .type = OPTION_SIZE,
	  FIELD(native_mem_bytes),
	  .max = GIB(1024),
	  .off = OPTION_OFF,
	  .fallback = "off",
	  .help = "Bytes allocated between two samples of malloc; `0` records every allocation. "
		  "The builtin engine also samples before `START_DELAY` is over." },
	{ .name = "NATIVE_MEM_ENGINE",
	  .type = OPTION_WORD,
	  FIELD(native_mem_engine),
	  .words = mem_engine_words,
	  .fallback = "auto",
	  .help = "Sampler of malloc and free: the `engine` that takes the other samples, or "
		  "the `builtin` engine; `auto` means `engine`." },
	{ .name = "NATIVE_MEM_LIMIT",
	  .type = OPTION_SIZE,
	  FIELD(native_mem_limit_bytes),
	  .min = 1,
	  .max = GIB(1 << 20),
	  .off = OPTION_OFF,
	  .fallback = "off",
	  .help = "A single allocation of this size or more fails with ENOMEM; its stack is logged "
		  "and recorded." },
	{ .name = "NATIVE_MEM_GROWTH",
	  .type = OPTION_SHARE,
	  FIELD(native_mem_growth_permil),
	  .min = 10,
	  .max = 10000,
	  .off = OPTION_OFF,
	  .fallback = "off",
	  .help = "When the retained memory has grown by this share, a report is written at "
		  "once." },
	{ .name = "LOCK",
	  .type = OPTION_DURATION,
	  FIELD(lock_ns),
	  .min = US(1),
	  .max = HOURS(1),
	  .zero = true,
	  .off = OPTION_OFF,
	  .fallback = "off",
	  .help = "Time that threads wait for locks between two samples of such waits. "
		  "async-profiler samples locks of Java, the builtin engine mutexes and "
		  "read-write locks of the C library." },
	{ .name = "BUDGET",
	  .type = OPTION_SHARE,
	  FIELD(budget_permil),
	  .min = 10,
	  .max = 1000,
	  .off = OPTION_OFF,
	  .fallback = "1%",
	  .help = "CPU time that sampling may use, as a share of the program's CPU time (at least "
		  "0.1% of one processor); above it, intervals are lengthened." },
	{ .name = "CSTACK",
	  .type = OPTION_TEXT,
	  FIELD(cstack),
	  .words = cstack_words,
	  .fallback = "dwarf",
	  .help = "How async-profiler walks native stacks." },
	{ .name = "FRAMES",
	  .type = OPTION_WORD,
	  FIELD(frames),
	  .words = frames_words,
	  .fallback = "auto",
	  .help = "`auto`: the builtin engine shows functions of Python, JavaScript, Ruby, PHP "
		  "and Perl; `native`: it shows the C functions of their interpreters." },
	{ .name = "WAITS",
	  .type = OPTION_WORD,
	  FIELD(waits),
	  .words = waits_words,
	  .fallback = "on",
	  .help = "What is recorded of waits. `on`: wall-clock samples have the thread's state, "
		  "the cause of its wait, and its file, peer or lock. `kinds`: the same without "
		  "paths and peers. `off`: nothing." },
	{ .name = "ENGINE_OPTIONS",
	  .type = OPTION_TEXT,
	  FIELD(engine_options),
	  .fallback = "",
	  .help = "Appended unchanged to the engine's start command." },
	{ .name = "PROFILING_GROUP",
	  .type = OPTION_TEXT,
	  FIELD(profiling_group),
	  .check = check_object_name,
	  .expects = "a name without a path segment . or ..",
	  .fallback = "",
	  .help = "Group in the names of uploads; unset: the name of the executable." },
	{ .name = "TAGS",
	  .type = OPTION_TEXT,
	  FIELD(tags),
	  .check = check_tags,
	  .expects = "key=value,key=value, each of at most 4096 bytes",
	  .fallback = "",
	  .help = "Labels that are written to each profile and to the `metadata.json` of an "
		  "upload; `asprof-agent ... --tag` selects by them." },
	{ .name = "LOCAL_DIR",
	  .type = OPTION_TEXT,
	  FIELD(local_dir),
	  .fallback = "",
	  .help = "Directory for profiles on this machine; if neither this nor a bucket is "
		  "set: `/var/lib/asprof-agent` if that is writable, else "
		  "`${TMPDIR:-/tmp}/asprof-agent-UID`." },
	{ .name = "LOCAL_MAX_BYTES",
	  .type = OPTION_SIZE,
	  FIELD(local_max_bytes),
	  .min = KIB(64),
	  .max = GIB(1 << 20),
	  .zero = true,
	  .off = 0,
	  .fallback = "1g",
	  .help = "Maximum bytes of profiles in LOCAL_DIR; the oldest are deleted first; `0`: "
		  "no limit." },
	{ .name = "LOCAL_MAX_AGE",
	  .type = OPTION_DURATION,
	  FIELD(local_max_age_ns),
	  .min = SECONDS(1),
	  .max = DAYS(3650),
	  .zero = true,
	  .off = OPTION_OFF,
	  .fallback = "off",
	  .help = "Profiles older than this are deleted." },
	{ .name = "S3_BUCKET",
	  .type = OPTION_TEXT,
	  FIELD(s3_bucket),
	  .check = check_no_space,
	  .expects = "a bucket's name",
	  .fallback = "",
	  .help = "Bucket to upload profiles to; unset: no uploads." },
	{ .name = "S3_BUCKET_OWNER",
	  .type = OPTION_TEXT,
	  FIELD(s3_bucket_owner),
	  .check = check_no_space,
	  .expects = "an account's number",
	  .fallback = "",
	  .help = "Account that must own the bucket, sent as `x-amz-expected-bucket-owner`." },
	{ .name = "S3_PREFIX",
	  .type = OPTION_TEXT,
	  FIELD(s3_prefix),
	  .check = check_object_name,
	  .expects = "text without a path segment . or ..",
	  .fallback = "",
	  .help = "Prefix of the name of each upload." },
	{ .name = "S3_REGION",
	  .type = OPTION_TEXT,
	  FIELD(s3_region),
	  .check = check_no_space,
	  .expects = "a region such as eu-west-1",
	  .fallback = "",
	  .help = "The bucket's region; unset: determined as by the AWS SDKs." },
	{ .name = "S3_ENDPOINT",
	  .type = OPTION_TEXT,
	  FIELD(s3_endpoint),
	  .check = check_url,
	  .expects = "a URL that begins with http:// or https://",
	  .fallback = "",
	  .help = "URL of an S3-compatible store, addressed path-style; unset: determined as "
		  "by the AWS SDKs." },
	{ .name = "S3_PROXY",
	  .type = OPTION_TEXT,
	  FIELD(s3_proxy),
	  .check = check_url,
	  .expects = "a URL that begins with http:// or https://, or off",
	  .none = "off",
	  .fallback = "off",
	  .help = "Proxy for uploads; the program's own proxy settings are ignored." },
	{ .name = "PYROSCOPE_URL",
	  .type = OPTION_TEXT,
	  FIELD(pyroscope_url),
	  .check = check_url,
	  .expects = "a URL that begins with http:// or https://",
	  .fallback = "",
	  .help = "URL of the Pyroscope server to send profiles to, `http(s)://host:port` with "
		  "or without a path; unset: none." },
	{ .name = "PYROSCOPE_HEADERS",
	  .type = OPTION_TEXT,
	  FIELD(pyroscope_headers),
	  .check = check_headers,
	  .expects = "key=value,key=value",
	  .fallback = "",
	  .secret = true,
	  .help = "Additional request headers: `X-Scope-OrgID=team,Authorization=Bearer …`." },
	{ .name = "OTLP_ENDPOINT",
	  .type = OPTION_TEXT,
	  FIELD(otlp_endpoint),
	  .check = check_url,
	  .expects = "a URL that begins with http:// or https://",
	  .fallback = "",
	  .help = "Base URL of the OTLP/HTTP receiver to send profiles to, as "
		  "OTEL_EXPORTER_OTLP_ENDPOINT; unset: none." },
	{ .name = "OTLP_HEADERS",
	  .type = OPTION_TEXT,
	  FIELD(otlp_headers),
	  .check = check_headers,
	  .expects = "key=value,key=value",
	  .fallback = "",
	  .secret = true,
	  .help = "Additional request headers, as OTEL_EXPORTER_OTLP_HEADERS: values are "
		  "percent-encoded." },
	{ .name = "METADATA",
	  .type = OPTION_TEXT,
	  FIELD(metadata),
	  .check = check_metadata,
	  .expects = "auto, none or file:PATH",
	  .fallback = "auto",
	  .help = "How to identify the machine: `auto` asks EC2, then ECS; `none` makes no "
		  "request; `file:PATH` is a file with a JSON object." },
	{ .name = "PROCESS",
	  .type = OPTION_TEXT,
	  FIELD(process),
	  .fallback = "*",
	  .help = "Names of the executables to profile: globs separated by commas; `!glob` "
		  "excludes; the first match decides." },
	{ .name = "CHILDREN",
	  .type = OPTION_SWITCH,
	  FIELD(children),
	  .fallback = "on",
	  .help = "`off`: programs that this one starts are not profiled." },
	{ .name = "FORK",
	  .type = OPTION_SWITCH,
	  FIELD(fork),
	  .fallback = "on",
	  .help = "`off`: a forked child that does not exec is not profiled." },
	{ .name = "CRASH",
	  .type = OPTION_SWITCH,
	  FIELD(crash),
	  .fallback = "on",
	  .help = "`on`: an unhandled crash (SIGSEGV, SIGABRT and similar) is recorded in a "
		  "last report. The process waits for it at most `EXIT_TIMEOUT`. `off`: "
		  "that report is lost." },
	{ .name = "SANDBOX",
	  .type = OPTION_WORD,
	  FIELD(sandbox),
	  .words = sandbox_words,
	  .fallback = "leave",
	  .help = "`leave`: profiling ends when the program enters a seccomp or Landlock "
		  "sandbox." },
	{ .name = "START_DELAY",
	  .type = OPTION_DURATION,
	  FIELD(start_delay_ns),
	  .min = US(1),
	  .max = HOURS(24),
	  .zero = true,
	  .off = 0,
	  .fallback = "100ms",
	  .help = "Delay before profiling starts; a process that ends earlier is not profiled "
		  "and has almost no overhead." },
	{ .name = "MEMORY",
	  .type = OPTION_SIZE,
	  FIELD(memory_bytes),
	  .min = MIB(2),
	  .max = GIB(64),
	  .off = 0,
	  .fallback = "16m",
	  .help = "Maximum memory of the agent in the program's process, without "
		  "async-profiler, undelivered recordings and signal stacks of threads. At the "
		  "limit, "
		  "captures end early and samples have no stack; counted. `off`: no limit." },
	{ .name = "SPOOL_DIR",
	  .type = OPTION_TEXT,
	  FIELD(spool_dir),
	  .fallback = "",
	  .help = "Directory that keeps undelivered recordings and the running one. After SIGKILL "
		  "the next process delivers them. Unset: they are kept in memory." },
	{ .name = "SPOOL_MAX_BYTES",
	  .type = OPTION_SIZE,
	  FIELD(spool_max_bytes),
	  .min = KIB(64),
	  .max = GIB(1 << 20),
	  .off = OPTION_OFF,
	  .fallback = "256m",
	  .help = "Maximum bytes of undelivered recordings; the oldest are dropped first, and "
		  "counted; `off`: no limit. Without SPOOL_DIR they are kept in memory, and "
		  "the default is `32m`." },
	{ .name = "EXIT_TIMEOUT",
	  .type = OPTION_DURATION,
	  FIELD(exit_timeout_ns),
	  .min = US(1),
	  .max = HOURS(1),
	  .zero = true,
	  .off = 0,
	  .fallback = "2s",
	  .help = "Maximum delay of the program's exit by the last report." },
	{ .name = "STALLS",
	  .type = OPTION_DURATION,
	  FIELD(stalls_ns),
	  .min = US(100),
	  .max = HOURS(1),
	  .zero = true,
	  .off = OPTION_OFF,
	  .on = MS(10),
	  .fallback = "off",
	  .help = "Record iterations of an event loop that take longer than this; `on` means "
		  "`10ms`. `asprof-agent longpolls` shows them." },
	{ .name = "LISTEN",
	  .type = OPTION_TEXT,
	  FIELD(listen),
	  .check = check_listen,
	  .expects = "auto, off, unix:/PATH or 127.0.0.1:PORT (another address needs LISTEN_TOKEN)",
	  .none = "off",
	  .fallback = "auto",
	  .help = "Address of the live endpoint: `auto` is a Unix socket for this user and "
		  "root, which `asprof-agent ps` finds; `unix:PATH`; `127.0.0.1:PORT`. Over "
		  "TCP the endpoint is read-only without LISTEN_TOKEN." },
	{ .name = "LISTEN_TOKEN",
	  .type = OPTION_TEXT,
	  FIELD(listen_token),
	  .check = check_no_space,
	  .expects = "text without spaces",
	  .fallback = "",
	  .secret = true,
	  .help = "Bearer token that a client of the live endpoint must send over TCP. "
		  "Required for an address that is not loopback, and for every request that "
		  "changes the profiler." },
	{ .name = "LOG",
	  .type = OPTION_WORD,
	  FIELD(log),
	  .words = log_words,
	  .fallback = "warn",
	  .help = "Log level of the agent." },
	{ .name = "LOG_FILE",
	  .type = OPTION_TEXT,
	  FIELD(log_file),
	  .check = check_log_file,
	  .expects = "a file's path, or stderr; never stdout",
	  .none = "stderr",
	  .fallback = "stderr",
	  .help = "File that the agent logs to; never stdout. A regular file or a FIFO of this "
		  "user or root, or /dev/null, but no link. Lines that are not read from a "
		  "FIFO are lost." },
};

_Static_assert(sizeof(option_table) / sizeof(*option_table) == OPTION_COUNT, "option count");

const struct option *option_lookup(const char *name)
{
	const char *rest = option_unprefixed(name);

	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (!strcmp(option_table[i].name, rest ? rest : name))
			return &option_table[i];
	return NULL;
}
