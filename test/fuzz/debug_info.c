/* Any bytes as a debug file, queried for some addresses. libdw is the system's, so its code does
 * not guide the fuzzer; its memory errors are detected nevertheless. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "decoder/output/message.h"
#include "decoder/symbolize/debug_info.h"
#include "decoder/symbolize/dwarf_library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Leaks of libdw in a damaged file are libdw's: the command ends soon. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw.so\n";
}

/* Typical addresses of small programs' code. */
#define CODE_FIRST 0x1000
#define CODE_LAST  0x1400

static void ask(struct debug_info *info)
{
	struct debug_frame frames[DEBUG_FRAMES_MAX];

	for (uint64_t address = CODE_FIRST; address < CODE_LAST; address += 11)
		if (debug_info_frames(info, address, frames) > DEBUG_FRAMES_MAX)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct debug_store *store = NULL;
	struct debug_info *info;
	char path[64];

	message_disabled = true;
	if (!dwarf_library() || fd < 0 || debug_store_open(&store, NULL, 0, false))
		abort(); /* nothing would be tested: install libdw1 */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!fd_write(fd, data, size, 0) && !debug_info_open(&info, store, path, "fuzz")) {
		ask(info);
		debug_info_close(info);
	}
	debug_store_close(store);
	close(fd);
	return 0;
}
