/* Commands to an engine, and what it prints in answer. */
#include "core/agent/engine_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/agent/failure.h"
#include "core/log.h"

/* What one command may print; the rest is cut. */
#define OUTPUT_MAX 8192

/* Not an argument, as asprof_execute's callback has no context of its own. */
static struct buf output = BUF_INIT(OUTPUT_MAX);

static void take_output(const char *text, size_t size)
{
	size_t room = output.max - 1 - output.length;

	buf_append(&output, text, size < room ? size : room);
}

static void log_output(const char *engine)
{
	char *rest = (char *)buf_string(&output), *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		if (strstr(line, "[WARN]") || strstr(line, "[ERROR]"))
			log_warn("%s: %s", engine, line);
		else if (*line)
			log_info("%s: %s", engine, line);
	}
}

int engine_ask(const struct engine *engine, const char *question)
{
	asprof_error_t err;

	buf_reset(&output);
	err = engine->execute(question, take_output);
	if (!err)
		return 0;
	log_output(engine->name);
	return failed(-EIO, "%s: %.*s failed: %s", engine->name, (int)strcspn(question, ","),
		      question, engine->error_str(err));
}

int engine_command(const struct engine *engine, const char *command)
{
	int err = engine_ask(engine, command);

	if (!err)
		log_output(engine->name);
	return err;
}

const char *engine_answer_line(size_t *length)
{
	const char *text = buf_string(&output);

	*length = text ? strcspn(text, "\n") : 0;
	return text;
}

uint64_t engine_answer_number(const char *name)
{
	const char *text = buf_string(&output);
	size_t length = strlen(name);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, name, length) && text[length] == ' ')
			return strtoull(text + length, NULL, 10);
	}
	return 0;
}

void engine_answer_free(void)
{
	buf_free(&output);
}

void engine_answer_forget(void)
{
	output = (struct buf)BUF_INIT(OUTPUT_MAX);
}
