/* What is known of a report in a spool beyond its recording: the file NAME.json. */
#include "upload/spool_note.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"

#define SUFFIX ".json"

/* A note is there for a moment before its recording. */
#define ALONE_MAX_SECONDS 60

void spool_note_name(char out[NAME_FILE_SIZE + 1], const char *name)
{
	snprintf(out, NAME_FILE_SIZE + 1, "%.*s" SUFFIX, (int)strlen(name) - 4, name);
}

/* Numbers of a report, and what they are called. */
#define NUMBER(name, field)                          \
	{                                            \
		name, offsetof(struct report, field) \
	}
static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	NUMBER("start", start_ms),
	NUMBER("end", end_ms),
	NUMBER("reporting_interval", interval_ms),
	NUMBER("samples_taken", samples_taken),
	NUMBER("samples_lost", samples_lost),
	NUMBER("spooled_bytes", losses.spooled_bytes),
	NUMBER("dropped_bytes", losses.dropped_bytes),
	NUMBER("full", losses.full),
	NUMBER("aged", losses.aged),
	NUMBER("refused", losses.refused),
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

int spool_note_write(struct buf *out, const struct held *held, const char *const *names,
		     unsigned int count)
{
	const struct report *report = &held->report;
	cJSON *object = cJSON_CreateObject(), *pending;
	char *text;
	int err;

	for (size_t i = 0; i < NUMBERS; i++) {
		uint64_t value;

		memcpy(&value, (const char *)report + numbers[i].offset, sizeof(value));
		cJSON_AddNumberToObject(object, numbers[i].name, (double)value);
	}
	cJSON_AddNumberToObject(object, "pid", (double)report->pid);
	cJSON_AddNumberToObject(object, "unique", (double)report->unique);
	cJSON_AddStringToObject(object, "executable", report->executable);
	cJSON_AddStringToObject(object, "engine", report->engine ? report->engine : "");
	cJSON_AddStringToObject(object, "engine_version",
				report->engine_version ? report->engine_version : "");
	cJSON_AddStringToObject(object, "group", report->group ? report->group : "");
	cJSON_AddStringToObject(object, "tags", report->tags ? report->tags : "");
	pending = cJSON_AddArrayToObject(object, "pending");
	for (unsigned int i = 0; i < count; i++)
		if (held->pending & 1u << i)
			cJSON_AddItemToArray(pending, cJSON_CreateString(names[i]));
	if (held->foreign[0])
		cJSON_AddItemToArray(pending, cJSON_CreateString(held->foreign));
	text = cJSON_PrintUnformatted(object);
	err = text ? buf_append_string(out, text) : -ENOMEM;
	cJSON_free(text);
	cJSON_Delete(object);
	return err;
}

static uint64_t number_of(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	/* 2^53 is where a double stops counting. */
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 9e15)
		return 0;
	return (uint64_t)item->valuedouble;
}

static void take_string(char *out, size_t size, const cJSON *object, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

	snprintf(out, size, "%s", text ? text : "");
}

static unsigned int bit_of(struct held *held, const char *name, const char *const *names,
			   unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return 1u << i;
	snprintf(held->foreign, sizeof(held->foreign), "%s", name);
	return 1u << count;
}

int spool_note_read(struct held *held, const char *text, size_t length, const char *const *names,
		    unsigned int count)
{
	cJSON *object = cJSON_ParseWithLength(text, length);
	const cJSON *pending = cJSON_GetObjectItemCaseSensitive(object, "pending"), *name;

	if (!cJSON_IsArray(pending)) {
		cJSON_Delete(object);
		return -EBADMSG;
	}
	for (size_t i = 0; i < NUMBERS; i++) {
		uint64_t value = number_of(object, numbers[i].name);

		memcpy((char *)&held->report + numbers[i].offset, &value, sizeof(value));
	}
	held->report.pid = (pid_t)(number_of(object, "pid") & 0x7fffffff);
	held->report.unique = (uint32_t)number_of(object, "unique");
	take_string(held->executable, sizeof(held->executable), object, "executable");
	take_string(held->engine, sizeof(held->engine), object, "engine");
	take_string(held->engine_version, sizeof(held->engine_version), object, "engine_version");
	take_string(held->group, sizeof(held->group), object, "group");
	take_string(held->tags, sizeof(held->tags), object, "tags");
	held->pending = 0;
	held->foreign[0] = '\0';
	cJSON_ArrayForEach(name, pending)
	{
		if (cJSON_IsString(name))
			held->pending |= bit_of(held, name->valuestring, names, count);
	}
	cJSON_Delete(object);
	return 0;
}

static void sweep_one(int dir, const char *note)
{
	size_t length = strlen(note);
	char recording[NAME_FILE_SIZE];
	struct stat st;
	int64_t ignored;

	if (length < strlen(SUFFIX) || length >= sizeof(recording) ||
	    strcmp(note + length - strlen(SUFFIX), SUFFIX) != 0)
		return;
	snprintf(recording, sizeof(recording), "%.*s.jfr", (int)(length - strlen(SUFFIX)), note);
	if (!name_parse(recording, &ignored) || fstatat(dir, note, &st, AT_SYMLINK_NOFOLLOW) ||
	    (int64_t)(clock_realtime_ns() / 1000000000u) - st.st_mtime < ALONE_MAX_SECONDS)
		return;
	if (faccessat(dir, recording, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
		unlinkat(dir, note, 0);
}

void spool_note_sweep(int dir)
{
	int fd = fd_raise(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (listing && (entry = readdir(listing)))
		sweep_one(dir, entry->d_name);
	if (listing)
		closedir(listing);
	else if (fd >= 0)
		close(fd);
}
