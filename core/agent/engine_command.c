/* Commands to an engine, and what it prints. */
#include "core/agent/engine_command.h"

#include <errno.h>
#include <string.h>

#include "core/agent/failure.h"
#include "core/log.h"

/* What one command may print; the rest is cut. */
#define OUTPUT_MAX 8192

/* Not an argument, as asprof_execute's callback has no context of its own. */
static struct {
	size_t length;
	char text[OUTPUT_MAX + 1];
} output;

static void take_output(const char *text, size_t size)
{
	size_t room = OUTPUT_MAX - output.length;

	size = size < room ? size : room;
	memcpy(output.text + output.length, text, size);
	output.length += size;
}

asprof_error_t engine_ask(const struct engine *engine, const char *command, char **answer)
{
	asprof_error_t err;

	output.length = 0;
	err = engine->execute(command, take_output);
	output.text[output.length] = '\0';
	*answer = output.text;
	return err;
}

static void log_output(const char *engine, char *rest)
{
	char *line;

	while ((line = strsep(&rest, "\n"))) {
		if (strstr(line, "[WARN]") || strstr(line, "[ERROR]"))
			log_warn("%s: %s", engine, line);
		else if (*line)
			log_info("%s: %s", engine, line);
	}
}

int engine_command(const struct engine *engine, const char *command)
{
	char *answer;
	asprof_error_t err = engine_ask(engine, command, &answer);

	log_output(engine->name, answer);
	return err ? failed(-EIO, "%s: %.*s failed: %s", engine->name, (int)strcspn(command, ","),
			    command, engine->error_str(err))
		   : 0;
}
