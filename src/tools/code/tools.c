/*
 * tools.c - the list of tools: names, descriptions, schemas, operations and empty
 * results.
 *
 * The contract adds the tool's empty result to each of its errors, so that an error has
 * the shape of a result. The operation becomes the `instance` of the problem, a field of
 * log lines and a label of metrics.
 */
#include "tools/code/code.h"

#include "tools/code/semantic/tools.h"

#include "tools/toolset.h"

#include <faultwire/raise.h>

/* Generated from schemas/. */
extern const struct fw_toolset_file fw_code_schemas[];

struct listed {
	const char *name;
	const char *title;
	const char *description;
	const char *operation;
	const char *empty_result;
	fw_handler *handler;
};

static const struct listed file_tools[] = {
	{ "open_file", "Open a file",
	  "Gives the text of a file of the repository, or a range of its lines; at most 2 MiB. "
	  "outline shows which lines a definition has.",
	  "files:open_file", "{\"path\":\"\",\"content\":\"\",\"lines\":0,\"size\":0}",
	  fw_code_open_file },
	{ "list_paths", "List paths",
	  "Lists the files of the repository, or of one folder, by globs. Leaves out what "
	  ".gitignore and .ignore name, and folders such as .git and node_modules. total is "
	  "the number of all paths that fit; if truncated, narrow the globs or raise "
	  "max_results.",
	  "files:list_paths", "{\"items\":[],\"total\":0,\"truncated\":false}",
	  fw_code_list_paths },
	{ "search_text", "Search text",
	  "Finds lines that contain a text or match a regular expression (PCRE2, one line at "
	  "a time), in the files that list_paths lists. Ignores case unless case_sensitive is "
	  "true. Use it for names and texts that you know, semantic_search for questions. "
	  "total "
	  "is the number of all matching lines; if truncated, narrow paths or raise "
	  "max_results.",
	  "search:text", "{\"matches\":[],\"total\":0,\"truncated\":false}",
	  fw_code_search_text },
};

static const struct listed symbol_tools[] = {
	{ "find_symbol", "Find a symbol",
	  "Finds where functions, classes, types and the like are defined, by their name or "
	  "a part of it, in any case; exact names first. Definitions are recognized by the "
	  "look "
	  "of lines, in about twenty languages. find_references finds their uses.",
	  "semantic:find_symbol", "{\"symbols\":[],\"total\":0,\"truncated\":false}",
	  fw_semantic_find_symbol },
	{ "outline", "Outline a file",
	  "Lists what a file defines, with kinds and first and last lines: its functions, "
	  "classes, types, headings. Cheaper than to read the file; open_file then gives the "
	  "lines.",
	  "semantic:outline", "{\"path\":\"\",\"symbols\":[],\"lines\":0}",
	  fw_semantic_outline },
	{ "find_references", "Find references",
	  "Finds lines that have a name as a whole word: definitions first, then calls, "
	  "other uses, mentions in comments. By text, not by scope: two things with one name "
	  "are not distinguished.",
	  "semantic:find_references", "{\"references\":[],\"total\":0,\"truncated\":false}",
	  fw_semantic_find_references },
};

static const struct listed semantic_tools[] = {
	{ "semantic_search", "Search by meaning",
	  "Finds the parts of files that fit a question or a description best, by words, "
	  "names, past commits and similarity, with the reasons. answer quotes the best ones "
	  "with their places; confidence is how likely the first finding is the right file. "
	  "For a name or a text that you know, search_text and find_symbol are exact.",
	  "semantic:search", "{\"findings\":[],\"answer\":\"\",\"confidence\":0.0}",
	  fw_semantic_search },
};

static const struct listed git_tools[] = {
	{ "blame_range", "Blame lines",
	  "Tells for each line of a range which commit changed it last: hash, author, date and "
	  "subject. Lines are those of the commit HEAD: changes that are not committed are not "
	  "seen.",
	  "git:blame_range", "{\"blame\":[]}", fw_code_blame_range },
	{ "file_history", "File history",
	  "Lists the commits that changed a file, newest first, also from before it was "
	  "renamed.",
	  "git:file_history", "{\"commits\":[]}", fw_code_file_history },
};

static fw_error *add(fw_server *server, struct fw_code_set *code, const struct listed *listed,
		     size_t count, const struct fw_code_runs *runs)
{
	for (size_t i = 0; i < count; i++) {
		fw_tool tool = FW_TOOL_INIT;

		tool.name = listed[i].name;
		tool.title = listed[i].title;
		tool.description = listed[i].description;
		tool.input_schema = fw_toolset_input_schema(fw_code_schemas, tool.name);
		tool.output_schema = fw_toolset_output_schema(fw_code_schemas, tool.name);
		tool.annotations = "{\"readOnlyHint\":true,\"idempotentHint\":true,"
				   "\"openWorldHint\":false}";
		tool.empty_result = listed[i].empty_result;
		tool.operation = listed[i].operation;
		tool.handler = listed[i].handler;
		tool.ctx = code;
		tool.run = runs->run;
		tool.contract = FW_CODEINTEL;
		tool.workers = runs->workers;
		FW_TRY(fw_server_add_tool(server, &tool));
	}
	return NULL;
}

fw_error *fw_code_add(fw_server *server, struct fw_code_set *code,
		      const struct fw_code_runs *files, const struct fw_code_runs *git,
		      const struct fw_code_runs *semantic)
{
	FW_TRY(add(server, code, file_tools, sizeof file_tools / sizeof *file_tools, files));
	FW_TRY(add(server, code, semantic_tools, sizeof semantic_tools / sizeof *semantic_tools,
		   semantic));
	FW_TRY(add(server, code, symbol_tools, sizeof symbol_tools / sizeof *symbol_tools,
		   files));
	return add(server, code, git_tools, sizeof git_tools / sizeof *git_tools, git);
}
