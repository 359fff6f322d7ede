"""The Lua scripts of the state store in Redis: every change of a run is one of them, so that it is atomic.

The keys of a run, all in one slot of a cluster; a document goes by its number, twelve digits in the order in
which documents were listed, so that members of a sorted set with equal scores keep that order:

run         hash        what `Run` says; `documents`, `letters`: the numbers given so far
ids         hash        path -> number
listed      hash        number -> path and name, as JSON
metadata    hash        number -> metadata, as JSON; only if there are any
states      hash        number -> the fields named below, as a JSON list of strings
waiting     sorted set  numbers of pending documents, by when they are due
leases      sorted set  numbers of documents in progress, by when their lease ends
owners      hash        number -> the owner of a document in progress
held        sorted set  `owner:number` of documents in progress, all of score 0: ranges by owner
open        sorted set  numbers of documents that are not done, by the listing that saw them last
failed      sorted set  numbers of failed documents, by number
counts      hash        status -> number of documents
stage_names sorted set  `number:stage`, all of score 0: ranges by document and by beginning of the name
stages      hash        `number:stage` -> result
dead        sorted set  numbers of documents with a dead letter, in the order of the letters
letters     hash        number -> dead letter, as JSON
reply       string      what a call has returned, for when it is repeated because its answer was lost

All moments are those of the server's clock. A script returns nil for an unknown run.
"""

KEYS = (
    "run",
    "ids",
    "listed",
    "metadata",
    "states",
    "waiting",
    "leases",
    "owners",
    "held",
    "open",
    "failed",
    "counts",
    "stage_names",
    "stages",
    "dead",
    "letters",
)
"""Names of the keys of a run, in the order in which scripts are given them; the reply follows."""

_PRELUDE = r"""
local RUN, IDS, LISTED, METADATA, STATES, WAITING, LEASES, OWNERS, HELD, OPEN, FAILED, COUNTS,
  STAGE_NAMES, STAGES, DEAD, LETTERS, REPLY = unpack(KEYS)
local STATUS, LISTING, VERSION, UNCERTAIN, DONE_AS, HASH, ERROR, ATTEMPTS, LAST_ATTEMPT, COMPLETED_AT,
  TIMINGS, TOKENS, NANO_DOLLARS = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
local clock = redis.call('TIME')
local NOW = clock[1] + clock[2] / 1000000
local reply_ms = 600000

local function is_done(status)
  return status == 'completed' or status == 'needs_review'
end

local function load_state(number)
  return cjson.decode(redis.call('HGET', STATES, number))
end

local function save_state(number, state)
  redis.call('HSET', STATES, number, cjson.encode(state))
end

local function set_status(number, state, status)
  redis.call('HINCRBY', COUNTS, state[STATUS], -1)
  redis.call('HINCRBY', COUNTS, status, 1)
  if state[STATUS] == 'failed' then redis.call('ZREM', FAILED, number) end
  if status == 'failed' then redis.call('ZADD', FAILED, number, number) end
  state[STATUS] = status
end

local function make_pending(number, state, due)
  set_status(number, state, 'pending')
  redis.call('ZADD', WAITING, due, number)
end

local function end_lease(number)
  local owner = redis.call('HGET', OWNERS, number)
  redis.call('HDEL', OWNERS, number)
  redis.call('ZREM', HELD, owner .. ':' .. number)
  redis.call('ZREM', LEASES, number)
end

local function give_back(number)
  local state = load_state(number)
  end_lease(number)
  state[UNCERTAIN] = '1'
  make_pending(number, state, 0)
  save_state(number, state)
end

local function held_by(owner)
  local numbers = {}
  for _, member in ipairs(redis.call('ZRANGEBYLEX', HELD, '[' .. owner .. ':', '(' .. owner .. ';')) do
    numbers[#numbers + 1] = string.sub(member, -12)
  end
  return numbers
end

local function stage_names(number, prefix)
  local first = number .. ':' .. prefix
  return redis.call('ZRANGEBYLEX', STAGE_NAMES, '[' .. first, '(' .. first .. '\255')
end

local function remove_stages(number, prefix)
  for _, name in ipairs(stage_names(number, prefix)) do
    redis.call('ZREM', STAGE_NAMES, name)
    redis.call('HDEL', STAGES, name)
  end
end

local function remove_letter(number)
  redis.call('HDEL', LETTERS, number)
  return redis.call('ZREM', DEAD, number)
end

local function row(number)
  return {
    redis.call('HGET', STATES, number), redis.call('HGET', LISTED, number),
    redis.call('HGET', METADATA, number),
  }
end

-- The numbers of the documents of these paths, as far as there are any.
local function numbers_of(first_argument)
  local numbers = {}
  for index = first_argument, #ARGV do
    numbers[#numbers + 1] = redis.call('HGET', IDS, ARGV[index]) or nil
  end
  return numbers
end
"""
_AS_IT_IS = "local function answer(result) return result end"

# ARGV[1] is the time to live of all keys in milliseconds. It is extended only once a hundredth of it has
# passed, since each PEXPIRE is also written to the append-only file. Sorted sets that were empty in between
# have none.
_EPILOGUE = r"""
local kept = redis.call('GET', REPLY)
if kept then return answer(cjson.decode(kept)[1]) end
local result = change()
if result == nil then return false end
local ttl_ms = tonumber(ARGV[1])
for index = 1, #KEYS - 1 do
  local left_ms = redis.call('PTTL', KEYS[index])
  if left_ms ~= -2 and left_ms < ttl_ms * 0.99 then redis.call('PEXPIRE', KEYS[index], ttl_ms) end
end
if reply_ms > 0 then redis.call('SET', REPLY, cjson.encode({result}), 'PX', reply_ms) end
return answer(result)
"""


def _change(body: str, *, answer: str = _AS_IT_IS) -> str:
    """The script of a change. answer: what is returned for its result, which is kept for a repeated call."""
    known = "if redis.call('EXISTS', RUN) == 0 then return nil end"
    return f"{_PRELUDE}\n{answer}\nlocal function change()\n{known}\n{body}\nend\n{_EPILOGUE}"


def _question(body: str) -> str:
    return f"{_PRELUDE}\nif redis.call('EXISTS', RUN) == 0 then return false end\n{body}"


CREATE_RUN = (
    _PRELUDE
    + _AS_IT_IS
    + r"""
local function change()
  if redis.call('EXISTS', RUN) == 1 then return 0 end
  for index = 2, #KEYS do redis.call('UNLINK', KEYS[index]) end
  redis.call('HSET', RUN, unpack(ARGV, 2))
  return 1
end
"""
    + _EPILOGUE
)
"""ARGV: fields of the run and their values. 0 if there is such a run already."""

UPDATE_RUN = _change(r"""
redis.call('HSET', RUN, unpack(ARGV, 2))
return 1
""")
"""ARGV: fields of the run and their values."""

REMOVE_RUN = _change(r"""
for index = 1, #KEYS do redis.call('UNLINK', KEYS[index]) end
return 1
""")

BEGIN_LISTING = _change(r"""
return redis.call('HINCRBY', RUN, 'listing', 1)
""")

ADD = _change(r"""
local listing, new, changed = tonumber(ARGV[2]), 0, 0
for index = 3, #ARGV, 4 do
  local path, listed, metadata, version = ARGV[index], ARGV[index + 1], ARGV[index + 2], ARGV[index + 3]
  local number = redis.call('HGET', IDS, path)
  local is_news = not number
  if is_news then
    new = new + 1
    number = string.format('%012d', redis.call('HINCRBY', RUN, 'documents', 1))
    redis.call('HSET', IDS, path, number)
    redis.call('HSET', LISTED, number, listed)
    redis.call('HINCRBY', COUNTS, 'pending', 1)
    redis.call('ZADD', WAITING, 0, number)
    redis.call('ZADD', OPEN, listing, number)
    save_state(number, {'pending', ARGV[2], version, '', '', '', '', '0', '', '', '', '0', '0'})
  else
    local state = load_state(number)
    if tonumber(state[LISTING]) < listing then
      is_news = true
      local status, is_other = state[STATUS], state[VERSION] ~= version
      if status == 'vanished' or (is_other and status == 'failed')
          or ((is_other or version == '') and is_done(status)) then
        changed = changed + 1
        state[DONE_AS] = is_done(status) and status or ''
        make_pending(number, state, 0)
      end
      state[LISTING], state[VERSION] = ARGV[2], version
      save_state(number, state)
      if not is_done(state[STATUS]) then redis.call('ZADD', OPEN, listing, number) end
    end
  end
  if is_news and metadata ~= '' then redis.call('HSET', METADATA, number, metadata) end
end
return {new, changed}
""")
"""ARGV: listing; for each document: path, path and name as JSON, metadata as JSON or nothing, version."""

END_LISTING = _change(r"""
local numbers = redis.call('ZRANGEBYSCORE', OPEN, '-inf', '(' .. ARGV[2], 'LIMIT', ARGV[3], ARGV[4])
local vanished = 0
for _, number in ipairs(numbers) do
  local state = load_state(number)
  if state[STATUS] ~= 'in_progress' then
    vanished = vanished + 1
    redis.call('ZREM', WAITING, number)
    redis.call('ZREM', OPEN, number)
    set_status(number, state, 'vanished')
    save_state(number, state)
  end
end
return {#numbers, vanished}
""")
"""ARGV: listing; how many documents of earlier listings to pass over, and how many to look at.

Gives the numbers of those looked at and of those that have vanished, which are not there the next time.
"""

CLAIM = _change(
    r"""
for _, number in ipairs(redis.call('ZRANGEBYSCORE', LEASES, '-inf', NOW)) do give_back(number) end
local owner, lease_ends = ARGV[2], NOW + ARGV[4]
local numbers = redis.call('ZRANGEBYSCORE', WAITING, '-inf', NOW, 'LIMIT', 0, ARGV[3])
for _, number in ipairs(numbers) do
  local state = load_state(number)
  redis.call('ZREM', WAITING, number)
  set_status(number, state, 'in_progress')
  save_state(number, state)
  redis.call('ZADD', LEASES, lease_ends, number)
  redis.call('HSET', OWNERS, number, owner)
  redis.call('ZADD', HELD, 0, owner .. ':' .. number)
end
reply_ms = #numbers > 0 and 120000 or 0
return numbers
""",
    answer=r"""
local function answer(claimed)
  local rows = {}
  for index, number in ipairs(claimed) do rows[index] = {number, unpack(row(number))} end
  return rows
end
""",
)
"""ARGV: owner, limit, seconds of the lease. Gives number, state, path and name, metadata of each."""

SETTLE = _change(r"""
local owner, lost = ARGV[2], {}
for index = 3, #ARGV, 12 do
  local path, status, is_unchanged, attempts, at, hash, message, delay_s, timings, tokens, nano_dollars,
    letter = unpack(ARGV, index, index + 11)
  local number = redis.call('HGET', IDS, path)
  if not number or redis.call('HGET', OWNERS, number) ~= owner then
    lost[#lost + 1] = path
  else
    local state = load_state(number)
    end_lease(number)
    if is_unchanged == '0' then
      state[ATTEMPTS], state[LAST_ATTEMPT], state[ERROR], state[TIMINGS] = attempts, at, message, timings
      state[COMPLETED_AT] = is_done(status) and at or ''
      if hash ~= '' then state[HASH] = hash end
      state[TOKENS] = string.format('%.0f', state[TOKENS] + tokens)
      state[NANO_DOLLARS] = string.format('%.0f', state[NANO_DOLLARS] + nano_dollars)
    end
    if is_done(status) then
      state[DONE_AS], state[UNCERTAIN] = '', ''
      redis.call('ZREM', OPEN, number)
      remove_stages(number, '')
      remove_letter(number)
    end
    if status == 'pending' then
      make_pending(number, state, delay_s == '' and 0 or NOW + delay_s)
    else
      set_status(number, state, status)
    end
    save_state(number, state)
    if letter ~= '' then
      redis.call('ZADD', DEAD, redis.call('HINCRBY', RUN, 'letters', 1), number)
      redis.call('HSET', LETTERS, number, letter)
    end
  end
end
return lost
""")
"""ARGV: owner; for each document the fields of `redis_records.settlement_arguments`. Gives the paths lost."""

RENEW = _change(r"""
local owner, lease_ends, is_given = ARGV[2], NOW + ARGV[3], {}
for index = 5, #ARGV do is_given[ARGV[index]] = true end
for _, number in ipairs(held_by(owner)) do
  if ARGV[4] == '' or is_given[number] then
    redis.call('ZADD', LEASES, lease_ends, number)
  else
    give_back(number)
  end
end
return 1
""")
"""ARGV: owner, seconds of the lease; `known` and the numbers that the owner knows to hold, or nothing.

What it does not know of any more was settled, and a server that has lost its last writes has forgotten that.
"""

RELEASE = _change(r"""
for _, number in ipairs(held_by(ARGV[2])) do give_back(number) end
return 1
""")
"""ARGV: owner."""

REQUEUE = _change(r"""
local numbers = ARGV[2] == '' and numbers_of(3) or redis.call('ZRANGE', FAILED, 0, ARGV[2] - 1)
local count = 0
for _, number in ipairs(numbers) do
  local state = load_state(number)
  if state[STATUS] == 'failed' then
    count = count + 1
    state[ATTEMPTS] = '0'
    make_pending(number, state, 0)
    save_state(number, state)
  end
end
return count
""")
"""ARGV: how many of all to take, or nothing; paths."""

PURGE = _change(r"""
local numbers = ARGV[2] == '' and numbers_of(3) or redis.call('ZRANGE', DEAD, 0, ARGV[2] - 1)
local count = 0
for _, number in ipairs(numbers) do count = count + remove_letter(number) end
return count
""")
"""ARGV: how many of all to take, or nothing; paths."""

KEEP_STAGES = _change(r"""
for index = 2, #ARGV, 3 do
  local number = redis.call('HGET', IDS, ARGV[index])
  if number then
    local name = number .. ':' .. ARGV[index + 1]
    redis.call('ZADD', STAGE_NAMES, 0, name)
    redis.call('HSET', STAGES, name, ARGV[index + 2])
  end
end
return 1
""")
"""ARGV: for each result its path, stage and content."""

REMOVE_STAGES = _change(r"""
for _, number in ipairs(numbers_of(3)) do remove_stages(number, ARGV[2]) end
return 1
""")
"""ARGV: the beginning of the names of stages; paths."""

STAGES = _question(r"""
local found = {}
for _, number in ipairs(numbers_of(2)) do
  for _, name in ipairs(stage_names(number, ARGV[1])) do
    found[#found + 1] = string.sub(name, 14)
    found[#found + 1] = redis.call('HGET', STAGES, name)
  end
end
return found
""")
"""ARGV: the beginning of the names of stages; a path. Gives names and contents in turn."""

NEXT_DUE = _question(r"""
local first
for _, key in ipairs({WAITING, LEASES}) do
  local moment = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if moment and (not first or tonumber(moment) < first) then first = tonumber(moment) end
end
return first and string.format('%.6f', math.max(0, first - NOW)) or ''
""")
"""Gives seconds, or nothing."""

COUNT = _question("return redis.call('HGETALL', COUNTS)")
"""Gives status and number in turn."""

DOCUMENT = _question(r"""
local rows = {}
for index, number in ipairs(numbers_of(1)) do rows[index] = row(number) end
return rows
""")
"""ARGV: a path. Gives no row or one: state, path and name, metadata."""

DOCUMENTS = _question(r"""
local status, after, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local numbers = {}
if status == 'failed' then
  numbers = redis.call('ZRANGEBYSCORE', FAILED, '(' .. after, '+inf', 'LIMIT', 0, limit)
else
  local last = math.min(after + limit, tonumber(redis.call('HGET', RUN, 'documents') or 0))
  for number = after + 1, last do numbers[#numbers + 1] = string.format('%012d', number) end
end
local rows = {numbers[#numbers] or ''}
for _, number in ipairs(numbers) do
  local state = redis.call('HGET', STATES, number)
  if status == '' or string.find(state, '["' .. status .. '"', 1, true) == 1 then
    rows[#rows + 1] = row(number)
  end
end
return rows
""")
"""ARGV: status or nothing; the number after which the page begins; how many documents to look at.

Gives the number of the last one looked at, or nothing; of each its state, path and name, metadata.
"""

DEAD_LETTERS = _question(r"""
local found = redis.call('ZRANGEBYSCORE', DEAD, '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local letters = {}
for index = 1, #found, 2 do letters[#letters + 1] = redis.call('HGET', LETTERS, found[index]) end
letters[#letters + 1] = found[#found]
return letters
""")
"""ARGV: the number after which the page begins; how many. Gives letters, and the number of the last one."""

INDEX_RUN = r"""
local ttl_ms, left_ms = tonumber(ARGV[1]), redis.call('PTTL', KEYS[1])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
if left_ms < ttl_ms * 0.99 then redis.call('PEXPIRE', KEYS[1], ttl_ms) end
return 1
"""
"""KEYS: the list of runs. ARGV: time to live in milliseconds, when the run was begun, its id."""
