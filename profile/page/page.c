/* Frame of a self-contained HTML page. */
#include "profile/page/page.h"

#include <stdlib.h>
#include <string.h>

#include "engine/jfr/jfr_types.h"
#include "profile/aggregate/frame_category.h"
#include "profile/aggregate/wait.h"
#include "profile/basics/text.h"

PAGE_EMBED(page_style, "profile/page/page.css");
PAGE_EMBED(page_script, "profile/page/page.js");
PAGE_EMBED(page_stacks_script, "profile/page/stacks.js");
PAGE_EMBED(page_states_script, "profile/page/states.js");
PAGE_EMBED(page_graph_script, "profile/page/graph.js");
PAGE_EMBED(page_header, "profile/page/header.html");
PAGE_EMBED(page_graph, "profile/page/graph.html");

/* Inline scripts and styles only. Trusted types refuse HTML from strings. */
#define POLICY                                                                        \
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " \
	"base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "   \
	"trusted-types 'none'"

/* Write TEXT, without what moves a terminal: the page may be printed on one. */
static void html_write_text(FILE *file, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return;
	text_clean_string(copy);
	for (const char *p = copy; *p; p++)
		if (*p == '<')
			fputs("&lt;", file);
		else if (*p == '&')
			fputs("&amp;", file);
		else
			fputc(*p, file);
	free(copy);
}

void page_write_start(FILE *file, const char *title, const char *style)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"" POLICY "\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
	      file);
	html_write_text(file, title);
	fprintf(file, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", page_style,
		style ? style : "");
}

/* The numbers and names of types and categories of frames, for stacks.js and graph.js. */
static void page_write_frame_types(FILE *file)
{
	fprintf(file,
		"const KERNEL = %d, SCRIPT = %d, INLINED = %d, JAVA_TYPES = new Set([%d, %d, %d, "
		"%d]);\n",
		JFR_FRAME_KERNEL, JFR_FRAME_PYTHON, JFR_FRAME_INLINED, JFR_FRAME_INTERPRETED,
		JFR_FRAME_JIT, JFR_FRAME_INLINED, JFR_FRAME_C1);
	fputs("const TYPE_NAMES = {", file);
	for (size_t i = 0; i < jfr_constant_count; i++)
		if (jfr_constants[i].type == JFR_T_FRAME_TYPE)
			fprintf(file, "%u: '%s', ", (unsigned)jfr_constants[i].key,
				jfr_constants[i].name);
	fputs("};\nconst CATEGORIES = [", file);
	for (unsigned i = 0; i < FRAME_CATEGORIES; i++)
		fprintf(file, "'%s', ", frame_category_names[i]);
	fputs("];\n", file);
}

/* The class of each cause of waits, for states.js. */
static void page_write_causes(FILE *file)
{
	fputs("const CAUSE_CLASSES = {", file);
	for (unsigned i = 0; i < WAIT_CAUSES; i++)
		fprintf(file, "%s'%s': '%s'", i ? ", " : "", jfr_wait_causes[i],
			jfr_wait_classes[jfr_wait_class_of[i]]);
	fputs("};\n", file);
}

void page_write_scripts(FILE *file, const char *const *scripts)
{
	fputs("<script>\n'use strict';\n", file);
	page_write_frame_types(file);
	fprintf(file, "%s%s", page_script, page_stacks_script);
	page_write_causes(file);
	fprintf(file, "%s%s", page_states_script, page_graph_script);
	for (; *scripts; scripts++)
		fputs(*scripts, file);
	fputs("</script>\n", file);
}

void page_write_end(FILE *file)
{
	fputs("</body>\n</html>\n", file);
}

void page_json_start(FILE *file, const char *id)
{
	fprintf(file, "<script id=\"%s\" type=\"application/json\">", id);
}

void page_json_end(FILE *file)
{
	fputs("</script>\n", file);
}

void page_json_string(FILE *file, const char *string)
{
	char *copy = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&copy, &size);

	if (!memory)
		return;
	json_string(memory, string);
	if (fclose(memory))
		size = 0;
	for (size_t i = 0; i < size; i++)
		if (copy[i] == '<')
			fputs("\\u003c", file);
		else
			fputc(copy[i], file);
	free(copy);
}
