/*
 * raw_errno.c - failed system calls.
 *
 * A table of errno values by number, so that a name or a code is one lookup. The
 * texts are our own: strerror() is localised, not thread-safe, and differs between
 * systems.
 *
 * The code depends on who can do something about the error: the caller (a wrong
 * path), time (busy, interrupted), the operator (disk, permissions), or only the
 * programmer (internal.unexpected, with the name of the errno).
 */
#include "core/raw_impl.h"

#include <errno.h>
#include <faultwire/raise.h>
#include <faultwire/raw.h>
#include <stdio.h>

struct errno_row {
	int code;
	const char *name;
	const char *words;
};

#define ROW(name, code, words) [name] = { FW_##code, #name, words }

static const struct errno_row errnos[] = {
	ROW(EPERM, AUTH_INSUFFICIENT_PERMISSIONS, "operation not permitted"),
	ROW(ENOENT, FILE_NOT_FOUND, "no such file or directory"),
	ROW(ESRCH, RESOURCE_NOT_FOUND, "no such process"),
	ROW(EINTR, IO_FAILED, "interrupted by a signal"),
	ROW(EIO, IO_FAILED, "input/output error"),
	ROW(ENXIO, FILE_READ_FAILED, "no such device or address"),
	ROW(E2BIG, PATH_INVALID, "argument list too long"),
	ROW(ENOEXEC, FILE_READ_FAILED, "not a program that can be run"),
	ROW(EBADF, INTERNAL_UNEXPECTED, "file descriptor is not open"),
	ROW(ECHILD, RESOURCE_NOT_FOUND, "no child process"),
	ROW(EAGAIN, IO_FAILED, "resource temporarily unavailable"),
	ROW(ENOMEM, INTERNAL_OUT_OF_MEMORY, "out of memory"),
	ROW(EACCES, AUTH_INSUFFICIENT_PERMISSIONS, "permission denied"),
	ROW(EFAULT, INTERNAL_UNEXPECTED, "address outside the memory of the process"),
	ROW(EBUSY, IO_FAILED, "device or resource busy"),
	ROW(EEXIST, FILE_ALREADY_EXISTS, "file exists"),
	ROW(EXDEV, FILE_WRITE_FAILED, "link across file systems"),
	ROW(ENODEV, FILE_READ_FAILED, "no such device"),
	ROW(ENOTDIR, PATH_NOT_FOUND, "part of the path is not a directory"),
	ROW(EISDIR, FILE_READ_FAILED, "is a directory"),
	ROW(EINVAL, PATH_INVALID, "invalid argument"),
	ROW(ENFILE, IO_TOO_MANY_FILES, "too many open files in the system"),
	ROW(EMFILE, IO_TOO_MANY_FILES, "too many open files in the process"),
	ROW(ENOTTY, INTERNAL_UNEXPECTED, "request does not fit the device"),
	ROW(ETXTBSY, IO_FAILED, "program file is in use"),
	ROW(EFBIG, FILE_WRITE_FAILED, "file too large"),
	ROW(ENOSPC, IO_NO_SPACE, "no space left on the device"),
	ROW(ESPIPE, FILE_READ_FAILED, "not a file that can be sought in"),
	ROW(EROFS, FILE_WRITE_FAILED, "file system is read-only"),
	ROW(EMLINK, FILE_WRITE_FAILED, "too many links"),
	ROW(EPIPE, TRANSPORT_BROKEN_PIPE, "broken pipe"),
	ROW(EDOM, INTERNAL_UNEXPECTED, "argument outside the domain of the function"),
	ROW(ERANGE, INTERNAL_UNEXPECTED, "result out of range"),
	ROW(EDEADLK, IO_FAILED, "deadlock avoided"),
	ROW(ENAMETOOLONG, PATH_INVALID, "name too long"),
	ROW(ENOLCK, IO_FAILED, "no locks available"),
	ROW(ENOSYS, INTERNAL_UNSUPPORTED, "function not implemented"),
	ROW(ENOTEMPTY, RESOURCE_CONFLICT, "directory not empty"),
	ROW(ELOOP, PATH_INVALID, "too many symbolic links"),
	ROW(ENOMSG, RESOURCE_NOT_FOUND, "no message of that type"),
	ROW(EIDRM, RESOURCE_NOT_FOUND, "identifier removed"),
	ROW(ENOLINK, TRANSPORT_CONNECTION_RESET, "link was cut"),
	ROW(EPROTO, TRANSPORT_PROTOCOL_VIOLATION, "protocol error"),
	ROW(EMULTIHOP, TRANSPORT_PROTOCOL_VIOLATION, "multihop attempted"),
	ROW(EBADMSG, TRANSPORT_PROTOCOL_VIOLATION, "malformed message"),
	ROW(EOVERFLOW, FILE_READ_FAILED, "value too large for its type"),
	ROW(EILSEQ, PATH_INVALID, "invalid byte sequence"),
	ROW(ENOTSOCK, INTERNAL_UNEXPECTED, "not a socket"),
	ROW(EDESTADDRREQ, INTERNAL_UNEXPECTED, "destination address required"),
	ROW(EMSGSIZE, TRANSPORT_PROTOCOL_VIOLATION, "message too long"),
	ROW(EPROTOTYPE, INTERNAL_UNSUPPORTED, "wrong protocol for the socket"),
	ROW(ENOPROTOOPT, INTERNAL_UNSUPPORTED, "protocol option not available"),
	ROW(EPROTONOSUPPORT, INTERNAL_UNSUPPORTED, "protocol not supported"),
	ROW(EOPNOTSUPP, INTERNAL_UNSUPPORTED, "operation not supported"),
	ROW(EAFNOSUPPORT, INTERNAL_UNSUPPORTED, "address family not supported"),
	ROW(EADDRINUSE, RESOURCE_CONFLICT, "address in use"),
	ROW(EADDRNOTAVAIL, TRANSPORT_UNREACHABLE, "address not available"),
	ROW(ENETDOWN, TRANSPORT_UNREACHABLE, "network is down"),
	ROW(ENETUNREACH, TRANSPORT_UNREACHABLE, "network is unreachable"),
	ROW(ENETRESET, TRANSPORT_CONNECTION_RESET, "network dropped the connection"),
	ROW(ECONNABORTED, TRANSPORT_CONNECTION_RESET, "connection aborted"),
	ROW(ECONNRESET, TRANSPORT_CONNECTION_RESET, "connection reset by the peer"),
	ROW(ENOBUFS, INTERNAL_OUT_OF_MEMORY, "no buffer space available"),
	ROW(EISCONN, INTERNAL_UNEXPECTED, "socket is connected already"),
	ROW(ENOTCONN, TRANSPORT_BROKEN_PIPE, "socket is not connected"),
	ROW(ETIMEDOUT, TRANSPORT_TIMEOUT, "connection timed out"),
	ROW(ECONNREFUSED, TRANSPORT_CONNECTION_REFUSED, "connection refused"),
	ROW(EHOSTUNREACH, TRANSPORT_UNREACHABLE, "no route to the host"),
	ROW(EALREADY, IO_FAILED, "operation is already in progress"),
	ROW(EINPROGRESS, IO_FAILED, "operation is in progress"),
	ROW(ESTALE, IO_FAILED, "stale file handle"),
	ROW(EDQUOT, IO_NO_SPACE, "disk quota used up"),
	ROW(ECANCELED, RUNTIME_CANCELLED, "operation cancelled"),
	ROW(EOWNERDEAD, INTERNAL_UNEXPECTED, "owner of the lock died"),
	ROW(ENOTRECOVERABLE, INTERNAL_UNEXPECTED, "state cannot be recovered"),
/* Not defined on every platform. */
#ifdef ENOTBLK
	ROW(ENOTBLK, FILE_READ_FAILED, "not a block device"),
#endif
#ifdef ECHRNG
	ROW(ECHRNG, INTERNAL_UNEXPECTED, "channel number out of range"),
#endif
#ifdef EL2NSYNC
	ROW(EL2NSYNC, INTERNAL_UNEXPECTED, "level 2 not synchronised"),
#endif
#ifdef EL3HLT
	ROW(EL3HLT, INTERNAL_UNEXPECTED, "level 3 halted"),
#endif
#ifdef EL3RST
	ROW(EL3RST, INTERNAL_UNEXPECTED, "level 3 reset"),
#endif
#ifdef ELNRNG
	ROW(ELNRNG, INTERNAL_UNEXPECTED, "link number out of range"),
#endif
#ifdef EUNATCH
	ROW(EUNATCH, INTERNAL_UNEXPECTED, "protocol driver not attached"),
#endif
#ifdef ENOCSI
	ROW(ENOCSI, INTERNAL_UNEXPECTED, "no CSI structure available"),
#endif
#ifdef EL2HLT
	ROW(EL2HLT, INTERNAL_UNEXPECTED, "level 2 halted"),
#endif
#ifdef EBADE
	ROW(EBADE, INTERNAL_UNEXPECTED, "invalid exchange"),
#endif
#ifdef EBADR
	ROW(EBADR, INTERNAL_UNEXPECTED, "invalid request descriptor"),
#endif
#ifdef EXFULL
	ROW(EXFULL, IO_FAILED, "exchange full"),
#endif
#ifdef ENOANO
	ROW(ENOANO, INTERNAL_UNEXPECTED, "no anode"),
#endif
#ifdef EBADRQC
	ROW(EBADRQC, INTERNAL_UNEXPECTED, "invalid request code"),
#endif
#ifdef EBADSLT
	ROW(EBADSLT, INTERNAL_UNEXPECTED, "invalid slot"),
#endif
#ifdef EBFONT
	ROW(EBFONT, FILE_READ_FAILED, "invalid font file"),
#endif
#ifdef ENOSTR
	ROW(ENOSTR, INTERNAL_UNEXPECTED, "not a stream"),
#endif
#ifdef ENODATA
	ROW(ENODATA, RESOURCE_NOT_FOUND, "no data available"),
#endif
#ifdef ETIME
	ROW(ETIME, TRANSPORT_TIMEOUT, "timer expired"),
#endif
#ifdef ENOSR
	ROW(ENOSR, IO_FAILED, "out of stream resources"),
#endif
#ifdef ENONET
	ROW(ENONET, TRANSPORT_UNREACHABLE, "machine is not on the network"),
#endif
#ifdef ENOPKG
	ROW(ENOPKG, INTERNAL_UNSUPPORTED, "package not installed"),
#endif
#ifdef EREMOTE
	ROW(EREMOTE, INTERNAL_UNEXPECTED, "object is remote"),
#endif
#ifdef EADV
	ROW(EADV, INTERNAL_UNEXPECTED, "advertise error"),
#endif
#ifdef ESRMNT
	ROW(ESRMNT, INTERNAL_UNEXPECTED, "mount error"),
#endif
#ifdef ECOMM
	ROW(ECOMM, TRANSPORT_CONNECTION_RESET, "communication failed on send"),
#endif
#ifdef EDOTDOT
	ROW(EDOTDOT, INTERNAL_UNEXPECTED, "RFS error"),
#endif
#ifdef ENOTUNIQ
	ROW(ENOTUNIQ, RESOURCE_CONFLICT, "name not unique on the network"),
#endif
#ifdef EBADFD
	ROW(EBADFD, INTERNAL_UNEXPECTED, "file descriptor in the wrong state"),
#endif
#ifdef EREMCHG
	ROW(EREMCHG, TRANSPORT_CONNECTION_RESET, "remote address changed"),
#endif
#ifdef ELIBACC
	ROW(ELIBACC, FILE_READ_FAILED, "shared library cannot be opened"),
#endif
#ifdef ELIBBAD
	ROW(ELIBBAD, FILE_READ_FAILED, "shared library is damaged"),
#endif
#ifdef ELIBSCN
	ROW(ELIBSCN, FILE_READ_FAILED, "library section is damaged"),
#endif
#ifdef ELIBMAX
	ROW(ELIBMAX, FILE_READ_FAILED, "too many shared libraries"),
#endif
#ifdef ELIBEXEC
	ROW(ELIBEXEC, FILE_READ_FAILED, "shared library cannot be run"),
#endif
#ifdef ERESTART
	ROW(ERESTART, IO_FAILED, "interrupted system call is to be restarted"),
#endif
#ifdef ESTRPIPE
	ROW(ESTRPIPE, IO_FAILED, "stream pipe error"),
#endif
#ifdef EUSERS
	ROW(EUSERS, IO_FAILED, "too many users"),
#endif
#ifdef ESOCKTNOSUPPORT
	ROW(ESOCKTNOSUPPORT, INTERNAL_UNSUPPORTED, "socket type not supported"),
#endif
#ifdef EPFNOSUPPORT
	ROW(EPFNOSUPPORT, INTERNAL_UNSUPPORTED, "protocol family not supported"),
#endif
#ifdef ESHUTDOWN
	ROW(ESHUTDOWN, TRANSPORT_BROKEN_PIPE, "socket was shut down"),
#endif
#ifdef ETOOMANYREFS
	ROW(ETOOMANYREFS, IO_FAILED, "too many references"),
#endif
#ifdef EHOSTDOWN
	ROW(EHOSTDOWN, TRANSPORT_UNREACHABLE, "host is down"),
#endif
#ifdef EUCLEAN
	ROW(EUCLEAN, FILE_READ_FAILED, "file system needs cleaning"),
#endif
#ifdef ENOTNAM
	ROW(ENOTNAM, FILE_READ_FAILED, "not a XENIX named type file"),
#endif
#ifdef ENAVAIL
	ROW(ENAVAIL, FILE_READ_FAILED, "no XENIX semaphores available"),
#endif
#ifdef EISNAM
	ROW(EISNAM, FILE_READ_FAILED, "is a named type file"),
#endif
#ifdef EREMOTEIO
	ROW(EREMOTEIO, IO_FAILED, "remote input/output error"),
#endif
#ifdef ENOMEDIUM
	ROW(ENOMEDIUM, FILE_READ_FAILED, "no medium in the drive"),
#endif
#ifdef EMEDIUMTYPE
	ROW(EMEDIUMTYPE, FILE_READ_FAILED, "wrong medium type"),
#endif
#ifdef ENOKEY
	ROW(ENOKEY, AUTH_INSUFFICIENT_PERMISSIONS, "required key not available"),
#endif
#ifdef EKEYEXPIRED
	ROW(EKEYEXPIRED, AUTH_INSUFFICIENT_PERMISSIONS, "key has expired"),
#endif
#ifdef EKEYREVOKED
	ROW(EKEYREVOKED, AUTH_INSUFFICIENT_PERMISSIONS, "key has been revoked"),
#endif
#ifdef EKEYREJECTED
	ROW(EKEYREJECTED, AUTH_INSUFFICIENT_PERMISSIONS, "key was rejected by the service"),
#endif
#ifdef ERFKILL
	ROW(ERFKILL, TRANSPORT_UNREACHABLE, "radio is switched off"),
#endif
#ifdef EHWPOISON
	ROW(EHWPOISON, FILE_READ_FAILED, "memory page has a hardware error"),
#endif
};

static const struct errno_row *find(int errnum)
{
	if (errnum <= 0 || (size_t)errnum >= sizeof(errnos) / sizeof(errnos[0]))
		return NULL;
	return errnos[errnum].name ? &errnos[errnum] : NULL;
}

const char *fw_errno_name(int errnum)
{
	const struct errno_row *row = find(errnum);

	return row ? row->name : NULL;
}

/* May a peer have acted on data that was sent before the failure? */
static fw_delivery delivery_of(int code)
{
	switch (code) {
	case FW_TRANSPORT_CONNECTION_REFUSED:
	case FW_TRANSPORT_UNREACHABLE: return FW_NOT_SENT;
	case FW_TRANSPORT_CONNECTION_RESET:
	case FW_TRANSPORT_BROKEN_PIPE:
	case FW_TRANSPORT_TIMEOUT:
	case FW_TRANSPORT_PROTOCOL_VIOLATION: return FW_SENT;
	default: return FW_DELIVERY_NONE;
	}
}

fw_error *fw_error_from_errno(fw_src at, int errnum, const char *what)
{
	const struct errno_row *row = find(errnum);
	char number[32];
	fw_error *err;

	if (!row) {
		(void)snprintf(number, sizeof(number), "errno %d", errnum);
		err = fw_raise_internal_unexpected_at(at, NULL);
		fw_error_add_cause(err, "system call failed", number, "errno");
		return err;
	}
	if (row->code == FW_INTERNAL_UNEXPECTED)
		what = row->name; /* becomes its exception_type */
	else if (row->code == FW_INTERNAL_UNSUPPORTED && !what)
		what = "operation";
	err = fw__raw_raise(at, row->code, what, row->words);
	fw_error_set_delivery(err, delivery_of(row->code));
	fw_error_add_cause(err, row->words, row->name, "errno");
	return err;
}
