/*
 * journal_script.h - what the engine runs to keep and read events of streams.
 *
 * Events of sessions' streams and changes share one sequence of numbers: the time of the
 * engine in microseconds, and always more than the number before. So numbers go on after
 * the engine has lost its data, and both kinds have one order.
 */
#ifndef FW_FLEET_JOURNAL_SCRIPT_H
#define FW_FLEET_JOURNAL_SCRIPT_H

#define FW_JOURNAL_NOW                 \
	"local t=redis.call('TIME')\n" \
	"local now=t[1]*1000000+t[2]\n"

/* The next number; `key` is that of the last one, `floor` a number that was seen. */
#define FW_JOURNAL_NEXT                                                  \
	"local function follow(key,floor)\n"                             \
	" local last=tonumber(redis.call('GET',key) or 0) or 0\n"        \
	" if last<floor then last=floor end\n"                           \
	" local n=now\n"                                                 \
	" if n<=last then n=last+1 end\n"                                \
	" redis.call('SET',key,string.format('%.0f',n),'PX',86400000)\n" \
	" return n\n"                                                    \
	"end\n"

/* KEYS: events, stream, notices, number. ARGV: name of the stream, number of the event (0:
 * the next), event, kind ('0', '1': the answer, '2': over without one), most events, most
 * bytes, time to live in ms, least number, writer ("": the stream of a session), most
 * notices. Returns: the number of the event; 0: not kept. */
static const char FW_JOURNAL_KEEP[] = FW_JOURNAL_NOW FW_JOURNAL_NEXT
	"if ARGV[9]~='' then\n"
	" local m=redis.call('HMGET',KEYS[2],'writer','over')\n"
	" if m[1]~=ARGV[9] or m[2] then return {0} end\n"
	" redis.call('PEXPIRE',KEYS[2],ARGV[7])\n"
	" if ARGV[4]~='0' then redis.call('HSET',KEYS[2],'over','1') end\n"
	"end\n"
	"local n=tonumber(ARGV[2])\n"
	"if ARGV[4]~='2' then\n"
	" if n==0 then n=follow(KEYS[4],tonumber(ARGV[8])) end\n"
	" local last=redis.call('XREVRANGE',KEYS[1],'+','-','COUNT',1)\n"
	" local sum=#ARGV[3]\n"
	" if last[1] then sum=sum+tonumber(last[1][2][6]) end\n"
	" redis.call('XADD',KEYS[1],'MAXLEN',ARGV[5],string.format('%.0f-0',n),"
	"'json',ARGV[3],'kind',ARGV[4],'sum',string.format('%.0f',sum))\n"
	/* The newest is kept whatever its size. */
	" while true do\n"
	"  local first=redis.call('XRANGE',KEYS[1],'-','+','COUNT',2)\n"
	"  if not first[2] then break end\n"
	"  if sum-tonumber(first[1][2][6])+#first[1][2][2]<=tonumber(ARGV[6]) then break end\n"
	"  redis.call('XDEL',KEYS[1],first[1][1])\n"
	" end\n"
	" redis.call('PEXPIRE',KEYS[1],ARGV[7])\n"
	"end\n"
	"redis.call('XADD',KEYS[3],'MAXLEN','~',ARGV[10],'*','stream',ARGV[1])\n"
	"redis.call('PEXPIRE',KEYS[3],ARGV[7])\n"
	"return {n}\n";

/* KEYS: changes, number. ARGV: kind, URI, most changes, time to live in ms, least number.
 * Returns its number. */
static const char FW_JOURNAL_ANNOUNCE[] = FW_JOURNAL_NOW FW_JOURNAL_NEXT
	"local n=follow(KEYS[2],tonumber(ARGV[5]))\n"
	"redis.call('XADD',KEYS[1],'MAXLEN',ARGV[3],string.format('%.0f-0',n),"
	"'kind',ARGV[1],'uri',ARGV[2])\n"
	"redis.call('XTRIM',KEYS[1],'MINID',string.format('%.0f-0',n-ARGV[4]*1000))\n"
	"redis.call('PEXPIRE',KEYS[1],ARGV[4])\n"
	"return {n}\n";

/* KEYS: events, stream, changes. ARGV: number of the last event that the reader has,
 * whether it is the stream of a session, this replica, start of the key by which a
 * replica reports itself, most bytes. Returns: whether the stream exists, whether its
 * writer has ended (then this replica is its writer), whether it is over, the greatest
 * possible number, whether there is more, the id of its request, events (number, event,
 * kind, ...), changes (number, kind, URI, ...). */
static const char FW_JOURNAL_READ[] =
	FW_JOURNAL_NOW "local m={}\n"
		       "if ARGV[2]=='0' then\n"
		       " m=redis.call('HMGET',KEYS[2],'writer','id','over')\n"
		       " if not m[1] then return {0,0,0,0,0,'',{},{}} end\n"
		       "end\n"
		       "local from='('..ARGV[1]..'-0'\n"
		       "local events,changes,more,bytes={},{},0,0\n"
		       "for _,e in ipairs(redis.call('XRANGE',KEYS[1],from,'+')) do\n"
		       " bytes=bytes+#e[2][2]\n"
		       " if #events>0 and bytes>tonumber(ARGV[5]) then more=1 break end\n"
		       " events[#events+1]=string.match(e[1],'^%d+')\n"
		       " events[#events+1]=e[2][2]\n"
		       " events[#events+1]=e[2][4]\n"
		       "end\n"
		       "if ARGV[2]=='1' then\n"
		       " local last=tonumber(events[#events-2] or 0)\n"
		       " for _,e in ipairs(redis.call('XRANGE',KEYS[3],from,'+')) do\n"
		       "  local n=string.match(e[1],'^%d+')\n"
		       "  if more==1 and tonumber(n)>last then break end\n"
		       "  changes[#changes+1]=n\n"
		       "  changes[#changes+1]=e[2][2]\n"
		       "  changes[#changes+1]=e[2][4]\n"
		       " end\n"
		       "end\n"
		       "local orphan=0\n"
		       "if m[1] and not m[3] and more==0 and m[1]~=ARGV[3] and "
		       "redis.call('EXISTS',ARGV[4]..m[1])==0 then\n"
		       " redis.call('HSET',KEYS[2],'writer',ARGV[3])\n"
		       " orphan=1\n"
		       "end\n"
		       "return {1,orphan,m[3] and 1 or 0,now,more,m[2] or '',events,changes}\n";

/* KEYS: changes, notices. Returns the ids of the newest, and the greatest possible number. */
static const char FW_JOURNAL_NEWEST[] =
	FW_JOURNAL_NOW "local ids={}\n"
		       "for i=1,2 do\n"
		       " local last=redis.call('XREVRANGE',KEYS[i],'+','-','COUNT',1)\n"
		       " ids[i]=last[1] and last[1][1] or '0-0'\n"
		       "end\n"
		       "return {ids[1],ids[2],now}\n";

#endif
