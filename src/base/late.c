/*
 * late.c - see late.h.
 */
#include "base/late.h"

#include <dlfcn.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool load(const struct fw_late *library)
{
	void *handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	/* Stored last, because fw_late_load() tests this one to see if all are
	 * loaded. */
	for (size_t i = 0; i < library->count; i++) {
		library->functions[i] = dlsym(handle, library->names[i]);
		if (!library->functions[i]) {
			library->functions[library->count - 1] = NULL;
			return false;
		}
	}
	return true;
}

bool fw_late_load(const struct fw_late *library, const char **ret_why)
{
	bool is_loaded;

	(void)pthread_mutex_lock(&lock);
	is_loaded = library->functions[library->count - 1] || load(library);
	if (!is_loaded && ret_why)
		*ret_why = dlerror();
	(void)pthread_mutex_unlock(&lock);
	return is_loaded;
}
