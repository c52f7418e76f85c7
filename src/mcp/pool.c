/*
 * pool.c - a pool of threads. Threads are created on demand, up to a limit, and
 * stay. The pool is freed by its last user: its owner or a thread.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/pool.h"

struct job {
	struct job *next;
	fw_pool_fn *run;
	fw_call *call;
};

struct fw_pool {
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	struct job *first;
	struct job *last;
	unsigned most;
	unsigned threads;
	unsigned idle;
	unsigned running;
	bool is_over;
};

struct fw_pool *fw_pool_new(unsigned most)
{
	struct fw_pool *pool = fw__allocate(sizeof *pool);

	if (!pool)
		return NULL;
	memset(pool, 0, sizeof *pool);
	pool->most = most;
	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->wanted, NULL);
	return pool;
}

static void destroy(struct fw_pool *pool)
{
	while (pool->first) {
		struct job *next = pool->first->next;

		fw__release(pool->first);
		pool->first = next;
	}
	(void)pthread_cond_destroy(&pool->wanted);
	(void)pthread_mutex_destroy(&pool->lock);
	fw__release(pool);
}

static struct job *next_job(struct fw_pool *pool)
{
	struct job *job;

	pool->idle++;
	while (!pool->first && !pool->is_over)
		(void)pthread_cond_wait(&pool->wanted, &pool->lock);
	pool->idle--;
	if (pool->is_over)
		return NULL;
	job = pool->first;
	pool->first = job->next;
	if (!pool->first)
		pool->last = NULL;
	return job;
}

static void *work(void *ctx)
{
	struct fw_pool *pool = ctx;
	struct job *job;
	bool is_last;

	(void)pthread_mutex_lock(&pool->lock);
	while ((job = next_job(pool))) {
		pool->running++;
		(void)pthread_mutex_unlock(&pool->lock);
		job->run(job->call);
		fw__release(job);
		(void)pthread_mutex_lock(&pool->lock);
		pool->running--;
	}
	is_last = --pool->threads == 0 && pool->is_over;
	(void)pthread_mutex_unlock(&pool->lock);
	if (is_last)
		destroy(pool);
	return NULL;
}

/* Signals are handled by the loop's thread. */
static bool start_thread(struct fw_pool *pool)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int failed;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	failed = pthread_create(&thread, &attributes, work, pool);
	(void)pthread_attr_destroy(&attributes);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failed;
}

bool fw_pool_submit(struct fw_pool *pool, fw_pool_fn *run, fw_call *call)
{
	struct job *job = fw__allocate(sizeof *job);
	bool is_taken = true;

	if (!job)
		return false;
	*job = (struct job){ .run = run, .call = call };
	(void)pthread_mutex_lock(&pool->lock);
	if (!pool->idle && pool->threads < pool->most) {
		/* Counted before it runs, so that it does not take itself for the last one. */
		pool->threads++;
		if (!start_thread(pool))
			is_taken = --pool->threads > 0;
	}
	if (is_taken) {
		if (pool->last)
			pool->last->next = job;
		else
			pool->first = job;
		pool->last = job;
		(void)pthread_cond_signal(&pool->wanted);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	if (!is_taken)
		fw__release(job);
	return is_taken;
}

bool fw_pool_free(struct fw_pool *pool)
{
	bool is_quiet;
	bool is_last;

	if (!pool)
		return true;
	(void)pthread_mutex_lock(&pool->lock);
	pool->is_over = true;
	is_quiet = pool->running == 0;
	is_last = pool->threads == 0;
	(void)pthread_cond_broadcast(&pool->wanted);
	(void)pthread_mutex_unlock(&pool->lock);
	if (is_last)
		destroy(pool);
	return is_quiet;
}
