/*
 * version.c - the version, set by the build.
 */
#include <faultwire/base.h>

const char *fw_version(void)
{
	return FW_VERSION;
}
