/*
 * escape_files.c - attempts to read and change files outside the declared paths.
 */
#include "escape.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

/* ---- reading --------------------------------------------------------------------- */

static int read_secret(fw_call *call)
{
	return try_read(text_of(call, "secret"));
}

static int read_passwd(fw_call *call)
{
	(void)call;
	return try_read("/etc/passwd");
}

static int read_shadow(fw_call *call)
{
	(void)call;
	return try_read("/etc/shadow");
}

static int list_root(fw_call *call)
{
	DIR *folder = opendir("/");

	(void)call;
	if (!folder)
		return errno;
	(void)closedir(folder);
	return 0;
}

static int read_by_dots(fw_call *call)
{
	return try_read(in(call, "write", "../secret"));
}

static int read_by_symlink(fw_call *call)
{
	const char *path = in(call, "write", "way-out");

	(void)unlink(path);
	if (symlink(text_of(call, "secret"), path))
		return EBADMSG; /* making the link is allowed */
	return try_read(path);
}

static int read_by_symlinked_folder(fw_call *call)
{
	const char *path = in(call, "write", "folder-out");

	(void)unlink(path);
	if (symlink("..", path))
		return EBADMSG;
	return try_read(in(call, "write", "folder-out/secret"));
}

static int read_by_working_folder(fw_call *call)
{
	/* chdir() is allowed, but does not give access. */
	if (chdir(in(call, "write", "..")))
		return errno;
	return try_read("secret");
}

static int read_by_proc_root(fw_call *call)
{
	char path[4200];

	(void)snprintf(path, sizeof path, "/proc/self/root%s", text_of(call, "secret"));
	return try_read(path);
}

static int read_by_proc_of_server(fw_call *call)
{
	char path[4200];

	(void)snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid_of(call),
		       text_of(call, "secret"));
	return try_read(path);
}

/* An O_PATH descriptor can be had for any file. Opening that again needs rights. */
static int read_by_handle(fw_call *call)
{
	const int fd = open(text_of(call, "secret"), O_PATH | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return errno;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const int errnum = try_read(path);

	(void)close(fd);
	return errnum;
}

static int read_by_openat2(fw_call *call)
{
	const struct {
		uint64_t flags, mode, resolve;
	} how = { O_RDONLY | O_CLOEXEC, 0, 0 };

	return errno_of(
		syscall(SYS_openat2, AT_FDCWD, text_of(call, "secret"), &how, sizeof how));
}

static int read_by_file_handle(fw_call *call)
{
	struct {
		unsigned bytes;
		int type;
		unsigned char handle[128];
	} handle = { 128, 0, { 0 } };
	int mount;

	if (syscall(SYS_name_to_handle_at, AT_FDCWD, text_of(call, "secret"), &handle, &mount,
		    0))
		return errno;
	return errno_of(syscall(SYS_open_by_handle_at, AT_FDCWD, &handle, O_RDONLY));
}

static int read_attributes(fw_call *call)
{
	char value[8];
	const ssize_t got = getxattr(text_of(call, "secret"), "user.x", value, sizeof value);

	/* "No such attribute" means that reading was allowed. */
	return got < 0 && errno != ENODATA ? errno : 0;
}

static int watch_secret(fw_call *call)
{
	const int fd = inotify_init1(IN_CLOEXEC);

	if (fd < 0)
		return errno;
	const int errnum = errno_of(inotify_add_watch(fd, text_of(call, "secret"), IN_OPEN));

	(void)close(fd);
	return errnum;
}

static int read_environment(fw_call *call)
{
	(void)call;
	return getenv("FW_TEST_SECRET") ? 0 : ENODATA;
}

static int read_own_environ(fw_call *call)
{
	static char text[65536];
	const int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);

	(void)call;
	if (fd < 0)
		return errno;
	const ssize_t got = read(fd, text, sizeof text);

	(void)close(fd);
	return got > 0 && memmem(text, (size_t)got, "FW_TEST_SECRET", 14) ? 0 : ENODATA;
}

static int read_dev_mem(fw_call *call)
{
	(void)call;
	return try_open("/dev/mem", O_RDONLY);
}

static int read_dev_kmsg(fw_call *call)
{
	(void)call;
	return try_open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
}

/* ---- changing ---------------------------------------------------------------------- */

static int write_secret(fw_call *call)
{
	return try_open(text_of(call, "secret"), O_WRONLY | O_APPEND);
}

static int write_readable(fw_call *call)
{
	return try_open(in(call, "read", "file"), O_WRONLY);
}

static int truncate_readable(fw_call *call)
{
	return errno_of(truncate(in(call, "read", "file"), 4));
}

static int truncate_by_opening(fw_call *call)
{
	return try_open(in(call, "read", "empty"), O_RDONLY | O_TRUNC);
}

static int create_outside(fw_call *call)
{
	return try_open(in(call, "write", "../created"), O_WRONLY | O_CREAT);
}

static int make_folder_outside(fw_call *call)
{
	return errno_of(mkdir(in(call, "write", "../made"), 0700));
}

static int remove_outside(fw_call *call)
{
	return errno_of(unlink(in(call, "write", "../removable")));
}

static int link_in(fw_call *call)
{
	const char *path = in(call, "write", "linked");

	return errno_of(link(text_of(call, "secret"), path));
}

static int rename_in(fw_call *call)
{
	static char from[4096];

	(void)snprintf(from, sizeof from, "%s", in(call, "write", "../renamable"));
	return errno_of(rename(from, in(call, "write", "renamed")));
}

static int rename_out(fw_call *call)
{
	static char from[4096];

	(void)snprintf(from, sizeof from, "%s", in(call, "write", "mine"));
	if (try_open(from, O_WRONLY | O_CREAT))
		return EBADMSG;
	return errno_of(rename(from, in(call, "write", "../mine")));
}

static int exchange(fw_call *call)
{
	static char from[4096];

	(void)snprintf(from, sizeof from, "%s", in(call, "write", "mine-too"));
	if (try_open(from, O_WRONLY | O_CREAT))
		return EBADMSG;
	return errno_of(renameat2(AT_FDCWD, from, AT_FDCWD, in(call, "write", "../exchanged"),
				  RENAME_EXCHANGE));
}

static int chmod_secret(fw_call *call)
{
	return errno_of(chmod(text_of(call, "secret"), 0640));
}

static int chmod_by_handle(fw_call *call)
{
	const int fd = open(text_of(call, "secret"), O_PATH | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return errno;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const int errnum = errno_of(chmod(path, 0640));

	(void)close(fd);
	return errnum;
}

static int chown_secret(fw_call *call)
{
	return errno_of(chown(text_of(call, "secret"), getuid(), getgid()));
}

static int touch_secret(fw_call *call)
{
	return errno_of(utimensat(AT_FDCWD, text_of(call, "secret"), NULL, 0));
}

static int make_setuid(fw_call *call)
{
	const int fd = open(in(call, "write", "setuid"), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	if (fd < 0)
		return EBADMSG;
	const int errnum = errno_of(fchmod(fd, 04755));

	(void)close(fd);
	return errnum;
}

static int make_device(fw_call *call)
{
	return errno_of(mknod(in(call, "write", "memory"), S_IFCHR | 0600, makedev(1, 1)));
}

const struct trick file_tricks[] = {
	{ "read_secret", read_secret },
	{ "read_passwd", read_passwd },
	{ "read_shadow", read_shadow },
	{ "list_root", list_root },
	{ "read_by_dots", read_by_dots },
	{ "read_by_symlink", read_by_symlink },
	{ "read_by_symlinked_folder", read_by_symlinked_folder },
	{ "read_by_working_folder", read_by_working_folder },
	{ "read_by_proc_root", read_by_proc_root },
	{ "read_by_proc_of_server", read_by_proc_of_server },
	{ "read_by_handle", read_by_handle },
	{ "read_by_openat2", read_by_openat2 },
	{ "read_by_file_handle", read_by_file_handle },
	{ "read_attributes", read_attributes },
	{ "watch_secret", watch_secret },
	{ "read_environment", read_environment },
	{ "read_own_environ", read_own_environ },
	{ "read_dev_mem", read_dev_mem },
	{ "read_dev_kmsg", read_dev_kmsg },
	{ "write_secret", write_secret },
	{ "write_readable", write_readable },
	{ "truncate_readable", truncate_readable },
	{ "truncate_by_opening", truncate_by_opening },
	{ "create_outside", create_outside },
	{ "make_folder_outside", make_folder_outside },
	{ "remove_outside", remove_outside },
	{ "link_in", link_in },
	{ "rename_in", rename_in },
	{ "rename_out", rename_out },
	{ "exchange", exchange },
	{ "chmod_secret", chmod_secret },
	{ "chmod_by_handle", chmod_by_handle },
	{ "chown_secret", chown_secret },
	{ "touch_secret", touch_secret },
	{ "make_setuid", make_setuid },
	{ "make_device", make_device },
	{ NULL, NULL },
};
