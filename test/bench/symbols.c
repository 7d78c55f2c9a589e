/* Time and memory to name 2,000 addresses in files of this machine, each in a separate process: the
 * agent's, compared with `addr2line -f` for the same addresses. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "engine/elf/elf.h"
#include "engine/elf/elf_identity.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/module_symbols.h"

#define ADDRESSES 2000

/* The cost of one of them. */
struct cost {
	double ms;
	long rss_kb; /* peak */
	int status;
};

static uint64_t addresses[ADDRESSES];
static struct demangler *demangler;

static int count_named(void *context, const struct symbol_match *match, const char *text,
		       const char *suffix)
{
	(void)match;
	(void)suffix;
	demangle(demangler, text);
	++*(size_t *)context;
	return 0;
}

/* Addresses spread over the code of PATH, and its build id. Returns 0 or -1. */
static int describe(const char *path, struct module *module)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	const Elf64_Shdr *text;
	struct elf *elf;
	int n;

	if (elf_open(&elf, path))
		return -1;
	text = elf_find_section(elf, ".text");
	n = elf_build_id(elf, id);
	for (size_t i = 0; text && i < ADDRESSES; i++)
		addresses[i] = text->sh_addr + i * (text->sh_size / ADDRESSES);
	memset(module, 0, sizeof(*module));
	module->path = path;
	module->unloaded_ticks = 1; /* not in this process's memory */
	if (n > 0 && (size_t)n <= sizeof(module->build_id)) {
		memcpy(module->build_id, id, (size_t)n);
		module->build_id_size = (size_t)n;
	}
	n = text ? 0 : -1;
	elf_close(elf);
	return n;
}

static int ours(const struct module *module)
{
	struct symbol_match *matches = calloc(ADDRESSES, sizeof(*matches));
	size_t named = 0;
	int err = matches ? demangler_open(&demangler) : -1;

	for (size_t i = 0; i < ADDRESSES && !err; i++)
		matches[i].address = addresses[i];
	if (!err)
		err = module_symbols_match(module, matches, ADDRESSES, count_named, NULL, &named);
	printf("%zu named, ", named);
	fflush(stdout);
	return err ? 1 : 0;
}

static int nothing(const struct module *module)
{
	(void)module;
	return 0;
}

static int rival(const struct module *module)
{
	FILE *list = tmpfile();

	if (!list)
		return 1;
	for (size_t i = 0; i < ADDRESSES; i++)
		fprintf(list, "%llx\n", (unsigned long long)addresses[i]);
	fflush(list);
	rewind(list);
	if (dup2(fileno(list), STDIN_FILENO) < 0 || !freopen("/dev/null", "w", stdout))
		return 1;
	execlp("addr2line", "addr2line", "-f", "-C", "-e", module->path, (char *)NULL);
	return 1;
}

static struct cost measure(int (*way)(const struct module *), const struct module *module)
{
	uint64_t start = clock_monotonic_ns();
	struct rusage usage = { 0 };
	struct cost cost = { .status = -1 };
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(way(module));
	if (pid < 0 || wait4(pid, &cost.status, 0, &usage) != pid)
		return cost;
	cost.ms = (double)(clock_monotonic_ns() - start) / 1e6;
	cost.rss_kb = usage.ru_maxrss;
	return cost;
}

static int compare(const char *path)
{
	struct module module;
	struct cost mine, other, base;

	if (describe(path, &module)) {
		printf("%s: not here\n", path);
		return 0;
	}
	printf("%s: ", path);
	base = measure(nothing, &module);
	mine = measure(ours, &module);
	other = measure(rival, &module);
	if (mine.status || base.status)
		return 1;
	printf("%.1f ms, %ld kB above an empty process", mine.ms, mine.rss_kb - base.rss_kb);
	if (other.status)
		printf("; addr2line failed\n");
	else
		printf("; addr2line %.1f ms, %ld kB: %.1f times the time, %.1f times the memory\n",
		       other.ms, other.rss_kb, other.ms / mine.ms,
		       (double)other.rss_kb / (double)mine.rss_kb);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const files[] = { "/usr/bin/node", "/lib/x86_64-linux-gnu/libc.so.6",
					     "/usr/bin/python3" };
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= compare(argv[i]);
	for (size_t i = 0; argc == 1 && i < sizeof(files) / sizeof(*files); i++)
		failed |= compare(files[i]);
	return failed;
}
