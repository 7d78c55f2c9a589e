/* What is known of a report in a spool beyond its recording: the file NAME.spool.json. */
#include "upload/queue/spool_note.h"

#include <cjson/cJSON.h>
#include <dirent.h>
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
#include "upload/files/dir.h"
#include "upload/files/temporary.h"
#include "upload/queue/json_object.h"
#include "upload/queue/origin.h"

#define SUFFIX ".json"
#define NOTE   ".spool" SUFFIX

#define NOTE_MAX  (64u << 10)
#define TRIES_MAX 1000

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
	NUMBER("interval", sampling.interval_ns),
	NUMBER("wall", sampling.wall_ns),
	NUMBER("nativemem", sampling.mem_bytes),
	NUMBER("samples_taken", samples_taken),
	NUMBER("samples_lost", samples_lost),
	NUMBER("spooled_bytes", losses.spooled_bytes),
	NUMBER("dropped_bytes", losses.dropped_bytes),
	NUMBER("full", losses.full),
	NUMBER("aged", losses.aged),
	NUMBER("refused", losses.refused),
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* It becomes a file's name, with more behind it. */
static bool is_file_name(const char *text)
{
	return text[0] && text[0] != '.' && !strchr(text, '/');
}

/* It becomes a part of an object's, where a '/' is as good as any; but no store, nor what copies from
 * it to a disk, is to be led upwards. */
static bool is_object_name(const char *text)
{
	bool begins = true;

	for (; *text; text++) {
		if (begins && (*text == '.' || *text == '/'))
			return false;
		begins = *text == '/';
	}
	return true;
}

/* Fits, and is fit, to be read back. */
static bool note_is_readable(const struct report *report)
{
	const char *group = report->group ? report->group : "";
	const char *tags = report->tags ? report->tags : "";
	const struct held *held = NULL;

	return is_file_name(report->executable) && is_object_name(group) &&
	       strlen(report->executable) < sizeof(held->executable) &&
	       strlen(group) < sizeof(held->group) && strlen(tags) < sizeof(held->tags);
}

static void add_pending(cJSON *object, const struct held *held, const char *const *names,
			unsigned int count, bool *failed)
{
	cJSON *pending = json_put(object, "pending", cJSON_CreateArray(), failed);

	for (unsigned int i = 0; i < count; i++)
		if (held->pending & 1u << i)
			json_put(pending, NULL, cJSON_CreateString(names[i]), failed);
	for (const char *name = held->foreign; *name; name += strlen(name) + 1)
		json_put(pending, NULL, cJSON_CreateString(name), failed);
}

/* How far a reporter is with it: which agent says so, as another may count otherwise, and numbers. */
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

/* Those of NAMES that have begun, and of others what the note said. */
static void add_begun(cJSON *object, const struct held *held, const char *const *names,
		      unsigned int count, bool *failed)
{
	static const struct report_begun nothing;
	cJSON *all = held->all_begun ? cJSON_Parse(held->all_begun) : cJSON_CreateObject();

	for (unsigned int i = 0; i < count; i++) {
		cJSON_DeleteItemFromObjectCaseSensitive(all, names[i]);
		if (held->pending & 1u << i &&
		    memcmp(&held->begun[i], &nothing, sizeof(nothing)) != 0)
			json_put(all, names[i], note_make_progress(&held->begun[i], failed),
				 failed);
	}
	if (all && !all->child)
		cJSON_Delete(all);
	else
		json_put(object, "begun", all, failed);
}

int spool_note_write(struct buf *out, const struct held *held, const char *const *names,
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
	add_pending(object, held, names, count, &failed);
	add_begun(object, held, names, count, &failed);
	object = json_finish(object, failed);
	text = object ? cJSON_PrintUnformatted(object) : NULL;
	err = text ? buf_append_string(out, text) : -ENOMEM;
	cJSON_free(text);
	cJSON_Delete(object);
	return err;
}

int spool_note_save(int dir, const struct held *held, const char *const *names, unsigned int count,
		    char temporary[NAME_FILE_SIZE])
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

/* The note takes the name first: a recording that is there has its note. */
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

static uint64_t note_number(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	/* 2^53 is where a double stops counting. */
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 9e15)
		return 0;
	return (uint64_t)item->valuedouble;
}

/* Texts of a report, where they are kept, and what they are called. */
#define TEXT(field)                                                                        \
	{                                                                                  \
#field, offsetof(struct held, field), sizeof(((struct held *)NULL)->field) \
	}
static const struct {
	const char *name;
	size_t offset, size;
} texts[] = {
	TEXT(executable), TEXT(engine), TEXT(engine_version), TEXT(group), TEXT(tags),
};

static int note_read_texts(struct held *held, const cJSON *object)
{
	bool fit = true;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = cJSON_GetStringValue(
			cJSON_GetObjectItemCaseSensitive(object, texts[i].name));

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

static int take_pending(struct held *held, const cJSON *pending, const char *const *names,
			unsigned int count)
{
	size_t used = 0, length;
	const cJSON *name;

	held->pending = 0;
	memset(held->foreign, 0, sizeof(held->foreign));
	cJSON_ArrayForEach(name, pending)
	{
		const char *text = cJSON_GetStringValue(name);
		unsigned int i = 0;

		while (text && i < count && strcmp(names[i], text) != 0)
			i++;
		if (!text || !text[0])
			return -EBADMSG;
		held->pending |= 1u << i;
		if (i < count)
			continue;
		length = strlen(text) + 1;
		if (length >= sizeof(held->foreign) - used)
			return -EBADMSG;
		memcpy(held->foreign + used, text, length);
		used += length;
	}
	return 0;
}

/* One that cannot be read, or is another agent's, has begun nobody knows where. */
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

static int note_read_reporters(struct held *held, const cJSON *all, const char *const *names,
			       unsigned int count)
{
	if (!cJSON_IsObject(all))
		return 0;
	for (unsigned int i = 0; i < count; i++) {
		const cJSON *entry = cJSON_GetObjectItemCaseSensitive(all, names[i]);

		if (entry)
			held->begun[i] = note_parse_progress(entry);
	}
	held->all_begun = cJSON_PrintUnformatted(all);
	return held->all_begun ? 0 : -ENOMEM;
}

/* Its machine becomes a part of an object's name too. */
static int take_origin(struct held *held, const cJSON *object)
{
	const cJSON *origin = cJSON_GetObjectItemCaseSensitive(object, "origin");
	const cJSON *machine = cJSON_GetObjectItemCaseSensitive(origin, "machine");
	int err;

	if (!cJSON_IsObject(origin) ||
	    (cJSON_IsString(machine) && !is_file_name(machine->valuestring)))
		return -EBADMSG;
	held->origin = cJSON_PrintUnformatted(origin);
	held->report.origin = held->origin;
	if (!held->origin)
		return -ENOMEM;
	err = origin_version(held->version, origin);
	held->report.version = held->version[0] ? held->version : NULL;
	return err;
}

int spool_note_read(struct held *held, const char *text, size_t length, const char *const *names,
		    unsigned int count)
{
	cJSON *object = cJSON_ParseWithLength(text, length);
	const cJSON *pending = cJSON_GetObjectItemCaseSensitive(object, "pending");
	int err;

	memset(held, 0, sizeof(*held));
	for (size_t i = 0; i < NUMBERS; i++) {
		uint64_t value = note_number(object, numbers[i].name);

		memcpy((char *)&held->report + numbers[i].offset, &value, sizeof(value));
	}
	held->report.pid = (pid_t)(note_number(object, "pid") & 0x7fffffff);
	held->report.unique = (uint32_t)note_number(object, "unique");
	held->report.recovered =
		cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "recovered"));
	err = cJSON_IsArray(pending) ? take_pending(held, pending, names, count) : -EBADMSG;
	if (!err)
		err = note_read_texts(held, object);
	if (!err)
		err = note_read_reporters(held, cJSON_GetObjectItemCaseSensitive(object, "begun"),
					  names, count);
	if (!err)
		err = take_origin(held, object);
	cJSON_Delete(object);
	return err;
}

void spool_note_free(struct held *held)
{
	free(held->origin);
	free(held->all_begun);
	held->origin = held->all_begun = NULL;
	held->report.origin = NULL;
}

bool is_trusted(const struct stat *file)
{
	return S_ISREG(file->st_mode) && file->st_uid == geteuid() && file->st_nlink == 1;
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
	int fd = fd_raise(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (listing && (entry = readdir(listing)))
		note_sweep(dir, entry->d_name);
	if (listing)
		closedir(listing);
	else if (fd >= 0)
		close(fd);
}
