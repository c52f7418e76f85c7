/*
 * quota_script.h - what the engine runs to decide.
 *
 * Times are the engine's, in units of 100 ns since 2025-01-01: whole numbers that Lua keeps
 * exactly for 28 years, so a bucket of N tokens grants N. A bucket is the time at which it
 * is full again, as in policy/rate.h. Calls in progress are a hash, with a field for each
 * replica that has some; the fields of replicas that have not reported themselves for a
 * while do not count. A count that the engine has lost, as after FLUSHALL, is
 * corrected with the next decision.
 */
#ifndef FW_FLEET_QUOTA_SCRIPT_H
#define FW_FLEET_QUOTA_SCRIPT_H

#define FW_QUOTA_NOW                   \
	"local t=redis.call('TIME')\n" \
	"local now=(t[1]-1735689600)*10000000+t[2]*10\n"

/*
 * Takes tokens out of the bucket KEYS[1]. `each` is the time per token, ARGV[2] that of a
 * whole bucket, `want` how many tokens are wanted, and then how many there are. Each call of
 * the engine and each number that becomes a text costs about a microsecond, so the time to
 * live (ARGV[4], in ms) is that of a whole bucket and not computed.
 */
#define FW_QUOTA_BUCKET                                                 \
	"local top=ARGV[2]+now\n"                                       \
	"local full=tonumber(redis.call('GET',KEYS[1]) or 0) or 0\n"    \
	"if full<now then full=now elseif full>top then full=top end\n" \
	"local left=(top-full)/each\n"                                  \
	"if want>left then want=left-left%1 end\n"                      \
	"if want>0 then\n"                                              \
	" full=full+want*each\n"                                        \
	" redis.call('SET',KEYS[1],full,'PX',ARGV[4])\n"                \
	"end\n"                                                         \
	"local wait=full+each-top\n"                                    \
	"if wait<0 then wait=0 end\n"

/* For a client without a limit of calls in progress. KEYS: bucket. ARGV: time per token, of a
 * whole bucket, tokens wanted, time to live in ms, calls wanted. Returns the time until the
 * next token if there are all tokens, or: tokens, calls, time until the next token. */
static const char FW_QUOTA_RATE[] =
	FW_QUOTA_NOW "local each,want=tonumber(ARGV[1]),tonumber(ARGV[3])\n" FW_QUOTA_BUCKET
		     "if want==tonumber(ARGV[3]) then return wait end\n"
		     "return {want,tonumber(ARGV[5]),wait}\n";

/* KEYS: bucket, calls, replicas. ARGV: time per token (0: no limit), of a whole bucket, tokens
 * wanted, time to live in ms, calls wanted, limit of calls, whether tokens and calls are one,
 * replica, its calls in progress, time to live of these in ms, age of a dead replica.
 * Returns: tokens, calls, time until the next token. */
static const char FW_QUOTA_TAKE[] =
	FW_QUOTA_NOW "local each,want=tonumber(ARGV[1]),tonumber(ARGV[3])\n"
		     "local most,calls,me=tonumber(ARGV[6]),tonumber(ARGV[5]),ARGV[8]\n"
		     "local all,sum,own=redis.call('HGETALL',KEYS[2]),0,0\n"
		     "for i=1,#all,2 do\n"
		     " local n=tonumber(all[i+1]) or 0\n"
		     " if all[i]==me then own=n else\n"
		     "  local seen=tonumber(redis.call('ZSCORE',KEYS[3],all[i]) or 0)\n"
		     "  if now-seen<tonumber(ARGV[11]) then sum=sum+n\n"
		     "  else redis.call('HDEL',KEYS[2],all[i]) end\n"
		     " end\n"
		     "end\n"
		     "if own<tonumber(ARGV[9]) then own=tonumber(ARGV[9]) end\n"
		     "if calls>most-sum-own then calls=most-sum-own end\n"
		     "if calls<0 then calls=0 end\n"
		     "if ARGV[7]=='1' and want>calls then want=calls end\n"
		     "local next_token=0\n"
		     "if each>0 then\n" FW_QUOTA_BUCKET "next_token=wait\n"
		     "end\n"
		     "if ARGV[7]=='1' and calls>want then calls=want end\n"
		     "if own+calls>0 then\n"
		     " redis.call('HSET',KEYS[2],me,own+calls)\n"
		     " redis.call('PEXPIRE',KEYS[2],ARGV[10])\n"
		     "end\n"
		     "return {want,calls,next_token}\n";

/* KEYS: bucket, calls. ARGV: time per token, tokens to give back, calls that have ended,
 * replica, its calls in progress, time to live in ms. */
static const char FW_QUOTA_GIVE[] = FW_QUOTA_NOW
	"local each,tokens=tonumber(ARGV[1]),tonumber(ARGV[2])\n"
	"if each>0 and tokens>0 then\n"
	" local full=tonumber(redis.call('GET',KEYS[1]) or 0) or 0\n"
	" full=full-tokens*each\n"
	" if full>now then redis.call('SET',KEYS[1],string.format('%.0f',full),'PX',"
	"string.format('%.0f',math.ceil((full-now)/10000)+1000))\n"
	" else redis.call('DEL',KEYS[1]) end\n"
	"end\n"
	"local own=(tonumber(redis.call('HGET',KEYS[2],ARGV[4]) or 0) or 0)-tonumber(ARGV[3])\n"
	"if own<tonumber(ARGV[5]) then own=tonumber(ARGV[5]) end\n"
	"if own>0 then\n"
	" redis.call('HSET',KEYS[2],ARGV[4],own)\n"
	" redis.call('PEXPIRE',KEYS[2],ARGV[6])\n"
	"else redis.call('HDEL',KEYS[2],ARGV[4]) end\n"
	"return {own}\n";

/* KEYS: replicas. ARGV: replica ("": none), age of a dead replica, one that leaves ("":
 * none). Returns how many there are. */
static const char FW_QUOTA_BEAT[] =
	FW_QUOTA_NOW "if ARGV[3]~='' then redis.call('ZREM',KEYS[1],ARGV[3]) end\n"
		     "if ARGV[1]~='' then redis.call('ZADD',KEYS[1],now,ARGV[1]) end\n"
		     "redis.call('ZREMRANGEBYSCORE',KEYS[1],'-inf',now-tonumber(ARGV[2]))\n"
		     "redis.call('PEXPIRE',KEYS[1],60000)\n"
		     "return {redis.call('ZCARD',KEYS[1])}\n";

#endif
