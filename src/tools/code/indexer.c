/*
 * indexer.c - see indexer.h. The threads of a repository, and what the third one does when.
 */
#include "tools/code/indexer_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/code/git_graph.h"

enum {
	LOCK_MS = 1000,    /* between attempts to become the keeper */
	SWEEP_MS = 30000,  /* between walks, at least */
	SWEEP_SHARE = 100, /* at most this part of the time is spent walking */
	RETRY_MS = 60000,
	NICE = 10
};

/* Two repositories of the same number would only take turns: an index has the identity of its
 * root. */
static bool directory_of(const char *state, const char *repository, char ret_path[FW_PATH_SIZE])
{
	uint64_t number = fw_trigram__sum(0, repository, strlen(repository));

	return snprintf(ret_path, FW_PATH_SIZE, "%s/code/%016llx", state,
			(unsigned long long)number) < FW_PATH_SIZE;
}

bool fw_indexer_status(const char *state, const char *repository,
		       struct fw_board_facts *ret_facts)
{
	char *changes = fw__allocate(FW_BOARD_CHANGES_BYTES);
	struct fw_board *board = NULL;
	char path[FW_PATH_SIZE];
	bool is_read;

	if (changes && directory_of(state, repository, path))
		board = fw_board_open(path, false);
	is_read = board && fw_board_read(board, ret_facts, changes);
	fw_board_close(board);
	fw__release(changes);
	return is_read;
}

void fw_indexer_prepare(struct fw_code_repos *repos, const char *state, bool has_index)
{
	for (size_t i = 0; i < repos->count; i++) {
		struct fw_code_repo *repo = &repos->list[i];
		(void)snprintf(repo->index, sizeof repo->index, "%s/code", state);
		if ((mkdir(repo->index, 0700) != 0 && errno != EEXIST) ||
		    !directory_of(state, repo->path, repo->index) ||
		    !fw_board_create(repo->index) || !fw_git_graph_prepare(repo))
			repo->index[0] = '\0';
		repo->has_index = has_index && repo->index[0];
	}
}

/* ---- one walk, and what follows from it ---- */

void fw_indexer__report(const struct fw_indexer *indexer, const char *state, uint64_t files)
{
	const char *name = indexer->repo->name;

	(void)dprintf(STDERR_FILENO, "search index%s%s: %s, %llu of %llu files\n",
		      name[0] ? " of " : "", name, state, (unsigned long long)files,
		      (unsigned long long)indexer->facts.files);
}

static void set_state(struct fw_indexer *indexer, enum fw_board_state state)
{
	indexer->is_lost = true;
	indexer->facts.state = state;
	fw_indexer__publish(indexer);
}

/* The root may be another directory by now. */
static bool open_root(struct fw_indexer *indexer)
{
	struct fw_code_place place;
	fw_error *err = fw_code_place_of(indexer->repo, &place);
	bool is_other;

	if (err) {
		fw_error_free(err);
		return false;
	}
	(void)pthread_mutex_lock(&indexer->lock);
	is_other = indexer->has_place && (place.root.dev != indexer->place.root.dev ||
					  place.root.ino != indexer->place.root.ino);
	if (indexer->has_place)
		fw_code_place_close(&indexer->place);
	indexer->place = place;
	indexer->has_place = true;
	indexer->facts.device = place.root.dev;
	indexer->facts.inode = place.root.ino;
	if (is_other) {
		indexer->wants_walk = true;
		fw_trigram_close(&indexer->index);
	}
	(void)pthread_mutex_unlock(&indexer->lock);
	return true;
}

/* Begins to watch, from nothing if events were lost. */
static bool begin(struct fw_indexer *indexer, uint64_t *ret_since, bool *ret_wants_index)
{
	bool is_watching = true;

	(void)pthread_mutex_lock(&indexer->lock);
	indexer->is_working = true;
	indexer->is_lost = indexer->is_lost || indexer->wants_walk || !indexer->watch;
	if (!indexer->watch)
		indexer->watch = fw_watch_new();
	else if (indexer->wants_walk)
		is_watching = fw_watch_renew(indexer->watch);
	indexer->wants_walk = false;
	*ret_wants_index = indexer->wants_index;
	indexer->wants_index = false;
	*ret_since = indexer->event;
	is_watching = is_watching && indexer->watch != NULL;
	(void)pthread_mutex_unlock(&indexer->lock);
	return is_watching && fw_watch_is_reliable(indexer->place.root.fd);
}

static bool is_small(const struct fw_indexer *indexer, const struct fw_indexer_list *list)
{
	return indexer->options->mode == FW_INDEXER_AUTO &&
	       list->count < FW_INDEXER_LEAST_FILES && list->bytes < FW_INDEXER_LEAST_BYTES;
}

/* What is noted already is newer. */
static bool put(struct fw_indexer *indexer, const char *path, bool is_gone, uint64_t event)
{
	const struct fw_change change = { .event = event,
					  .is_gone = is_gone,
					  .is_checked = true };

	return fw_changes_find(&indexer->changes, path) ||
	       fw_changes_put(&indexer->changes, path, &change);
}

/* The index stays; what differs is in the changes. */
static bool note_changes(struct fw_indexer *indexer, const struct fw_indexer_list *list,
			 uint64_t since)
{
	const struct fw_trigram *index = &indexer->index;
	bool is_noted = true;
	size_t at = 0;

	fw_indexer__settle(indexer, list, since);
	for (size_t i = 0; i < list->count && is_noted; i++) {
		while (at < index->count &&
		       strcmp(fw_trigram_path(index, at), list->files[i].path) < 0)
			is_noted = put(indexer, fw_trigram_path(index, at++), true, since) &&
				   is_noted;
		if (at < index->count &&
		    strcmp(fw_trigram_path(index, at), list->files[i].path) == 0)
			at++;
		if (list->files[i].old == FW_TRIGRAM_NEW)
			is_noted = put(indexer, list->files[i].path, false, since) && is_noted;
	}
	while (at < index->count && is_noted)
		is_noted = put(indexer, fw_trigram_path(index, at++), true, since);
	return is_noted;
}

/* With the index as it is, if it is nearly right. False: a new one is needed. */
static bool use_index(struct fw_indexer *indexer, struct fw_indexer_list *list, uint64_t since,
		      bool wants_index)
{
	size_t limit = list->count / FW_INDEXER_SHARE + FW_INDEXER_LEAST_CHANGES;
	bool is_used;

	(void)pthread_mutex_lock(&indexer->lock);
	fw_indexer__compare(indexer, list, since);
	is_used = indexer->index.bytes && !wants_index && list->changed + list->gone <= limit &&
		  note_changes(indexer, list, since);
	(void)pthread_mutex_unlock(&indexer->lock);
	return is_used;
}

static void finish(struct fw_indexer *indexer, const struct fw_indexer_list *list)
{
	(void)pthread_mutex_lock(&indexer->lock);
	indexer->is_lost = false;
	indexer->facts.files = list->count;
	indexer->facts.files_read = list->count;
	indexer->facts.bytes = list->bytes;
	fw_indexer__publish(indexer);
	(void)pthread_mutex_unlock(&indexer->lock);
}

static enum fw_board_state work(struct fw_indexer *indexer, struct fw_indexer_list *list)
{
	bool wants_index;
	uint64_t since;

	if (!open_root(indexer) || !begin(indexer, &since, &wants_index) ||
	    !fw_indexer__walk(indexer, list))
		return FW_BOARD_UNWATCHED;
	if (is_small(indexer, list))
		return FW_BOARD_SMALL;
	(void)pthread_mutex_lock(&indexer->lock);
	indexer->facts.files = list->count;
	indexer->facts.bytes = list->bytes;
	(void)pthread_mutex_unlock(&indexer->lock);
	if (!use_index(indexer, list, since, wants_index) &&
	    !fw_indexer__build(indexer, list, since))
		return FW_BOARD_FAILED;
	finish(indexer, list);
	if (indexer->has_reported)
		fw_indexer__report(indexer, "ready", list->count);
	indexer->has_reported = false;
	return FW_BOARD_READY;
}

/* Returns when to look again, in milliseconds from now. */
static int64_t work_once(struct fw_indexer *indexer)
{
	struct fw_indexer_list list = { .files = NULL };
	int64_t start = fw_steady_ms(), took;
	enum fw_board_state state = work(indexer, &list);

	fw_indexer_list_clear(&list);
	(void)pthread_mutex_lock(&indexer->lock);
	indexer->is_working = false;
	if (state != FW_BOARD_READY) {
		fw_watch_free(indexer->watch);
		indexer->watch = NULL;
		fw_changes_clear(&indexer->changes);
		fw_trigram_close(&indexer->index);
		indexer->wants_walk = false;
		set_state(indexer, state);
	}
	(void)pthread_mutex_unlock(&indexer->lock);
	took = (fw_steady_ms() - start) * SWEEP_SHARE;
	if (state == FW_BOARD_UNWATCHED || state == FW_BOARD_FAILED) {
		if (indexer->reported != state)
			fw_indexer__report(indexer, fw_board_state_name(state), 0);
		indexer->reported = state;
		return RETRY_MS;
	}
	indexer->reported = state;
	return took > SWEEP_MS ? took : SWEEP_MS;
}

/* ---- threads ---- */

static void *on_bell(void *ctx)
{
	struct fw_indexer *indexer = ctx;

	for (unsigned seen = fw_board_rings(indexer->board) - 1;;) {
		fw_board_await_ring(indexer->board, seen);
		seen = fw_board_rings(indexer->board);
		(void)pthread_mutex_lock(&indexer->lock);
		fw_indexer__serve(indexer);
		(void)pthread_mutex_unlock(&indexer->lock);
	}
	return NULL;
}

static void *on_events(void *ctx)
{
	struct fw_indexer *indexer = ctx;

	for (;;) {
		struct pollfd polled = { .fd = -1, .events = POLLIN };

		(void)pthread_mutex_lock(&indexer->lock);
		fw_indexer__serve(indexer);
		if (indexer->watch)
			polled.fd = fw_watch_fd(indexer->watch);
		(void)pthread_mutex_unlock(&indexer->lock);
		(void)poll(&polled, 1, LOCK_MS);
	}
	return NULL;
}

static void wait_for_work(struct fw_indexer *indexer, int64_t limit_ms)
{
	int64_t until_ms = fw_steady_ms() + limit_ms;
	const struct timespec until = { until_ms / 1000, until_ms % 1000 * 1000000 };

	(void)pthread_mutex_lock(&indexer->lock);
	while (!indexer->wants_walk && !indexer->wants_index)
		if (pthread_cond_timedwait(&indexer->wanted, &indexer->lock, &until) ==
		    ETIMEDOUT)
			break;
	(void)pthread_mutex_unlock(&indexer->lock);
}

/* The lock goes with the process. */
static void become_keeper(const struct fw_indexer *indexer)
{
	const struct timespec pause = { .tv_sec = LOCK_MS / 1000 };
	char path[FW_PATH_SIZE + 8];
	int fd;

	(void)snprintf(path, sizeof path, "%s/lock", indexer->repo->index);
	while ((fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		(void)nanosleep(&pause, NULL);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0)
		(void)nanosleep(&pause, NULL);
}

static void *keep(void *ctx)
{
	struct fw_indexer *indexer = ctx;
	pthread_t thread;

	become_keeper(indexer);
	indexer->board = fw_board_open(indexer->repo->index, true);
	indexer->texts = fw__allocate(FW_BOARD_CHANGES_BYTES);
	if (!indexer->board || !indexer->texts)
		return NULL;
	if (!fw_board_read(indexer->board, &indexer->facts, indexer->texts))
		indexer->facts = (struct fw_board_facts){ .generation = 1 };
	indexer->facts.state = FW_BOARD_BUILDING;
	indexer->is_lost = true;
	fw_indexer__publish(indexer);
	if (open_root(indexer))
		fw_indexer__load(indexer);
	if (pthread_create(&thread, NULL, on_bell, indexer) != 0 ||
	    pthread_create(&thread, NULL, on_events, indexer) != 0)
		return NULL;
	(void)setpriority(PRIO_PROCESS, 0, NICE); /* of this thread */
	for (;;)
		wait_for_work(indexer, work_once(indexer));
}

/* Waits by the clock that nobody sets. */
static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(condition, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

void fw_indexer_run(void *ctx)
{
	const struct fw_indexer_options *options = ctx;
	sigset_t all;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (size_t i = 0; i < options->repos->count; i++) {
		struct fw_indexer *indexer = fw__allocate(sizeof *indexer);
		pthread_t thread;

		if (!indexer || !options->repos->list[i].has_index)
			continue;
		fw__zero(indexer, sizeof *indexer);
		indexer->options = options;
		indexer->repo = &options->repos->list[i];
		(void)pthread_mutex_init(&indexer->lock, NULL);
		init_condition(&indexer->wanted);
		(void)pthread_create(&thread, NULL, keep, indexer);
	}
	for (;;)
		(void)pause();
}
