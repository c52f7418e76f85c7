/*
 * pg_pool.h - the pool of connections, shared by its files.
 */
#ifndef FW_STORE_PG_POOL_H
#define FW_STORE_PG_POOL_H

#include <pthread.h>
#include <sys/types.h>

#include "store/pg.h"

struct fw_pg_pool {
	struct fw_pg_pool *next;
	size_t users;
	char *text; /* the URL */
	enum fw_pg_use use;
	struct fw_pg_url url;
	pid_t process; /* a forked child makes a pool of its own */
	pthread_mutex_t lock;
	pthread_cond_t given; /* a connection was given back */
	struct fw_pg *idle;
	size_t count; /* connections, idle or in use */
	size_t host;  /* the one that worked last */
	/* Steady clock: a host that did not answer is passed over until then. */
	int64_t silent_ms[FW_PG_HOSTS_MAX];
	int64_t away_ms;    /* steady clock: no attempt before this; 0: not away */
	char away_why[256]; /* reason of the last failure */
};

#endif
