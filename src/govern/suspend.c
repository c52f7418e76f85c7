/*
 * suspend.c - see suspend.h.
 */
#include "govern/suspend.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

static size_t bucket_of(const char *tool)
{
	return (size_t)(fw_hash_text(tool, 0) % FW_SUSPENSION_BUCKETS);
}

struct fw_suspension *fw_suspensions_find(const struct fw_suspensions *all, const char *tool)
{
	struct fw_suspension *found;

	if (!all->count)
		return NULL;
	found = all->buckets[bucket_of(tool)];
	while (found && strcmp(found->name, tool) != 0)
		found = found->next;
	return found;
}

struct fw_suspension *fw_suspensions_make(struct fw_suspensions *all, const char *tool)
{
	struct fw_suspension *made = fw_suspensions_find(all, tool);
	size_t size = strlen(tool) + 1;

	if (made || all->count == FW_SUSPENSIONS_MAX)
		return made;
	made = fw__allocate(sizeof *made + size);
	if (!made)
		return NULL;
	memset(made, 0, sizeof *made);
	memcpy(made->name, tool, size);
	made->next = all->buckets[bucket_of(tool)];
	all->buckets[bucket_of(tool)] = made;
	all->count++;
	return made;
}

void fw_suspensions_clear(struct fw_suspensions *all)
{
	for (size_t i = 0; i < FW_SUSPENSION_BUCKETS; i++) {
		while (all->buckets[i]) {
			struct fw_suspension *first = all->buckets[i];

			all->buckets[i] = first->next;
			fw__release(first);
		}
	}
	all->count = 0;
}
