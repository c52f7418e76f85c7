/*
 * crash.c - records a crash in the worker and describes it in the server.
 *
 * The worker writes addresses into the record and then dies of its signal. The server
 * is the same program at the same addresses, so it can find the names of the functions.
 */
#include "worker/crash.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/buf.h"
#include "base/limits.h"
#include "core/error_own.h"

enum { STACK_BYTES = 64 * 1024, FRAMES_KNOWN = 32 };

static const int watched[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGSYS };

static struct fw_worker_crash *own;

static void *instruction_of(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (void *)context->uc_mcontext.gregs[REG_RIP]; /* NOLINT: a register */
#elif defined(__aarch64__)
	return (void *)context->uc_mcontext.pc; /* NOLINT: a register */
#else
	(void)context;
	return NULL;
#endif
}

/* Runs on a stack of its own. Uses only async-signal-safe functions, and backtrace(),
 * whose library is loaded already. */
static void on_crash(int signum, siginfo_t *info, void *context)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	void *frames[FW_WORKER_CRASH_FRAMES + 8];
	void *instruction = instruction_of(context);
	int depth, first = 0;
	sigset_t only;

	own->code = info->si_code;
	own->address = info->si_code > 0 ? (uintptr_t)info->si_addr : 0;
	own->frames[0] = instruction;
	own->depth = instruction != NULL;
	/* The record is valid from here on, in case backtrace() crashes as well. */
	atomic_store(&own->signal, signum);
	(void)sigaction(signum, &standard, NULL);
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		(void)sigaction(watched[i], &standard, NULL);
	depth = backtrace(frames, FW_WORKER_CRASH_FRAMES + 8);
	for (int i = 0; instruction && i < depth; i++)
		if (frames[i] == instruction)
			first = i;
	if (depth - first > FW_WORKER_CRASH_FRAMES)
		depth = first + FW_WORKER_CRASH_FRAMES;
	if (depth > first)
		memcpy(own->frames, frames + first, (size_t)(depth - first) * sizeof *frames);
	own->depth = depth - first;
	(void)sigemptyset(&only);
	(void)sigaddset(&only, signum);
	(void)raise(signum);
	(void)sigprocmask(SIG_UNBLOCK, &only, NULL);
}

void fw_worker_crash_prepare(void)
{
	void *warm[FW_WORKER_CRASH_FRAMES];

	/* The first backtrace() loads a library. That is not possible in a signal
	 * handler, and takes as long as forking a worker. */
	(void)backtrace(warm, FW_WORKER_CRASH_FRAMES);
}

void fw_worker_crash_watch(struct fw_worker_crash *crash)
{
	struct sigaction action = { .sa_sigaction = on_crash,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_size = STACK_BYTES };

	own = crash;
	memset(crash, 0, sizeof *crash);
	/* Anonymous memory has no file. */
	stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   /* cppcheck-suppress invalidFunctionArg */
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) != 0)
		action.sa_flags &= ~SA_ONSTACK;
	(void)sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		(void)sigaction(watched[i], &action, NULL);
}

/* ---- in the server ---------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct known_frame {
	const void *frame; /* NULL: none */
	char name[120];
};

static void name_frame(const void *frame, char *name, size_t size)
{
	Dl_info info;

	if (!dladdr(frame, &info) || !info.dli_fname)
		(void)snprintf(name, size, "%p", frame);
	else if (info.dli_sname)
		(void)snprintf(name, size, "%s %s+0x%zx", base_name(info.dli_fname),
			       info.dli_sname,
			       (size_t)((const char *)frame - (const char *)info.dli_saddr));
	else
		(void)snprintf(name, size, "%s+0x%zx", base_name(info.dli_fname),
			       (size_t)((const char *)frame - (const char *)info.dli_fbase));
}

/* dladdr() reads all symbols of a library each time, on the server's thread; a tool that
 * crashes usually does so at the same place again. */
static void put_frame(struct fw_buf *out, const void *frame)
{
	static _Thread_local struct known_frame known[FRAMES_KNOWN];
	struct known_frame *at = &known[(uintptr_t)frame / 4 % FRAMES_KNOWN];

	if (out->len)
		FW_BUF(out, "\n");
	if (!frame || at->frame != frame) {
		name_frame(frame, at->name, sizeof at->name);
		at->frame = frame;
	}
	fw_buf_str(out, at->name);
}

/* The worker can write any number into the record. */
void fw_worker_crash_describe(const struct fw_worker_crash *crash, fw_error *err)
{
	int depth = crash->depth;
	struct fw_buf out;

	if (depth < 0)
		depth = 0;
	if (depth > FW_WORKER_CRASH_FRAMES)
		depth = FW_WORKER_CRASH_FRAMES;
	fw_buf_init(&out, FW_LIMIT_TEXT_BYTES);
	for (int i = 0; i < depth; i++)
		put_frame(&out, crash->frames[i]);
	if (out.state == FW_BUF_OK && out.len)
		fw__error_set_own(err, FW_SLOT_STACK, out.text, out.len);
	fw_buf_clear(&out);
}
