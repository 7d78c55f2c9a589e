// Works in spans as a server with OpenTelemetry does: publishes the context of each thread in its record (OTEP 4947),
// and the names of the attributes in the process context (OTEP 4719).
//
//	spans HOW SPANS MS	HOW: cpu, sleep, alloc, label, or forked: labels that a child keeps.
//				The variable is in the library SPANS_LIBRARY, if that is set.
//
// For each span it prints trace, span, route and its milliseconds of CPU time or of sleep, or its kilobytes. Two
// threads process the spans in turn.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

namespace
{

const char *const routes[] = { "/cart", "/pay", "/search", "/user=1", "/~" };
const char *const keys[] = { "http.route", "http.method", "thread.pool" };

void (*attach)(void *record);

// As a part of this program, or of a linked library.
extern "C" void otel_attach(void *record) __attribute__((weak));

void find_attach()
{
	const char *path = getenv("SPANS_LIBRARY");
	void *library = path ? dlopen(path, RTLD_NOW) : nullptr;

	attach = library ? (void (*)(void *))dlsym(library, "otel_attach") : otel_attach;
	if (!attach) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
}

#pragma pack(push, 1)
struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
	uint8_t attributes[200];
};
#pragma pack(pop)

std::string field(unsigned number, const std::string &bytes)
{
	std::string out(1, (char)(number << 3 | 2));
	size_t length = bytes.size();

	for (; length > 127; length >>= 7)
		out += (char)(length & 127 | 128);
	return out + (char)length + bytes;
}

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published;
	const char *payload;
};

void publish_process()
{
	std::string array;
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct header *header;
	std::string &payload = *new std::string; // exists at the very end, too

	for (const char *key : keys)
		array += field(1, field(1, key));
	payload = field(1, field(1, "service.name") + field(2, field(1, "spans"))) +
		  field(1, field(1, "threadlocal.schema_version") + field(2, field(1, "tls_v1"))) +
		  field(1, field(1, "threadlocal.attribute_key_map") + field(2, field(5, array)));
	if (fd < 0 || ftruncate(fd, 4096))
		exit(1);
	header = (struct header *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	madvise(header, 4096, MADV_DONTFORK);
	header->version = 2;
	header->size = (uint32_t)payload.size();
	header->payload = payload.data();
	header->published = (uint64_t)time(nullptr) * 1000000000;
	std::atomic_thread_fence(std::memory_order_seq_cst);
	memcpy(header->signature, "OTEL_CTX", 8);
}

void put(struct record *record, uint8_t key, const char *value)
{
	size_t length = strlen(value);

	record->attributes[record->size] = key;
	record->attributes[record->size + 1] = (uint8_t)length;
	memcpy(record->attributes + record->size + 2, value, length);
	record->size = (uint16_t)(record->size + 2 + length);
}

std::string hex(const uint8_t *bytes, size_t count)
{
	std::string out;
	char text[3];

	for (size_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%02x", bytes[i]);
		out += text;
	}
	return out;
}

uint64_t now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

volatile uint64_t sink;
std::vector<void *> kept[2];

__attribute__((noinline)) uint64_t work(const std::string &how, unsigned ms, unsigned thread)
{
	uint64_t start = now_us(CLOCK_THREAD_CPUTIME_ID), spent = 0;

	if (how == "sleep") {
		usleep(ms * 1000);
		return ms;
	}
	if (how == "alloc") {
		for (unsigned i = 0; i < ms; i++)
			kept[thread].push_back(malloc(1024));
		return ms;
	}
	for (; spent < ms * 1000; spent = now_us(CLOCK_THREAD_CPUTIME_ID) - start)
		for (int i = 0; i < 2000; i++)
			sink = sink + 1;
	return spent / 1000;
}

std::mutex lock;

void span(const std::string &how, unsigned number, unsigned ms, unsigned thread)
{
	static thread_local struct record record;
	const char *route = routes[number % 5];
	uint64_t took;

	memset(&record, 0, sizeof(record));
	for (unsigned i = 0; i < 16; i++)
		record.trace[i] = (uint8_t)(0xa0 + i + number / 10 * 16);
	for (unsigned i = 0; i < 8; i++)
		record.span[i] = (uint8_t)((uint64_t)(number + 1) >> 8 * (7 - i));
	put(&record, 0, "/no more");
	put(&record, 1, "GET");
	put(&record, 0, route); // the last one counts
	put(&record, 77, "of no name");
	if (how == "label") {
		if (asprof_agent_label) {
			asprof_agent_label("route", route);
			asprof_agent_label("span", std::to_string(number).c_str());
			asprof_agent_label("gone", "soon");
			asprof_agent_label("gone", nullptr);
		}
	} else {
		std::atomic_signal_fence(std::memory_order_seq_cst);
		record.valid = 1;
		attach(&record);
	}
	took = work(how, ms, thread);
	attach(nullptr);
	record.valid = 0;
	std::lock_guard<std::mutex> hold(lock);
	printf("%s %s %s %u %llu\n", hex(record.trace, 16).c_str(), hex(record.span, 8).c_str(),
	       route, number, (unsigned long long)took);
}

} // namespace

int main(int argc, char **argv)
{
	std::string how = argc > 3 ? argv[1] : "";
	unsigned spans = argc > 3 ? (unsigned)atoi(argv[2]) : 0,
		 ms = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	std::vector<std::thread> threads;

	if (!spans || !ms)
		return 2;
	find_attach();
	publish_process();
	for (int i = 0; i < 3000 && asprof_agent_running && !asprof_agent_running(); i++)
		usleep(10000);
	if (how == "forked") {
		ASPROF_AGENT_LABEL("role", "parent's");
		if (fork()) {
			wait(nullptr);
			return 0;
		}
		work("cpu", ms, 0);
		std::thread([=] { work("cpu", ms, 0); }).join();
		return 0;
	}
	for (unsigned t = 0; t < 2; t++)
		threads.emplace_back([=] {
			for (unsigned i = t; i < spans; i += 2)
				span(how, i, ms + i % 3 * ms / 2, t);
		});
	for (auto &thread : threads)
		thread.join();
	return 0;
}
