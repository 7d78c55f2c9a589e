/* Facts about the machine for a recording: kernel, processors and load. */
#include "engine/process/host_info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/clock.h"
#include "engine/process/proc_file.h"

void host_os_version(char *version, size_t size)
{
	struct utsname name;

	if (uname(&name))
		snprintf(version, size, "Linux");
	else
		snprintf(version, size, "%s %s %s", name.sysname, name.release, name.version);
}

/* Copy the value of the line "KEY : value" in TEXT to VALUE, up to the end of the line. */
static int cpuinfo_value(const char *text, const char *key, char *value, size_t size)
{
	const char *line = strstr(text, key), *colon;
	size_t length;

	if (!line)
		return -ENOENT;
	colon = line + strcspn(line, ":\n");
	if (*colon != ':')
		return -ENOENT;
	colon += 1 + strspn(colon + 1, " \t");
	length = strcspn(colon, "\n");
	if (length >= size)
		length = size - 1;
	memcpy(value, colon, length);
	value[length] = '\0';
	return 0;
}

/* Parse a list such as "0-3,8". sysconf(3) is only a fallback: it opens the list with one of the
 * program's lowest descriptors. */
static uint32_t online_processors(void)
{
	unsigned long first, last, count = 0;
	long fallback;
	char list[1024], *at = list;

	proc_file_read("/sys/devices/system/cpu/online", list, sizeof(list));
	while (*at >= '0' && *at <= '9') {
		first = last = strtoul(at, &at, 10);
		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		if (*at == ',')
			at++;
		count += last >= first ? last - first + 1 : 0;
	}
	if (count)
		return (uint32_t)count;
	fallback = sysconf(_SC_NPROCESSORS_ONLN);
	return fallback > 0 ? (uint32_t)fallback : 1;
}

void host_cpu_read(struct host_cpu *cpu)
{
	char text[4096], number[16];
	unsigned int cores = 0;

	/* The first processor is taken for all. */
	proc_file_read("/proc/cpuinfo", text, sizeof(text));
	if (cpuinfo_value(text, "model name", cpu->model, sizeof(cpu->model)) &&
	    cpuinfo_value(text, "CPU implementer", cpu->model, sizeof(cpu->model)))
		snprintf(cpu->model, sizeof(cpu->model), "unknown");
	cpu->threads = online_processors();
	if (!cpuinfo_value(text, "cpu cores", number, sizeof(number)))
		sscanf(number, "%u", &cores);
	cpu->cores = cores ? cores : cpu->threads;
	if (!cpuinfo_value(text, "siblings", number, sizeof(number)) &&
	    sscanf(number, "%u", &cores) == 1 && cores)
		cpu->sockets = (cpu->threads + cores - 1) / cores;
	else
		cpu->sockets = 1;
	cpu->cores *= cpu->sockets;
}

struct times {
	uint64_t at_ns, user_ns, system_ns;
	unsigned long long busy, total; /* of the machine, in clock ticks */
};

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void cpu_times_read(struct times *t)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	struct rusage usage;
	char text[256];

	memset(t, 0, sizeof(*t));
	t->at_ns = clock_monotonic_ns();
	if (!getrusage(RUSAGE_SELF, &usage)) {
		t->user_ns = timeval_ns(usage.ru_utime);
		t->system_ns = timeval_ns(usage.ru_stime);
	}
	proc_file_read("/proc/stat", text, sizeof(text));
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &iowait, &irq, &softirq, &steal) == 8) {
		t->busy = user + nice + system + irq + softirq + steal;
		t->total = t->busy + idle + iowait;
	}
}

static float cpu_share(uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	return part < whole ? (float)part / (float)whole : 1;
}

int host_load_read(struct host_load *load)
{
	static struct times last;
	struct times now, before = last;
	uint64_t capacity;

	cpu_times_read(&now);
	if (before.at_ns && now.at_ns - before.at_ns < 10000000u)
		return -EAGAIN;
	last = now;
	if (!before.at_ns)
		return -EAGAIN;
	capacity = (now.at_ns - before.at_ns) * online_processors();
	load->user = cpu_share(now.user_ns - before.user_ns, capacity);
	load->system = cpu_share(now.system_ns - before.system_ns, capacity);
	load->machine = cpu_share(now.busy - before.busy, now.total - before.total);
	if (load->machine < load->user + load->system)
		load->machine = load->user + load->system;
	return 0;
}
