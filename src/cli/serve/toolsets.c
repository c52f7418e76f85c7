/*
 * toolsets.c - see toolsets.h.
 */
#include "cli/serve/toolsets.h"

#include <assert.h>
#include <string.h>

#include "cli/terminal/report.h"
#include "cli/terminal/suggest.h"
#include "mcp/offer.h"
#include "mcp/server.h"

/* ---- their options ----------------------------------------------------------- */

static struct cli_value_kind word_kinds[CLI_OPTIONS_MAX];
static cli_option options[CLI_OPTIONS_MAX];
static const char *option_toolsets[CLI_OPTIONS_MAX];
static size_t option_count;

static cli_values values_of(const struct fw_toolset_option *option, size_t index)
{
	switch (option->values) {
	case FW_TOOLSET_FLAG: return CLI_NOTHING;
	case FW_TOOLSET_TEXT: return CLI_TEXT;
	case FW_TOOLSET_PATH: return CLI_FILE;
	case FW_TOOLSET_PATHS: return CLI_FILES;
	case FW_TOOLSET_WORD: break;
	}
	word_kinds[index].words = option->words;
	return &word_kinds[index];
}

/* Done once: the descriptors do not change. */
static void collect_options(void)
{
	if (option_count)
		return;
	for (size_t i = 0; fw_toolsets[i]; i++) {
		for (size_t j = 0; j < fw_toolsets[i]->option_count; j++) {
			const struct fw_toolset_option *from = &fw_toolsets[i]->options[j];
			size_t at = option_count++;

			assert(at < CLI_OPTIONS_MAX);
			options[at] =
				(cli_option){ from->name, from->argument, from->short_name,
					      values_of(from, at), from->help };
			option_toolsets[at] = fw_toolsets[i]->name;
		}
	}
}

const cli_option *serve_toolset_option_at(size_t index, const char **ret_toolset)
{
	collect_options();
	if (index >= option_count)
		return NULL;
	*ret_toolset = option_toolsets[index];
	return &options[index];
}

bool serve_toolset_at(size_t index, cli_entry *ret_entry)
{
	for (size_t i = 0; fw_toolsets[i]; i++) {
		if (i != index)
			continue;
		*ret_entry = (cli_entry){ fw_toolsets[i]->name, fw_toolsets[i]->summary };
		return true;
	}
	return false;
}

/* ---- adding them --------------------------------------------------------------- */

/* Where its values begin among those of all toolsets. */
static size_t first_option_of(const struct fw_toolset *toolset)
{
	size_t first = 0;

	for (size_t i = 0; fw_toolsets[i] && fw_toolsets[i] != toolset; i++)
		first += fw_toolsets[i]->option_count;
	return first;
}

static const struct fw_toolset *find(const char *name, size_t len)
{
	for (size_t i = 0; fw_toolsets[i]; i++)
		if (strlen(fw_toolsets[i]->name) == len &&
		    memcmp(fw_toolsets[i]->name, name, len) == 0)
			return fw_toolsets[i];
	return NULL;
}

static fw_error *no_such_toolset(const char *name, size_t len)
{
	fw_error *err = cli_usage("there is no toolset \"%.*s\"", (int)len, name);
	cli_suggestions close = { .wanted = name, .wanted_len = len };

	for (size_t i = 0; fw_toolsets[i]; i++)
		cli_suggest(&close, fw_toolsets[i]->name);
	cli_suggestions_hint(&close, err);
	return err;
}

fw_contract serve_toolsets_contract(const char *list)
{
	const struct fw_toolset *only = list ? find(list, strlen(list)) : NULL;

	return only ? only->contract : FW_AUTO;
}

bool serve_toolsets_include(const char *list, fw_contract contract)
{
	while (list && *list) {
		size_t len = strcspn(list, ",");
		const struct fw_toolset *toolset = find(list, len);

		if (toolset && toolset->contract == contract)
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

const char *serve_toolsets_instructions(const char *list, const char *role)
{
	while (list && *list) {
		size_t len = strcspn(list, ",");
		const struct fw_toolset *toolset = find(list, len);
		const char *text =
			toolset && toolset->instructions ? toolset->instructions(role) : NULL;

		if (text)
			return text;
		list += len + (list[len] == ',');
	}
	return NULL;
}

static bool is_added(const struct serve_toolsets *toolsets, const struct fw_toolset *toolset)
{
	for (size_t i = 0; i < toolsets->count; i++)
		if (toolsets->added[i].toolset == toolset)
			return true;
	return false;
}

static fw_error *add(struct serve_toolsets *toolsets, const struct fw_toolset *toolset,
		     const char *const *values, const struct fw_toolset_host *host)
{
	struct fw_toolset_host own = *host;
	const struct fw_offers *tools = &own.server->offers.tools;
	size_t first = tools->count;
	void *instance = NULL;

	if (is_added(toolsets, toolset))
		return NULL;
	own.values = values + first_option_of(toolset);
	own.first_option += first_option_of(toolset);
	toolsets->failed = toolset;
	/* cppcheck-suppress returnDanglingLifetime ; an error keeps no such pointer */
	FW_TRY(toolset->add(&own, &instance));
	for (; first < tools->count; first++)
		tools->items[first]->toolset = toolset->name;
	toolsets->failed = NULL;
	toolsets->added[toolsets->count].toolset = toolset;
	toolsets->added[toolsets->count++].instance = instance;
	return NULL;
}

static fw_error *add_default(struct serve_toolsets *toolsets, const char *const *values,
			     const struct fw_toolset_host *host)
{
	for (size_t i = 0; fw_toolsets[i]; i++) {
		const struct fw_toolset *toolset = fw_toolsets[i];

		if (toolset->is_default &&
		    toolset->is_default(values + first_option_of(toolset)))
			FW_TRY(add(toolsets, toolset, values, host));
	}
	return NULL;
}

static bool is_read(const struct serve_toolsets *toolsets, const struct fw_toolset *toolset,
		    const struct fw_toolset_option *option)
{
	const char *also = option->also;

	return is_added(toolsets, toolset) ||
	       (also && is_added(toolsets, find(also, strlen(also))));
}

/* Options that no toolset of this server reads: they would have no effect. */
static fw_error *refuse_unused(const struct serve_toolsets *toolsets, const char *const *values)
{
	for (size_t i = 0; fw_toolsets[i]; i++) {
		const struct fw_toolset *toolset = fw_toolsets[i];
		const struct fw_toolset_option *option = toolset->options;

		for (size_t k = 0; k < toolset->option_count; k++, option++, values++)
			if (*values && !is_read(toolsets, toolset, option))
				return cli_usage("--%s needs the toolset \"%s\": add it to "
						 "--tools",
						 option->name, toolset->name);
	}
	return NULL;
}

static fw_error *add_listed(struct serve_toolsets *toolsets, const char *list,
			    const char *const *values, const struct fw_toolset_host *host)
{
	while (*list) {
		size_t len = strcspn(list, ",");
		const struct fw_toolset *toolset = find(list, len);

		if (!toolset)
			return no_such_toolset(list, len);
		FW_TRY(add(toolsets, toolset, values, host));
		list += len + (list[len] == ',');
	}
	return NULL;
}

fw_error *serve_toolsets_add(struct serve_toolsets *toolsets, const char *list,
			     const char *const *values, const struct fw_toolset_host *host)
{
	FW_TRY(list ? add_listed(toolsets, list, values, host)
		    : add_default(toolsets, values, host));
	return refuse_unused(toolsets, values);
}

void serve_toolsets_allow(struct serve_toolsets *toolsets, const char *path, bool may_write)
{
	assert(toolsets->path_count < SERVE_PATHS_MAX);
	toolsets->paths[toolsets->path_count++] = (struct serve_path){ path, may_write };
}

void serve_toolsets_start(const struct serve_toolsets *toolsets)
{
	for (size_t i = 0; i < toolsets->count; i++)
		if (toolsets->added[i].toolset->start)
			toolsets->added[i].toolset->start(toolsets->added[i].instance);
}

void serve_toolsets_stop(const struct serve_toolsets *toolsets)
{
	for (size_t i = 0; i < toolsets->count; i++)
		if (toolsets->added[i].toolset->stop)
			toolsets->added[i].toolset->stop(toolsets->added[i].instance);
}

/* ---- afterwards ----------------------------------------------------------------- */

void serve_toolsets_describe(const struct serve_toolsets *toolsets, const fw_outcome *outcome,
			     fw_scope *scope)
{
	for (size_t i = 0; i < toolsets->count; i++)
		if (toolsets->added[i].toolset->describe)
			toolsets->added[i].toolset->describe(toolsets->added[i].instance,
							     outcome, scope);
}

void serve_toolsets_free(struct serve_toolsets *toolsets)
{
	while (toolsets->count) {
		toolsets->count--;
		if (toolsets->added[toolsets->count].toolset->free)
			toolsets->added[toolsets->count].toolset->free(
				toolsets->added[toolsets->count].instance);
	}
}
