/*
 * limits_fleet.h - limits of what replicas share through an engine (src/fleet/).
 *
 * The one rule to remember: the same as in limits.h. Nothing is kept in the engine without
 * a bound in count, bytes and age.
 */
#ifndef FW_BASE_LIMITS_FLEET_H
#define FW_BASE_LIMITS_FLEET_H

enum {
	/* A reply of the engine; a session. */
	FW_LIMIT_FLEET_REPLY_BYTES = 8 * 1024 * 1024,
	/* Elements of all arrays in one reply. */
	FW_LIMIT_FLEET_REPLY_ELEMENTS = 64 * 1024,
	FW_LIMIT_FLEET_SESSION_BYTES = 256 * 1024,
	/* Events of streams: the largest that is kept, how many bytes are read at once, and
	 * how long they are kept after the newest. Their number and bytes per stream are the
	 * limits stream_events and stream_bytes of the server. */
	FW_LIMIT_FLEET_EVENT_BYTES = 1024 * 1024,
	FW_LIMIT_FLEET_READ_BYTES = 2 * 1024 * 1024,
	FW_LIMIT_FLEET_EVENT_MS = 5 * 60 * 1000,
	/* Announcements of changes and notices of new events that are kept, and how many of
	 * them are read at once. */
	FW_LIMIT_FLEET_CHANGES = 256,
	FW_LIMIT_FLEET_NOTICES = 4096,
	FW_LIMIT_FLEET_NOTICES_READ = 512,
	FW_LIMIT_FLEET_URI_BYTES = 4096,
	/* Resources whose change is announced when the engine is back. */
	FW_LIMIT_FLEET_LATE_URIS = 64,
	/* Upstreams whose breakers are shared. */
	FW_LIMIT_FLEET_BREAKERS = 256,
	/* A replica that has not reported itself for this long has ended: its calls are
	 * not counted, and have no answer. */
	FW_LIMIT_FLEET_DEAD_MS = 3000,
};

#endif
