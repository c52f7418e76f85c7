/*
 * raw_signal.c - processes terminated by a signal.
 *
 * Names and texts are our own: strsignal() is localised, and sigabbrev_np() does not
 * know real-time signals.
 */
#include <faultwire/raise.h>
#include <faultwire/raw.h>
#include <signal.h>
#include <stdio.h>

struct signal_row {
	const char *name;
	const char *words;
};

static const struct signal_row signals[] = {
	[SIGHUP] = { "SIGHUP", "terminal hung up" },
	[SIGINT] = { "SIGINT", "interrupted from the keyboard" },
	[SIGQUIT] = { "SIGQUIT", "quit from the keyboard" },
	[SIGILL] = { "SIGILL", "illegal instruction" },
	[SIGTRAP] = { "SIGTRAP", "breakpoint without a debugger" },
	[SIGABRT] = { "SIGABRT", "aborted itself" },
	[SIGBUS] = { "SIGBUS", "bus error" },
	[SIGFPE] = { "SIGFPE", "arithmetic exception" },
	[SIGKILL] = { "SIGKILL", "killed" },
	[SIGUSR1] = { "SIGUSR1", "user signal 1" },
	[SIGSEGV] = { "SIGSEGV", "segmentation fault" },
	[SIGUSR2] = { "SIGUSR2", "user signal 2" },
	[SIGPIPE] = { "SIGPIPE", "wrote to a pipe without a reader" },
	[SIGALRM] = { "SIGALRM", "alarm went off" },
	[SIGTERM] = { "SIGTERM", "terminated" },
#ifdef SIGSTKFLT
	[SIGSTKFLT] = { "SIGSTKFLT", "coprocessor stack fault" },
#endif
	[SIGCHLD] = { "SIGCHLD", "child ended" },
	[SIGCONT] = { "SIGCONT", "continued" },
	[SIGSTOP] = { "SIGSTOP", "stopped" },
	[SIGTSTP] = { "SIGTSTP", "stopped from the keyboard" },
	[SIGTTIN] = { "SIGTTIN", "read from the terminal in the background" },
	[SIGTTOU] = { "SIGTTOU", "wrote to the terminal in the background" },
	[SIGURG] = { "SIGURG", "urgent data on a socket" },
	[SIGXCPU] = { "SIGXCPU", "CPU time limit exceeded" },
	[SIGXFSZ] = { "SIGXFSZ", "file size limit exceeded" },
	[SIGVTALRM] = { "SIGVTALRM", "virtual alarm went off" },
	[SIGPROF] = { "SIGPROF", "profiling timer went off" },
#ifdef SIGWINCH
	[SIGWINCH] = { "SIGWINCH", "window changed its size" },
#endif
#ifdef SIGIO
	[SIGIO] = { "SIGIO", "input or output is possible" },
#endif
#ifdef SIGPWR
	[SIGPWR] = { "SIGPWR", "power failed" },
#endif
#ifdef SIGEMT
	[SIGEMT] = { "SIGEMT", "emulator trap" },
#endif
#ifdef SIGINFO
	[SIGINFO] = { "SIGINFO", "status requested" },
#endif
	[SIGSYS] = { "SIGSYS", "system call not permitted" },
};

#ifdef SIGRTMIN
/* libc chooses SIGRTMIN at run time. */
static const char *const real_time[] = {
	"SIGRTMIN",    "SIGRTMIN+1",  "SIGRTMIN+2",  "SIGRTMIN+3",  "SIGRTMIN+4",
	"SIGRTMIN+5",  "SIGRTMIN+6",  "SIGRTMIN+7",  "SIGRTMIN+8",  "SIGRTMIN+9",
	"SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14",
	"SIGRTMIN+15", "SIGRTMIN+16", "SIGRTMIN+17", "SIGRTMIN+18", "SIGRTMIN+19",
	"SIGRTMIN+20", "SIGRTMIN+21", "SIGRTMIN+22", "SIGRTMIN+23", "SIGRTMIN+24",
	"SIGRTMIN+25", "SIGRTMIN+26", "SIGRTMIN+27", "SIGRTMIN+28", "SIGRTMIN+29",
	"SIGRTMIN+30", "SIGRTMIN+31", "SIGRTMIN+32",
};
#endif

static const struct signal_row *find(int signum)
{
	size_t i = (size_t)signum;

	if (signum <= 0 || i >= sizeof(signals) / sizeof(signals[0]))
		return NULL;
	return signals[i].name ? &signals[i] : NULL;
}

const char *fw_signal_name(int signum)
{
	const struct signal_row *row = find(signum);

	if (row)
		return row->name;
#ifdef SIGRTMIN
	if (signum >= SIGRTMIN && signum <= SIGRTMAX &&
	    (size_t)(signum - SIGRTMIN) < sizeof(real_time) / sizeof(real_time[0]))
		return real_time[signum - SIGRTMIN];
#endif
	return NULL;
}

fw_error *fw_error_from_signal(fw_src at, int signum)
{
	const struct signal_row *row = find(signum);
	const char *name = fw_signal_name(signum);
	char number[32];
	fw_error *err;

	if (!name) {
		(void)snprintf(number, sizeof(number), "signal %d", signum);
		name = number;
	}
	err = fw_raise_tool_crashed_at(at, name);
	fw_error_add_cause(err, row ? row->words : "signal", name, "signal");
	return err;
}
