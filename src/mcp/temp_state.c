/* Not committable: stands in until isolated execution is merged. */
#include <pthread.h>
#include <string.h>
#include "base/mem.h"
#include "mcp/impl.h"
struct fw_state { char text[65536]; size_t len; };
static struct fw_state one;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char copy[65536];
fw_error *fw_server_add_state(fw_server *s, const char *text, size_t len, fw_state **ret) { (void)s; (void)fw_state_set(&one, text, len); *ret = &one; return NULL; }
const char *fw_state_text(const fw_state *s, size_t *len) { pthread_mutex_lock(&lock); memcpy(copy, s->text, s->len + 1); if (len) *len = s->len; pthread_mutex_unlock(&lock); return copy; }
bool fw_state_set(fw_state *s, const char *text, size_t len) { pthread_mutex_lock(&lock); memcpy(s->text, text, len); s->text[len] = 0; s->len = len; pthread_mutex_unlock(&lock); return true; }
const char *fw_call_state(const fw_call *c, size_t *len) { (void)c; return fw_state_text(&one, len); }
void fw_call_set_state(fw_call *c, const char *text, size_t len) { (void)c; (void)fw_state_set(&one, text, len); }
fw_error *fw_server_add_workers(fw_server *s, const fw_workers_options *o, fw_workers **r) { (void)s; (void)o; *r = NULL; return NULL; }
