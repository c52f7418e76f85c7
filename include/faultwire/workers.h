/*
 * workers.h - isolated execution: pools of worker processes, and the sandbox of
 * the server process itself.
 */
#ifndef FAULTWIRE_WORKERS_H
#define FAULTWIRE_WORKERS_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

typedef struct fw_server fw_server;

typedef enum fw_sandbox {
	FW_SANDBOX_BEST_EFFORT, /**< warn about missing kernel features and go on */
	FW_SANDBOX_REQUIRED,    /**< refuse to run if the kernel lacks a feature */
	FW_SANDBOX_OFF
} fw_sandbox;

/** Begin with FW_WORKERS_INIT, which allows nothing. Strings are copied. */
typedef struct fw_workers_options {
	size_t struct_size;
	uint32_t count; /**< processes kept ready; 0: one per CPU, at least 2 */
	uint32_t most;  /**< maximum, under load; 0: four times `count` */
	fw_sandbox sandbox;
	const char *const *readable;    /**< paths, NULL at the end; NULL: none */
	const char *const *writable;    /**< likewise; also readable */
	const char *const *environment; /**< names of variables to keep; NULL: none */
	bool may_connect;               /**< to other machines and other processes */
	bool may_execute;               /**< programs; it may also fork */
	/** Address space; with may_execute, data memory of each process; 0: 1 GiB. */
	uint64_t memory_bytes;
	uint32_t files;      /**< descriptors; 0: 64 */
	uint32_t cpu_s;      /**< CPU time of one call; 0: 60 */
	uint64_t file_bytes; /**< largest file it may write; 0: 1 GiB */
	/** Consecutive crashes that suspend a tool, and for how long. */
	uint32_t breaker_crashes; /**< 0: 5; UINT32_MAX: never */
	uint32_t breaker_ms;      /**< 0: 30000 */
	/** Called in each new worker before the sandbox applies; NULL: none. */
	fw_error *(*prepare)(void *ctx);
	void *ctx;
	bool may_watch; /**< paths for changes (inotify), also paths that it cannot read */
	/**
	 * For work in the background: each process of the pool calls this instead of serving
	 * calls, in the sandbox, with `ctx`. When it returns or dies, the process is replaced
	 * after a pause. No tool may use the pool. NULL: the pool serves calls.
	 */
	void (*background)(void *ctx);
} fw_workers_options;

#define FW_WORKERS_INIT FW_INIT(fw_workers_options)

typedef struct fw_workers fw_workers;

/**
 * A pool of processes for tools with FW_RUN_PROCESS. The server owns it. The
 * processes are forked from this program by fw_server_run(): memory that a
 * handler changes is not seen by other processes. Raises
 * internal.out_of_memory, internal.api_misuse.
 */
FW_API FW_NODISCARD fw_error *fw_server_add_workers(fw_server *server,
						    const fw_workers_options *options,
						    fw_workers **ret_workers);

/** What the server process itself may access. Begin with FW_CONFINE_INIT, which
 *  allows nothing. fw_server_confine() reads paths and ports and does not keep
 *  them. */
typedef struct fw_confine_options {
	size_t struct_size;
	fw_sandbox sandbox;
	const char *const *readable; /**< paths, NULL at the end; NULL: none */
	const char *const *writable; /**< likewise; also readable */
	/** TCP ports of other machines that the program connects to, 0 at the end;
	 *  name lookups are then allowed too. NULL: it creates no sockets. */
	const uint16_t *connect_ports;
	/** The port that fw_server_listen_http() will use. */
	uint16_t listen_port;
} fw_confine_options;

#define FW_CONFINE_INIT FW_INIT(fw_confine_options)

/**
 * Confine this process; call it before fw_server_prepare(). From
 * fw_server_prepare() on, the process can open only the paths named here, system
 * libraries and /proc. So call fw_server_prepare() before the first thread, and
 * open other files before it. Once fw_server_run() reads its first byte, the
 * process can no longer fork, execute programs, bind sockets, or create sockets
 * other than for connect_ports. Handlers with FW_RUN_PROCESS have the sandbox of
 * their pool instead. This cannot be undone. Raises server.sandbox_unavailable
 * (FW_SANDBOX_REQUIRED, and the kernel lacks a feature), errors of the paths,
 * internal.api_misuse (too late, or twice), internal.out_of_memory.
 */
FW_API FW_NODISCARD fw_error *fw_server_confine(fw_server *server,
						const fw_confine_options *options);

FW_EXTERN_C_END

#endif
