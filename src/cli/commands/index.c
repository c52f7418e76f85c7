/*
 * index.c - the semantic index of repositories: build, status, drop.
 */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "base/clock.h"
#include "cli/state.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/report.h"
#include "tools/code/indexer.h"
#include "tools/code/semantic/semantic.h"

enum { REPO, THREADS, JSON };

static const cli_option options[] = {
	[REPO] = { "repo", "DIR", 'r', CLI_FILES,
		   "The repository, by default the current directory; may be repeated." },
	[THREADS] = { "threads", "N", 0, CLI_TEXT,
		      "build: number of threads, at most 8; by default one per CPU." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "Print JSON." },
};

struct place {
	char repo[FW_PATH_SIZE];
	char directory[FW_PATH_SIZE];
};

struct embedding {
	struct fw_semantic_embedder embedder;
	bool is_set;
};

static fw_error *find_place(const char *path, struct place *ret_place)
{
	char state[CLI_PATH_SIZE];
	struct fw_root root = FW_ROOT_INIT;

	FW_TRY(cli_state_path("", true, state));
	if (!state[0])
		return cli_usage("there is no state directory: HOME is not set");
	FW_TRY(fw_root_open_any(path, &root));
	memcpy(ret_place->repo, root.path, sizeof ret_place->repo);
	fw_root_close(&root);
	return fw_semantic_directory(state, ret_place->repo, ret_place->directory);
}

static const char *repo_at(const cli_args *args, size_t index)
{
	size_t count = 0;

	for (size_t i = 0; i < args->file_count; i++)
		if (args->files[i].option == REPO && count++ == index)
			return args->files[i].value;
	return count || index ? NULL : ".";
}

/* ---- build -------------------------------------------------------------------- */

static void on_progress(void *ctx, enum fw_semantic_phase phase, uint64_t done, uint64_t total,
			uint64_t bytes)
{
	static const char *const names[] = { "reading files", "reading history", "embedding",
					     "analysing", "writing" };
	enum fw_semantic_phase *shown = ctx;

	(void)bytes;
	if (*shown != phase) {
		*shown = phase;
		cli_progress_stop();
		cli_progress_count(names[phase], "files");
	}
	cli_progress_total(total);
	cli_progress_step(done, done);
}

static void put_built(const struct place *place, const struct fw_semantic_build *build,
		      bool json)
{
	double megabytes = (double)build->source_bytes / 1e6;

	if (json) {
		cli_json_open(NULL, '{');
		cli_json_string("repo", place->repo);
		cli_json_bool("unchanged", build->is_unchanged);
		cli_json_number("files", (int64_t)build->files);
		cli_json_number("chunks", (int64_t)build->chunks);
		cli_json_number("commits", (int64_t)build->commits);
		cli_json_number("changed_files", (int64_t)build->changed);
		cli_json_number("source_bytes", (int64_t)build->source_bytes);
		cli_json_number("index_bytes", (int64_t)build->index_bytes);
		cli_json_number("ms", (int64_t)build->ms);
		cli_json_close('}');
		cli_json_line_end();
	} else if (build->is_unchanged) {
		cli_printf("unchanged: %zu files, %.1f MB\n", build->files, megabytes);
	} else {
		cli_printf("built: %zu files, %.1f MB, %zu chunks, %zu commits, in %.1f s\n",
			   build->files, megabytes, build->chunks, build->commits,
			   (double)build->ms / 1000);
	}
}

static fw_error *build_one(const struct place *place, const struct embedding *embedding,
			   unsigned threads, struct fw_semantic_build *ret_build)
{
	enum fw_semantic_phase phase = FW_SEMANTIC_READING;
	fw_error *err;

	*ret_build = (struct fw_semantic_build){
		.repo = place->repo,
		.directory = place->directory,
		.embedder = embedding->is_set ? &embedding->embedder : NULL,
		.threads = threads,
		.is_cancelled = cli_is_interrupted,
		.progress = on_progress,
		.ctx = &phase,
	};
	FW_TRY(fw_semantic_directory_make(place->directory));
	cli_interrupt_watch();
	cli_progress_count("reading files", "files");
	err = fw_semantic_build(ret_build);
	cli_progress_stop();
	return err;
}

static fw_error *build(const cli_args *args, int *ret_status)
{
	struct embedding embedding;
	const char *path;
	unsigned threads;

	FW_TRY(cli_threads_read(args->values[THREADS], &threads));
	FW_TRY(fw_semantic_embedder_read(&embedding.embedder, &embedding.is_set));
	for (size_t i = 0; (path = repo_at(args, i)); i++) {
		struct fw_semantic_build result;
		struct place place;

		FW_TRY(find_place(path, &place));
		FW_TRY(build_one(&place, &embedding, threads, &result));
		if (result.is_cancelled_early) {
			*ret_status = 130;
			return NULL;
		}
		put_built(&place, &result, cli_given(args, JSON));
	}
	return NULL;
}

/* ---- status and drop -------------------------------------------------------------- */

/* The index of search_text, which the server keeps by itself. */
static bool find_search(const struct place *place, struct fw_board_facts *ret_facts)
{
	char state[CLI_PATH_SIZE];
	fw_error *err = cli_state_path("", false, state);

	if (!err)
		return fw_indexer_status(state, place->repo, ret_facts);
	fw_error_free(err);
	return false;
}

static void put_search(const struct place *place)
{
	struct fw_board_facts facts;

	if (find_search(place, &facts))
		cli_printf("search      %s, %llu of %llu files, %.1f MB\n",
			   fw_board_state_name(facts.state),
			   (unsigned long long)facts.files_read,
			   (unsigned long long)facts.files, (double)facts.index_bytes / 1e6);
}

static void put_search_json(const struct place *place)
{
	struct fw_board_facts facts;

	if (!find_search(place, &facts))
		return;
	cli_json_open("search", '{');
	cli_json_string("state", fw_board_state_name(facts.state));
	cli_json_number("files", (int64_t)facts.files);
	cli_json_number("files_read", (int64_t)facts.files_read);
	cli_json_number("index_bytes", (int64_t)facts.index_bytes);
	cli_json_close('}');
}

static void put_status(const struct place *place, const struct fw_semantic_status *s)
{
	char time[FW_TIME_SIZE] = "";

	cli_printf("repository  %s\n", place->repo);
	cli_printf("state       %s\n", fw_semantic_state_name(s->state));
	put_search(place);
	if (!s->index_bytes)
		return;
	(void)fw_time_text(s->created_ms, time);
	cli_printf("built       %s\n", time);
	cli_printf("files       %zu, %.1f MB\n", s->files, (double)s->source_bytes / 1e6);
	cli_printf("chunks      %zu\n", s->chunks);
	cli_printf("commits     %zu\n", s->commits);
	cli_printf("embedder    %s, %zu dimensions\n", s->embedder, s->dims);
	cli_printf("index       %.1f MB, and %.1f MB for the next build\n",
		   (double)s->index_bytes / 1e6, (double)s->data_bytes / 1e6);
}

static void put_status_json(const struct place *place, const struct fw_semantic_status *s)
{
	char time[FW_TIME_SIZE] = "";

	cli_json_open(NULL, '{');
	cli_json_string("repo", place->repo);
	cli_json_string("state", fw_semantic_state_name(s->state));
	if (s->index_bytes) {
		(void)fw_time_text(s->created_ms, time);
		cli_json_string("built", time);
		cli_json_number("files", (int64_t)s->files);
		cli_json_number("chunks", (int64_t)s->chunks);
		cli_json_number("commits", (int64_t)s->commits);
		cli_json_string("embedder", s->embedder);
		cli_json_number("dimensions", (int64_t)s->dims);
		cli_json_string("commit", s->commit);
		cli_json_number("source_bytes", (int64_t)s->source_bytes);
		cli_json_number("index_bytes", (int64_t)s->index_bytes);
		cli_json_number("data_bytes", (int64_t)s->data_bytes);
	}
	cli_json_string("directory", place->directory);
	put_search_json(place);
	cli_json_close('}');
	cli_json_line_end();
}

static fw_error *status(const cli_args *args, int *ret_status)
{
	const char *path;

	for (size_t i = 0; (path = repo_at(args, i)); i++) {
		struct fw_semantic_status s;
		struct place place;

		FW_TRY(find_place(path, &place));
		fw_semantic_status(place.directory, &s);
		if (cli_given(args, JSON))
			put_status_json(&place, &s);
		else
			put_status(&place, &s);
		if (s.state != FW_SEMANTIC_STATE_READY && s.state != FW_SEMANTIC_STATE_UPDATING)
			*ret_status = CLI_FAILED;
	}
	return NULL;
}

static fw_error *drop(const cli_args *args, int *ret_status)
{
	const char *path;

	(void)ret_status;
	for (size_t i = 0; (path = repo_at(args, i)); i++) {
		struct place place;
		bool was_there;

		FW_TRY(find_place(path, &place));
		FW_TRY(fw_semantic_drop(place.directory, &was_there));
		if (cli_given(args, JSON)) {
			cli_json_open(NULL, '{');
			cli_json_string("repo", place.repo);
			cli_json_bool("dropped", was_there);
			cli_json_close('}');
			cli_json_line_end();
		} else {
			cli_puts(was_there ? "dropped\n" : "there is no index\n");
		}
	}
	return NULL;
}

/* ---- the command -------------------------------------------------------------------- */

static int run(const cli_args *args)
{
	static fw_error *(*const actions[])(const cli_args *, int *) = { build, status, drop };
	int result = CLI_DONE;
	fw_error *err;

	if (args->operand_count != 1)
		return cli_fail(
			cli_usage("faultwire index %s takes no operand", args->operands[0]));
	err = actions[args->action](args, &result);
	return err ? cli_fail(err) : result;
}

static const cli_example examples[] = {
	{ "Index the repository in the current directory:", "faultwire index build" },
	{ "The same, and what the index has:",
	  "faultwire index build --repo . && faultwire index status --repo . --json" },
	{ NULL, NULL },
};

static const char *const action_words[] = { "build", "status", "drop", NULL };

const cli_command cli_command_index = {
	.name = "index",
	.summary = "build, show and drop the semantic index of a repository",
	.synopsis = "build|status|drop [OPTION]...",
	.description =
		"The index is what the tool semantic_search of faultwire serve --tools code "
		"searches: the words of every file, of its path and of the commits that "
		"changed "
		"it, and vectors. It is kept in the state directory, not in the repository.\n"
		"\n"
		"build creates it or brings it up to date: only files that have changed are "
		"read. It can be killed at any moment; the next build continues. status exits "
		"with 1 if there is no index that can be searched. drop deletes it.\n"
		"\n"
		"Vectors are computed from the repository itself. If "
		"FAULTWIRE_EMBEDDINGS_URL is set, they come from that service (OpenAI's "
		"/v1/embeddings), with FAULTWIRE_EMBEDDINGS_MODEL and "
		"FAULTWIRE_EMBEDDINGS_KEY: the text of the files is sent to it.",
	CLI_OPTIONS(options),
	.actions = action_words,
	.operands = CLI_FILE,
	.examples = examples,
	.run = run,
};
