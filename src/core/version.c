/*
 * version.c - which faultwire this is; the build says so.
 */
#include <faultwire/base.h>

const char *fw_version(void)
{
	return FW_VERSION;
}
