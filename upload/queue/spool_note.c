/* The note of a report in a spool: the file NAME.spool.json. */
#include "upload/queue/spool_note.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/options/option_value.h"
#include "upload/files/dir.h"
#include "upload/files/temporary.h"
#include "upload/queue/json_object.h"
#include "upload/queue/origin.h"

#define SUFFIX ".json"
#define NOTE   ".spool" SUFFIX

#define NOTE_MAX  (64u << 10)
#define TRIES_MAX 1000

/* A note exists for a moment before its recording. */
#define ALONE_MAX_SECONDS 60

void spool_note_name(char out[NAME_FILE_SIZE + 1], const char *name)
{
	snprintf(out, NAME_FILE_SIZE + 1, "%.*s" SUFFIX, (int)strlen(name) - 4, name);
}

/* Numbers of a report and their JSON keys. */
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
	NUMBER("profiled_since", profiled_since_ms),
	NUMBER("interval", sampling.interval_ns),
	NUMBER("wall", sampling.wall_ns),
	NUMBER("nativemem", sampling.mem_bytes),
	NUMBER("samples_taken", samples_taken),
	NUMBER("samples_lost", samples_lost),
	NUMBER("spooled_bytes", losses.spooled_bytes),
	NUMBER("dropped_bytes", losses.dropped_bytes),
	NUMBER("full", losses.dropped_full),
	NUMBER("aged", losses.dropped_aged),
	NUMBER("refused", losses.dropped_refused),
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* name_file() makes a file name of it, and replaces a dot at its start. */
static bool is_base_name(const char *text)
{
	return text[0] && !strchr(text, '/');
}

/* It becomes a file name, with a suffix. */
static bool is_file_name(const char *text)
{
	return is_base_name(text) && text[0] != '.';
}

/* True if spool_note_parse() accepts it. */
static bool note_is_readable(const struct report *report)
{
	const char *group = report->group ? report->group : "";
	const char *tags = report->tags ? report->tags : "";
	const struct stored_report *held = NULL;

	return is_base_name(report->executable) && check_object_name(group) &&
	       strlen(report->executable) < sizeof(held->executable) &&
	       strlen(group) < sizeof(held->group) && strlen(tags) < sizeof(held->tags);
}

/* Progress of a reporter as JSON: the agent's version, because versions may count differently,
 * then numbers. */
static cJSON *note_make_progress(const struct report_begun *begun, bool *failed)
{
	const uint32_t values[] = { begun->kind, begun->from, begun->step, begun->count,
				    begun->doubt };
	cJSON *entry = cJSON_CreateArray();

	json_put(entry, NULL, cJSON_CreateString(ASPROF_AGENT_VERSION), failed);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		json_put(entry, NULL, cJSON_CreateNumber(values[i]), failed);
	return entry;
}

static cJSON *note_get(const struct stored_report *held, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(held->note, key);
}

static void note_remove_name(cJSON *pending, const char *name)
{
	cJSON *next;

	for (cJSON *item = pending ? pending->child : NULL; item; item = next) {
		next = item->next;
		if (!strcmp(item->valuestring, name))
			cJSON_Delete(cJSON_DetachItemViaPointer(pending, item));
	}
}

/* Add the pending reporters and the progress of each. Entries of other processes stay as they were
 * read. */
static void note_add_reporters(cJSON *object, const struct stored_report *held,
			       const char *const *names, unsigned int count, bool *failed)
{
	static const struct report_begun nothing;
	cJSON *pending =
		held->note ? cJSON_Duplicate(note_get(held, "pending"), true) : cJSON_CreateArray();
	cJSON *begun = note_get(held, "begun");

	pending = json_put(object, "pending", pending, failed);
	begun = json_put(object, "begun",
			 cJSON_IsObject(begun) ? cJSON_Duplicate(begun, true)
					       : cJSON_CreateObject(),
			 failed);
	for (unsigned int i = 0; i < count; i++) {
		note_remove_name(pending, names[i]);
		cJSON_DeleteItemFromObjectCaseSensitive(begun, names[i]);
		if (!(held->pending & 1u << i))
			continue;
		json_put(pending, NULL, cJSON_CreateString(names[i]), failed);
		if (memcmp(&held->begun[i], &nothing, sizeof(nothing)) != 0)
			json_put(begun, names[i], note_make_progress(&held->begun[i], failed),
				 failed);
	}
	if (begun && !begun->child)
		cJSON_DeleteItemFromObjectCaseSensitive(object, "begun");
}

int spool_note_write(struct buf *out, const struct stored_report *held, const char *const *names,
		     unsigned int count)
{
	const struct report *report = &held->report;
	bool failed = false;
	cJSON *object;
	char *text;
	int err;

	if (!note_is_readable(report))
		return -EINVAL;
	object = cJSON_CreateObject();
	for (size_t i = 0; i < NUMBERS; i++) {
		uint64_t value;

		memcpy(&value, (const char *)report + numbers[i].offset, sizeof(value));
		json_put_number(object, numbers[i].name, (double)value, &failed);
	}
	json_put_number(object, "pid", (double)report->pid, &failed);
	json_put_number(object, "unique", (double)report->unique, &failed);
	json_put_string(object, "executable", report->executable, &failed);
	json_put_string(object, "engine", report->engine, &failed);
	json_put_string(object, "engine_version", report->engine_version, &failed);
	json_put_string(object, "group", report->group, &failed);
	json_put_string(object, "tags", report->tags, &failed);
	if (report->recovered)
		json_put(object, "recovered", cJSON_CreateTrue(), &failed);
	json_put(object, "origin", report->origin ? cJSON_Parse(report->origin) : origin_note(),
		 &failed);
	note_add_reporters(object, held, names, count, &failed);
	object = json_finish(object, failed);
	text = object ? cJSON_PrintUnformatted(object) : NULL;
	err = text ? buf_append_string(out, text) : -ENOMEM;
	cJSON_free(text);
	cJSON_Delete(object);
	return err;
}

int spool_note_save(int dir, const struct stored_report *held, const char *const *names,
		    unsigned int count, char temporary[NAME_FILE_SIZE])
{
	struct buf text = BUF_INIT(NOTE_MAX);
	int fd, err;

	fd = temporary_create(dir, 0600, temporary);
	if (fd < 0)
		return fd;
	err = spool_note_write(&text, held, names, count);
	if (!err)
		err = fd_write(fd, text.data, text.length, -1);
	buf_free(&text);
	return temporary_close(dir, temporary, fd, err);
}

/* Rename the note first: then each recording has a note. */
int spool_note_join(int dir, const struct report *report, const char *note, const char *recording,
		    char name[NAME_FILE_SIZE])
{
	char json[NAME_FILE_SIZE + 1];
	int err = -EEXIST;

	for (unsigned int try = 0; err == -EEXIST && try < TRIES_MAX; try++) {
		name_file(name, report, NAME_SPOOLED, try);
		spool_note_name(json, name);
		err = dir_rename_new(dir, note, json);
	}
	if (!err) {
		err = dir_rename_new(dir, recording, name);
		if (err)
			unlinkat(dir, json, 0);
	}
	return err;
}

static uint64_t note_number(const struct stored_report *held, const char *name)
{
	const cJSON *item = note_get(held, name);

	/* 2^53, the limit of exact integers in a double. */
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 9e15)
		return 0;
	return (uint64_t)item->valuedouble;
}

/* Strings of a report: JSON key and member of struct stored_report. */
#define TEXT(field)                                                   \
	{                                                             \
#field, offsetof(struct stored_report, field),        \
			sizeof(((struct stored_report *)NULL)->field) \
	}
static const struct {
	const char *name;
	size_t offset, size;
} texts[] = {
	TEXT(executable), TEXT(engine), TEXT(engine_version), TEXT(group), TEXT(tags),
};

static int note_read_texts(struct stored_report *held)
{
	bool fit = true;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = cJSON_GetStringValue(note_get(held, texts[i].name));

		fit = snprintf((char *)held + texts[i].offset, texts[i].size, "%s",
			       text ? text : "") < (int)texts[i].size &&
		      fit;
	}
	held->report.executable = held->executable;
	held->report.engine = held->engine;
	held->report.engine_version = held->engine_version;
	held->report.group = held->group[0] ? held->group : NULL;
	held->report.tags = held->tags;
	return fit && note_is_readable(&held->report) ? 0 : -EBADMSG;
}

/* An unreadable entry, or one of another version, leaves the whole report in doubt. */
static struct report_begun note_parse_progress(const cJSON *entry)
{
	const char *version = cJSON_GetStringValue(cJSON_GetArrayItem(entry, 0));
	struct report_begun begun = { .doubt = DOUBT_ALL };
	uint32_t *const values[] = { &begun.kind, &begun.from, &begun.step, &begun.count,
				     &begun.doubt };

	if (!version || strcmp(version, ASPROF_AGENT_VERSION) != 0)
		return begun;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const cJSON *item = cJSON_GetArrayItem(entry, (int)i + 1);

		if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) ||
		    item->valuedouble > UINT32_MAX)
			return (struct report_begun){ .doubt = DOUBT_ALL };
		*values[i] = (uint32_t)item->valuedouble;
	}
	return begun;
}

static int note_read_reporters(struct stored_report *held, const char *const *names,
			       unsigned int count)
{
	const cJSON *pending = note_get(held, "pending"), *begun = note_get(held, "begun"), *name;

	if (!cJSON_IsArray(pending))
		return -EBADMSG;
	cJSON_ArrayForEach(name, pending)
	{
		unsigned int i = 0;

		if (!cJSON_IsString(name))
			return -EBADMSG;
		while (i < count && strcmp(names[i], name->valuestring) != 0)
			i++;
		held->pending |= 1u << i;
	}
	for (unsigned int i = 0; i < count; i++) {
		const cJSON *entry = cJSON_GetObjectItemCaseSensitive(begun, names[i]);

		if (entry)
			held->begun[i] = note_parse_progress(entry);
	}
	return 0;
}

/* The machine name becomes part of an object's key, too. */
static int note_read_origin(struct stored_report *held)
{
	const cJSON *origin = note_get(held, "origin");
	const cJSON *machine = cJSON_GetObjectItemCaseSensitive(origin, "machine");
	int err;

	if (!cJSON_IsObject(origin) ||
	    (cJSON_IsString(machine) && !is_file_name(machine->valuestring)))
		return -EBADMSG;
	held->origin = cJSON_PrintUnformatted(origin);
	held->report.origin = held->origin;
	if (!held->origin)
		return -ENOMEM;
	origin_hostname(held->host, origin);
	held->report.host = held->host[0] ? held->host : NULL;
	err = origin_version(held->version, origin);
	held->report.version = held->version[0] ? held->version : NULL;
	return err;
}

int spool_note_parse(struct stored_report *held, const char *text, size_t length,
		     const char *const *names, unsigned int count)
{
	int err;

	memset(held, 0, sizeof(*held));
	held->note = cJSON_ParseWithLength(text, length);
	for (size_t i = 0; i < NUMBERS; i++) {
		uint64_t value = note_number(held, numbers[i].name);

		memcpy((char *)&held->report + numbers[i].offset, &value, sizeof(value));
	}
	held->report.pid = (pid_t)(note_number(held, "pid") & 0x7fffffff);
	held->report.unique = (uint32_t)note_number(held, "unique");
	held->report.recovered = cJSON_IsTrue(note_get(held, "recovered"));
	err = note_read_reporters(held, names, count);
	if (!err)
		err = note_read_texts(held);
	return err ? err : note_read_origin(held);
}

int spool_note_read(struct stored_report *held, int fd, off_t at, off_t length,
		    const char *const *names, unsigned int count)
{
	struct buf text = BUF_INIT(NOTE_MAX);
	int err = length > NOTE_MAX ? -EBADMSG : buf_reserve(&text, (size_t)length);

	memset(held, 0, sizeof(*held));
	if (!err)
		err = fd_read(fd, text.data, (size_t)length, at);
	if (!err)
		err = spool_note_parse(held, (const char *)text.data, (size_t)length, names, count);
	buf_free(&text);
	return err == -ENODATA ? -EBADMSG : err;
}

const cJSON *spool_note_pending(const struct stored_report *held)
{
	return note_get(held, "pending");
}

void spool_note_free(struct stored_report *held)
{
	free(held->origin);
	cJSON_Delete(held->note);
	held->origin = NULL;
	held->note = NULL;
	held->report.origin = NULL;
}

static bool is_trusted(const struct stat *file)
{
	return S_ISREG(file->st_mode) && file->st_uid == geteuid() && file->st_nlink == 1;
}

int spool_note_open(int dir, const char *name, struct stat *st)
{
	static const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd = fd_raise(openat(dir, name, O_RDWR | flags)), err;

	/* It can be read nevertheless, as in a read-only copy of a spool. */
	if (fd < 0)
		fd = fd_raise(openat(dir, name, O_RDONLY | flags));
	if (fd < 0)
		return fd;
	err = fstat(fd, st) ? -errno : is_trusted(st) ? 0 : -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static void note_sweep(int dir, const char *note)
{
	size_t length = strlen(note);
	char recording[NAME_FILE_SIZE];
	struct stat st;
	int64_t ignored;

	if (length < strlen(NOTE) || length >= sizeof(recording) ||
	    strcmp(note + length - strlen(NOTE), NOTE) != 0)
		return;
	snprintf(recording, sizeof(recording), "%.*s.jfr", (int)(length - strlen(SUFFIX)), note);
	if (!name_parse(recording, NAME_SPOOLED, &ignored) ||
	    fstatat(dir, note, &st, AT_SYMLINK_NOFOLLOW) || !is_trusted(&st) ||
	    (int64_t)(clock_realtime_ns() / 1000000000u) - st.st_mtime < ALONE_MAX_SECONDS)
		return;
	if (faccessat(dir, recording, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
		unlinkat(dir, note, 0);
}

void spool_note_sweep(int dir)
{
	int err;
	DIR *listing = dir_list(dir, &err);
	struct dirent *entry;

	while (listing && (entry = readdir(listing)))
		note_sweep(dir, entry->d_name);
	if (listing)
		closedir(listing);
}
