-- Shared by every script of the frontier; `scripts.py` puts this text in front of each.
--
-- KEYS[1]  <ns>:requests (names the slot on Redis Cluster; all other keys share its namespace)
-- ARGV[1]  namespace
-- ARGV[2]  worker id
-- ARGV[3]  msgpack array of terms: {delay_ms, jitter, concurrency, hosts: {host: {delay_ms, jitter, concurrency}},
--          order, max_idle_ms, max_pages, seeds_key, seeds_kind, random_seed, run_candidate, expire_ms}
--
-- A queue's place is (score, id): score is minus the priority, ids are hexadecimal numbers of fixed width, and
-- a sorted set orders equal scores by member. So a request that returns takes its old place by itself.

local call = redis.call
local ns, worker = ARGV[1], ARGV[2]

-- ---------------------------------------------------------------- all or nothing
--
-- Redis rolls nothing back: a script that fails half-way keeps what it has written. So each script looks at all its
-- arguments, and at the type of each key that they lead to, before its first write; then nothing is left to fail.

local function refuse_call(text) error(text, 0) end

local FITS = {
  s = function(value) return type(value) == 'string' end,
  n = function(value) return type(value) == 'number' and value > -math.huge and value < math.huge end,
  b = function(value) return type(value) == 'boolean' end,
  t = function(value) return type(value) == 'table' end,
  -- A fingerprint as a decimal number, or '' for a request that is not tested.
  f = function(value) return type(value) == 'string' and (value == '' or string.find(value, '^%-?%d+$') ~= nil) end,
  -- A text, or false for none.
  o = function(value) return value == false or type(value) == 'string' end,
}
local NAMES = {s = 'a text', n = 'a number', b = 'true or false', t = 'an array', f = 'a fingerprint',
               o = 'a text or false'}

-- `row` is an array whose values, from `first` on, fit the letters of `shape`.
local function expect(row, shape, what, first)
  if type(row) ~= 'table' then refuse_call('MALFORMED ' .. what .. ' is no array') end
  for place = 1, #shape do
    local letter = string.sub(shape, place, place)
    local index = place + (first or 1) - 1
    if not FITS[letter](row[index]) then
      refuse_call('MALFORMED ' .. what .. ': value ' .. index .. ' is ' .. type(row[index]) .. ', not ' .. NAMES[letter])
    end
  end
end

local function expect_all(rows, shape, what)
  expect({rows}, 't', what)
  for _, row in ipairs(rows) do expect(row, shape, what) end
  return rows
end

local function expect_number(text, what)
  if not tonumber(text) then refuse_call('MALFORMED ' .. what .. ' is no number') end
end

local function expect_texts(texts, what)
  expect({texts}, 't', what)
  for _, text in ipairs(texts) do expect({text}, 's', what) end
  return texts
end

local looked_at = {}

-- Somebody's own key under one of our names: the error says which.
local function expect_key(key, kind)
  if looked_at[key] then return end
  local found = call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then
    refuse_call('WRONGTYPE ' .. key .. ' is a ' .. found .. ', and should be a ' .. kind)
  end
  looked_at[key] = true
end

local function expect_queue(host) expect_key(ns .. ':host:' .. host, 'zset') end

-- ---------------------------------------------------------------- terms, time, keys

local terms = cmsgpack.unpack(ARGV[3])
expect(terms, 'nnntsnnssnsn', 'terms')
for _, own in pairs(terms[4]) do expect(own, 'nnn', "a host's terms") end
local delay_ms, jitter, concurrency, host_terms = terms[1], terms[2], terms[3], terms[4]
local order, max_idle_ms, max_pages, seeds_key, seeds_kind = terms[5], terms[6], terms[7], terms[8], terms[9]
local run_candidate, expire_ms = terms[11], terms[12]
math.randomseed(terms[10])  -- Redis seeds the same way for each call, so all workers would draw the same jitter

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local k_requests, k_ready, k_waiting = ns .. ':requests', ns .. ':ready', ns .. ':waiting'
local k_active, k_state, k_run = ns .. ':active', ns .. ':state', ns .. ':run'
local k_deliveries, k_dead, k_local = ns .. ':deliveries', ns .. ':dead', ns .. ':local'
local k_leases, k_workers = ns .. ':leases:' .. worker, ns .. ':workers'
local k_delays = ns .. ':delays'
local k_seen, k_delayed, k_places = ns .. ':seen', ns .. ':delayed', ns .. ':delayed:places'
local k_refused, k_replies, k_reports = ns .. ':refused', ns .. ':replies', ns .. ':reports'
local k_hungry, k_rejected, k_ended_runs = ns .. ':hungry', ns .. ':start_urls:rejected', ns .. ':ended_runs'

for _, key in ipairs({k_requests, k_active, k_state, k_run, k_deliveries, k_dead, k_local, k_leases, k_seen, k_places,
                      k_refused, k_replies, k_reports, k_delays}) do
  expect_key(key, 'hash')
end
for _, key in ipairs({k_ready, k_waiting, k_workers, k_delayed, k_hungry}) do expect_key(key, 'zset') end
expect_key(k_rejected, 'list')
expect_key(k_ended_runs, 'stream')

-- Both are seldom: most requests need not be looked up there.
local has_deliveries = call('HLEN', k_deliveries) > 0
local has_refused = call('HLEN', k_refused) > 0

-- How many seeds wait; -1 where the key has another type than the settings say. That is somebody's slip (sadd for
-- lpush), and must not end a crawl.
local function seeds_waiting()
  local kind = call('TYPE', seeds_key).ok
  if kind == 'none' then return 0 end
  if kind ~= seeds_kind then return -1 end
  if seeds_kind == 'set' then return call('SCARD', seeds_key) end
  if seeds_kind == 'zset' then return call('ZCARD', seeds_key) end
  return call('LLEN', seeds_key)
end

-- Numbers that a script may change many times: read once, written once by save().
local state_fields = {'sequence', 'turn', 'leased', 'ended', 'idle_since'}
local run_fields = {'pages', 'done', 'errors', 'max_pages', 'open'}
local state, run, dirty = {}, {}, {}
for i, value in ipairs(call('HMGET', k_state, unpack(state_fields))) do
  state[state_fields[i]] = tonumber(value or '0')
end
for i, value in ipairs(call('HMGET', k_run, unpack(run_fields))) do
  run[run_fields[i]] = tonumber(value or '0')
end

local function set_state(field, value) state[field] = value; dirty[field] = true end
local function set_run(field, value) run[field] = value; dirty['run:' .. field] = true end

local function save()
  local changed, changed_run = {}, {}
  for _, field in ipairs(state_fields) do
    if dirty[field] then
      changed[#changed + 1] = field
      changed[#changed + 1] = string.format('%.0f', state[field])
    end
  end
  for _, field in ipairs(run_fields) do
    if dirty['run:' .. field] then
      changed_run[#changed_run + 1] = field
      changed_run[#changed_run + 1] = string.format('%.0f', run[field])
    end
  end
  if #changed > 0 then call('HSET', k_state, unpack(changed)) end
  if #changed_run > 0 then call('HSET', k_run, unpack(changed_run)) end
end

-- ---------------------------------------------------------------- hosts

-- What a host itself asks for between two starts (robots.txt, AutoThrottle), in ms; never less than the terms say.
local has_delays, wishes = call('HLEN', k_delays) > 0, {}

local function wish_of(host)
  if not has_delays then return 0 end
  if not wishes[host] then wishes[host] = tonumber(call('HGET', k_delays, host) or '0') or 0 end
  return wishes[host]
end

local function terms_of(host)
  local own = host_terms[host]
  if own then return own[1], own[2], own[3] end
  return delay_ms, jitter, concurrency
end

local function limits_of(host)
  local delay, spread, limit = terms_of(host)
  return math.max(delay, wish_of(host)), spread, limit
end

local function at_limit(host)
  local _, _, limit = limits_of(host)
  return limit > 0 and tonumber(call('HGET', k_active, host) or '0') >= limit
end

-- The ready set orders hosts by best priority, then turn: score = -priority * SPAN + turn.
local SPAN, MAX_PRIORITY = 4294967296, 1048575

local function next_turn()
  set_state('turn', (state.turn + 1) % SPAN)
  return state.turn
end

local function ready_score(queue_score, turn)
  local clamped = math.max(-MAX_PRIORITY, math.min(MAX_PRIORITY, queue_score))
  return string.format('%.0f', math.floor(clamped) * SPAN + turn)
end

-- Put a host where it belongs when it has work and may be visited; `turn` nil means: at the end of the round.
local function offer(host, turn)
  local best = call('ZRANGE', ns .. ':host:' .. host, 0, 0, 'WITHSCORES')
  if not best[1] or call('ZSCORE', k_waiting, host) or at_limit(host) then
    call('ZREM', k_ready, host)
    return
  end
  call('ZADD', k_ready, ready_score(tonumber(best[2]), turn or next_turn()), host)
end

-- A request joined the queue of `host`. The turn that a ready host holds is kept.
local function joined(host, queue_score)
  local held = call('ZSCORE', k_ready, host)
  if not held then return offer(host) end
  held = tonumber(held)
  if queue_score < math.floor(held / SPAN) then
    call('ZADD', k_ready, ready_score(queue_score, held % SPAN), host)
  end
end

-- Nobody visits `host` before `until` (ms); a later time that holds already stays (a pause, another booking).
local function hold(host, until_ms)
  call('ZADD', k_waiting, 'GT', until_ms == math.huge and '+inf' or string.format('%.0f', until_ms), host)
  call('ZREM', k_ready, host)
end

-- A start may be late by so much before it has to book anew; added to the delay, so the limit still holds.
local SLACK_MS = 20

-- The delay after a start on `host`, in ms, with the slack. Jitter is for the terms; what the host asks for is the least.
local function draw_delay(host)
  local delay, spread = terms_of(host)
  return math.max(0, wish_of(host), delay * (1 + spread * (2 * math.random() - 1))) + SLACK_MS
end

-- A host asks for `ms` between two starts; with `first` only unless it has asked already.
local function slow(host, ms, first)
  local before = limits_of(host)
  if ms > 0 then
    call(first and 'HSETNX' or 'HSET', k_delays, host, string.format('%.0f', ms))
  else
    call('HDEL', k_delays, host)
  end
  has_delays, wishes[host] = true, nil
  if before == 0 then hold(host, now + limits_of(host)) end  -- nobody knows when it was visited last
end

-- ---------------------------------------------------------------- the run

local function open_run()
  if run.open == 1 then return end
  call('DEL', k_run)
  for _, field in ipairs(run_fields) do set_run(field, 0) end
  set_run('open', 1)
  call('HSET', k_run, 'id', run_candidate, 'state', 'open', 'started_at', string.format('%.0f', now))
end

local function page_limit() return math.max(run.max_pages, max_pages) end

local function limit_reached()
  local limit = page_limit()
  return run.open == 1 and limit > 0 and run.pages >= limit
end

-- How many requests may still be claimed in this run. Each that is leased may become a page, so the limit is met exactly;
-- what is left over when the run has its pages waits for the next run.
local function room()
  local limit = page_limit()
  return limit > 0 and math.max(0, limit - run.pages - state.leased) or math.huge
end

-- ---------------------------------------------------------------- the seen set
--
-- Sets of 64-bit integers that stay intset-encoded (set-max-intset-entries is 512 by default): 8 bytes a member.
-- The number of buckets grows by linear hashing (Litwin, 1980): an insert over the load factor splits one bucket,
-- so there is never a stop-the-world rehash. A bucket that waits for its split holds up to twice the load factor,
-- which must stay below 512 with room for chance.

--
-- With DUPEFILTER_EXPIRE_SECONDS there are two generations: marks are made in the newer one, and looked for in both. When
-- the newer has grown that old it becomes the older one, so a mark is kept for once to twice that time; what was the older
-- one is dropped, some buckets a call. Redis's own expiry would not do: a term is set when a bucket is written, and
-- the setting may be switched on after that, or off.

local LOAD = 200
local DROPPED = 100  -- buckets in one call
local seen_fields = {'level', 'split', 'count', 'generation', 'since', 'old_level', 'old_split', 'old_count',
                     'drop_first', 'drop_end'}
local seen, seen_changed = nil, false

local function seen_load()
  seen = {}
  for i, value in ipairs(call('HMGET', k_seen, unpack(seen_fields))) do
    seen[seen_fields[i]] = tonumber(value or '0')
  end
  if expire_ms == 0 then return end
  if seen.since == 0 then
    seen.since = now
    seen_changed = true
  elseif now - seen.since >= expire_ms and seen.drop_first == seen.drop_end then
    if seen.generation > 0 then seen.drop_first, seen.drop_end = 0, 2 ^ seen.old_level + seen.old_split end
    seen.old_level, seen.old_split, seen.old_count = seen.level, seen.split, seen.count
    if now - seen.since >= 2 * expire_ms then seen.old_count = 0 end
    seen.level, seen.split, seen.count = 0, 0, 0
    seen.generation, seen.since = seen.generation + 1, now
    seen_changed = true
  end
end

local function seen_bucket(fingerprint, level, split)
  local hash = tonumber(string.sub(fingerprint, -9))  -- the low decimal digits of a uniform number are uniform
  if hash < 0 then hash = -hash end
  local bucket = hash % 2 ^ level
  if bucket < split then bucket = hash % 2 ^ (level + 1) end
  return bucket
end

local function seen_key(generation, bucket)
  if generation == 0 then return string.format('%s:seen:%d', ns, bucket) end
  return string.format('%s:seen:%d:%d', ns, generation, bucket)
end

local function seen_grow()
  local size = 2 ^ seen.level
  local from, to = seen.split, seen.split + size
  local kind = call('TYPE', seen_key(seen.generation, from)).ok
  if (kind ~= 'set' and kind ~= 'none') or call('EXISTS', seen_key(seen.generation, to)) == 1 then
    return  -- somebody else's key: the set stays as it is
  end
  local members = call('SMEMBERS', seen_key(seen.generation, from))
  local halves = {[from] = {}, [to] = {}}
  for _, member in ipairs(members) do
    local half = halves[seen_bucket(member, seen.level, seen.split + 1)]
    half[#half + 1] = member
  end
  seen.split = seen.split + 1
  if seen.split == size then seen.level, seen.split = seen.level + 1, 0 end
  call('DEL', seen_key(seen.generation, from))
  for bucket, half in pairs(halves) do
    local key = seen_key(seen.generation, bucket)
    for first = 1, #half, 4000 do
      call('SADD', key, unpack(half, first, math.min(first + 3999, #half)))
    end
  end
end

-- The buckets that `seen_add` will touch are what they should be.
local function seen_expect(fingerprint)
  if not seen then seen_load() end
  expect_key(seen_key(seen.generation, seen_bucket(fingerprint, seen.level, seen.split)), 'set')
  expect_key(seen_key(seen.generation, seen.split), 'set')  -- which may be split
  if seen.old_count > 0 then
    expect_key(seen_key(seen.generation - 1, seen_bucket(fingerprint, seen.old_level, seen.old_split)), 'set')
  end
end

-- Mark a fingerprint (a decimal string of a signed 64-bit integer); true when it was not marked before. With `anew` it
-- is kept from now on for its full time.
local function seen_add(fingerprint, anew)
  if not seen then seen_load() end
  if seen.old_count > 0 and not anew then
    local bucket = seen_bucket(fingerprint, seen.old_level, seen.old_split)
    if call('SISMEMBER', seen_key(seen.generation - 1, bucket), fingerprint) == 1 then return false end
  end
  local key = seen_key(seen.generation, seen_bucket(fingerprint, seen.level, seen.split))
  if call('SADD', key, fingerprint) == 0 then return false end
  seen_changed = true
  seen.count = seen.count + 1
  if seen.count > LOAD * (2 ^ seen.level + seen.split) then seen_grow() end
  return true
end

-- Drop buckets of the generation before the older one.
local function seen_drop()
  local last = math.min(seen.drop_first + DROPPED, seen.drop_end) - 1
  for bucket = seen.drop_first, last do call('UNLINK', seen_key(seen.generation - 2, bucket)) end
  seen.drop_first = last + 1
  if seen.drop_first >= seen.drop_end then seen.drop_first, seen.drop_end = 0, 0 end
end

local function seen_save()
  if not seen_changed then return end
  if seen.drop_end > 0 then seen_drop() end
  local values = {}
  for i, field in ipairs(seen_fields) do
    if i <= 3 or seen.since > 0 then
      values[#values + 1] = field
      values[#values + 1] = string.format('%.0f', seen[field])
    end
  end
  call('HSET', k_seen, unpack(values))
end

-- ---------------------------------------------------------------- requests

-- A request waits until `due` (ms), and joins the queue of its host then.
local function delay_request(id, score, host, due)
  call('ZADD', k_delayed, string.format('%.0f', due), id)
  call('HSET', k_places, id, score .. ' ' .. host)
end

-- A put, and all that queueing it leads to, is what it should be; its values begin at `first`.
local function expect_put(put, first)
  expect(put, 'ssnfbn', 'put', first)
  expect_queue(put[first + 1])
  if put[first + 3] ~= '' then seen_expect(put[first + 3]) end
end

local function expect_puts(puts)
  expect({puts}, 't', 'puts')
  for _, put in ipairs(puts) do expect_put(put, 1) end
  return puts
end

-- Queue a request and mark it; false when its fingerprint is known. `put` = {payload, host, priority, fingerprint,
-- force, delay_ms}.
local function put_request(put)
  local payload, host, priority, fingerprint, force, delay = unpack(put)
  if fingerprint ~= '' and not seen_add(fingerprint, force) and not force then return false end
  open_run()
  set_state('sequence', state.sequence + 1)
  local id = string.format('%010x', state.sequence)
  call('HSET', k_requests, id, payload)
  if delay > 0 then
    delay_request(id, -priority, host, now + delay)
  else
    call('ZADD', ns .. ':host:' .. host, -priority, id)
    joined(host, -priority)
  end
  set_state('idle_since', 0)
  return true
end

-- A lease is "<queue score> <1 while downloading, else 0> <host>". An id that begins with "!" is no request but the
-- concurrency slot of a download that was never claimed (robots.txt, media); its score is the time when it may start.
local function lease_of(id, leases)
  local value = call('HGET', leases, id)
  if not value then return nil end
  local score, downloading, host = string.match(value, '^(%S+) (%d) (.*)$')
  return score, downloading == '1', host
end

-- Whatever leases lead to, when they end, is what it should be; without `ids` it is all of them.
local function expect_leases(leases, ids)
  expect_key(leases, 'hash')
  for _, id in ipairs(ids or call('HKEYS', leases)) do
    local _, _, host = lease_of(id, leases)
    if host then expect_queue(host) end
  end
end

-- Whoever holds a lease must have a heartbeat that can fall silent, or nobody would ever give the lease back: also a
-- worker that dies before its first heartbeat, or right after it was taken for dead.
local function enlist() call('ZADD', k_workers, 'NX', string.format('%.0f', now), worker) end

local function free_slot(host)
  if call('HINCRBY', k_active, host, -1) <= 0 then call('HDEL', k_active, host) end
  if not call('ZSCORE', k_ready, host) then offer(host) end
end

-- The request leaves the worker's lease; returns score and host, or nil when it was not leased to it.
local function end_lease(id, leases)
  local score, downloading, host = lease_of(id, leases)
  if not score then return nil end
  call('HDEL', leases, id)
  if string.sub(id, 1, 1) ~= '!' then set_state('leased', math.max(0, state.leased - 1)) end
  if downloading then free_slot(host) end
  return score, host
end

local function deliveries_of(id) return has_deliveries and tonumber(call('HGET', k_deliveries, id) or '0') or 0 end

-- Back to the old place in the queue; false when it was not leased to the worker.
local function give_back(id, leases)
  local score, host = end_lease(id, leases)
  if not score or string.sub(id, 1, 1) == '!' then return false end
  call('ZADD', ns .. ':host:' .. host, score, id)
  joined(host, tonumber(score))
  return true
end

-- The request leaves the frontier; false when it was not leased to the worker.
local function finish_request(id, leases)
  if not end_lease(id, leases) then return false end
  call('HDEL', k_requests, id)
  if has_deliveries then call('HDEL', k_deliveries, id) end
  if has_refused then call('HDEL', k_refused, id) end
  set_run('done', run.done + 1)
  return true
end

-- The request becomes a dead letter; nothing happens when it was not leased to the worker.
local function bury(id, leases, letter)
  local payload = call('HGET', k_requests, id)
  if not finish_request(id, leases) or not payload then return end
  call('HSET', k_dead, id, cmsgpack.pack({letter, payload, string.format('%.0f', now)}))
  set_run('errors', run.errors + 1)
end
