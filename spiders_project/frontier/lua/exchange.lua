-- Carry out a worker's operations in their order, then claim requests for it.
--
-- ARGV[4]  the batch's sequence number, as a decimal string
-- ARGV[5]  msgpack array {operations, want, held: {host: count}, share, local}; operations are arrays that begin with
--          their kind:
--          {'p', payload, host, priority, fingerprint, force, delay_ms}   put
--          {'a', id, pages}                                     ack
--          {'d', id, letter}                                    bury: a dead letter
--          {'l', id}                                            the download has ended
--          {'g', id}                                            give back
--          {'r', id, letter, version}                           refuse: for another version, else bury
--          {'w', host, ms}                                      pause a host
--          {'s', host, ms, first}                               a host asks for so long between two starts; with
--                                                               `first` unless it has asked already
-- Returns  msgpack array {claims, dropped, seeds, open, next_ms, run, ended, lost, paused};
--          paused is {host: ms} of hosts without delay that the worker holds downloads of;
--          claims are {id, payload, host, booking, deliveries}, dropped are 0-based indexes of operations

local SHAPES = {a = 'sn', d = 'ss', l = 's', g = 's', r = 'sss', w = 'sn', s = 'snb'}  -- behind the kind

expect_number(ARGV[4], 'sequence')
local batch = cmsgpack.unpack(ARGV[5])
expect(batch, 'tntnn', 'batch')
local operations, want, held, share, local_count = unpack(batch)
for host, count in pairs(held) do expect({host, count}, 'sn', 'held') end

local spoken_of = {}
for _, operation in ipairs(operations) do
  expect(operation, 's', 'operation')
  local kind = operation[1]
  if kind == 'p' then
    expect_put(operation, 2)
  else
    if not SHAPES[kind] then refuse_call('MALFORMED operation: no kind ' .. kind) end
    expect(operation, SHAPES[kind], 'operation ' .. kind, 2)
    if kind ~= 'w' and kind ~= 's' then spoken_of[#spoken_of + 1] = operation[2] end
  end
end
expect_leases(k_leases, spoken_of)

-- The claims among `claimed` = {{id, booking}, ...} that are still leased to the worker.
local function claims_of(claimed)
  local claims = {}
  for _, one in ipairs(claimed) do
    local id, booking = one[1], one[2]
    local _, _, host = lease_of(id, k_leases)
    local payload = host and call('HGET', k_requests, id)
    if payload then
      claims[#claims + 1] = {id, payload, host, booking, deliveries_of(id)}
      held[host] = held[host] or 0
    end
  end
  return claims
end

local function first_due()
  if run.open == 0 or room() == 0 then return -1 end  -- nothing is handed out, however due it is
  local due = math.huge
  for _, key in ipairs({k_waiting, k_delayed}) do
    local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if first[2] then due = math.min(due, tonumber(first[2])) end
  end
  return due == math.huge and -1 or math.ceil(math.max(0, due - now))
end

-- Hosts that are paused though the worker may hold claims of them; where a host has a delay, its gate asks anyway.
local OPERATOR_MS = 60000  -- stands for a pause without an end
local function paused_hosts()
  local paused = {}
  if call('ZCARD', k_waiting) == 0 then return paused end
  for host in pairs(held) do
    local until_ms = limits_of(host) == 0 and tonumber(call('ZSCORE', k_waiting, host) or '0') or 0
    if until_ms > now then paused[#paused + 1] = {host, math.min(until_ms - now, OPERATOR_MS)} end
  end
  return paused
end

-- What is left over when a run has its pages is no open work, and seeds that come meanwhile are the next run's.
local function answer(claims, dropped, lost)
  local open = run.open == 1 and call('HLEN', k_requests) or 0
  local seeds = limit_reached() and 0 or seeds_waiting()
  return cmsgpack.pack({claims, dropped, seeds, open, first_due(), call('HGET', k_run, 'id') or '', state.ended, lost,
                        paused_hosts()})
end

local function remember_reply(claimed, dropped, lost)
  call('HSET', k_replies, worker, cmsgpack.pack({ARGV[4], claimed, dropped, lost}))
end

local reply = call('HGET', k_replies, worker)
local said = reply and cmsgpack.unpack(reply) or {'0', {}, {}, false}
if said[1] == ARGV[4] then
  -- The reply to this batch was lost on the way: say again what was said, do nothing twice.
  return answer(claims_of(said[2]), said[3], said[4])
elseif tonumber(said[1]) ~= tonumber(ARGV[4]) - 1 then
  -- What this worker said last is not known here, so its acks may stand on puts that are gone.
  remember_reply({}, {}, true)
  return answer({}, {}, true)
end

-- ---------------------------------------------------------------- operations

local REFUSED_MS = 1000  -- until a refused request is offered again

-- Leave a request to workers of a version that has not refused it yet; false when none is alive.
local function refuse(id, letter, version)
  local refused_by = cmsgpack.unpack(call('HGET', k_refused, id) or cmsgpack.pack({}))
  refused_by[version] = true
  for _, other in ipairs(call('ZRANGE', k_workers, 0, -1)) do
    local is_report, report = pcall(cjson.decode, call('HGET', k_reports, other) or '')
    local other_version = is_report and type(report) == 'table' and report.version
    if type(other_version) == 'string' and not refused_by[other_version] then
      local score, host = end_lease(id, k_leases)
      if score then
        call('HSET', k_refused, id, cmsgpack.pack(refused_by))
        has_refused = true
        delay_request(id, score, host, now + REFUSED_MS)
      end
      return true
    end
  end
  return false
end

local dropped = {}
for index, operation in ipairs(operations) do
  local kind, id = operation[1], operation[2]
  if kind == 'p' then
    if not put_request({unpack(operation, 2)}) then dropped[#dropped + 1] = index - 1 end
  elseif kind == 'a' then
    if finish_request(id, k_leases) then set_run('pages', run.pages + operation[3]) end
  elseif kind == 'd' then
    bury(id, k_leases, operation[3])
  elseif kind == 'l' then
    local score, downloading, host = lease_of(id, k_leases)
    if string.sub(id, 1, 1) == '!' then
      end_lease(id, k_leases)
    elseif downloading then
      call('HSET', k_leases, id, score .. ' 0 ' .. host)
      free_slot(host)
    end
  elseif kind == 'g' then
    give_back(id, k_leases)
  elseif kind == 'r' then
    if not refuse(id, operation[3], operation[4]) then bury(id, k_leases, operation[3]) end
  elseif kind == 'w' then
    hold(id, now + operation[3])
  elseif kind == 's' then
    slow(id, operation[3], operation[4])
  end
end

if local_count > 0 then call('HSET', k_local, worker, local_count) else call('HDEL', k_local, worker) end

-- A worker that joins is activity: an end that was near when it came is not its end.
if ARGV[4] == '1' then set_state('idle_since', 0) end

-- ---------------------------------------------------------------- claim

want = math.min(want, room())

-- Which hosts a claim leads to shows only on the way, and by now the operations are carried out. So a queue of the wrong
-- type ends the claiming, and not the script: what was done is remembered, and the error comes after that.
local broken

local function is_sound(host)
  local key = ns .. ':host:' .. host
  if not looked_at[key] and not pcall(expect_key, key, 'zset') then
    broken = broken or 'WRONGTYPE ' .. key .. ' is a ' .. call('TYPE', key).ok .. ', and should be a zset'
  end
  return not broken
end

if want > 0 and run.open == 1 then
  for _, id in ipairs(call('ZRANGEBYSCORE', k_delayed, '-inf', now, 'LIMIT', 0, 200)) do
    local score, host = string.match(call('HGET', k_places, id) or '', '^(%S+) (.*)$')
    if host and not is_sound(host) then break end
    call('ZREM', k_delayed, id)
    call('HDEL', k_places, id)
    if host then
      call('ZADD', ns .. ':host:' .. host, score, id)
      joined(host, tonumber(score))
    end
  end
  for _, host in ipairs(call('ZRANGEBYSCORE', k_waiting, '-inf', now, 'LIMIT', 0, 1000)) do
    if not is_sound(host) then break end
    call('ZREM', k_waiting, host)
    offer(host)
  end
end

-- Workers that lately got less than they wanted. One host's slots are shared with them, or the worker that hears
-- first of a free slot would keep the host to itself.
local HUNGRY_MS = 1500
local others = 0
if want > 0 then
  call('ZREM', k_hungry, worker)
  call('ZREMRANGEBYSCORE', k_hungry, '-inf', now - HUNGRY_MS)
  others = call('ZCARD', k_hungry)
end

local function has_share(host)
  return share > 0 and (held[host] or 0) >= share
end

local function owes_others(host)
  if others == 0 then return false end
  local _, _, limit = limits_of(host)
  return limit > 0 and (held[host] or 0) >= math.ceil(limit / (others + 1))
end

-- The best request of `host`: {id, score}.
local function best_of(host)
  local queue = ns .. ':host:' .. host
  local best = call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  if order == 'lifo' and best[1] then
    return call('ZREVRANGEBYSCORE', queue, best[2], best[2], 'WITHSCORES', 'LIMIT', 0, 1)
  end
  return best
end

local claimed, claims = {}, {}  -- to be remembered, and to be answered

-- Claim one request of a ready host, and book the host.
local function claim_from(host)
  local best = best_of(host)
  local id, score = best[1], best[2]
  if not id then return call('ZREM', k_ready, host) end
  call('ZREM', ns .. ':host:' .. host, id)
  local payload = call('HGET', k_requests, id)
  if payload then
    call('HSET', k_leases, id, score .. ' 1 ' .. host)
    call('HINCRBY', k_active, host, 1)
    set_state('leased', state.leased + 1)
    held[host] = (held[host] or 0) + 1
    local booking = 0
    if limits_of(host) > 0 then
      booking = math.floor(now + draw_delay(host))
      hold(host, booking)
    end
    claimed[#claimed + 1] = {id, booking}
    claims[#claims + 1] = {id, payload, host, booking, deliveries_of(id)}
  end
  offer(host)
end

-- Whether every host that may be visited now or soon has its share of this worker. Who is paused for longer, or has
-- only just been booked and has no more work, holds nobody up for longer than this.
local SOON_MS = 5000

local function only_full_hosts()
  local soon, full = now + SOON_MS, 0
  for host in pairs(held) do
    if has_share(host) then
      local free_at = tonumber(call('ZSCORE', k_waiting, host) or 'inf')
      if free_at <= soon or call('ZSCORE', k_ready, host) then full = full + 1 end
    end
  end
  return full >= call('ZCARD', k_ready) + call('ZCOUNT', k_waiting, '-inf', soon)
end

-- First the hosts that have not their share of this worker; when there are no others, any that is not owed to others.
for pass = 1, run.open == 1 and 2 or 0 do
  if pass == 2 and (#claimed >= want or not only_full_hosts()) then break end
  local skipped = 0
  while #claimed < want do
    local host = call('ZRANGE', k_ready, skipped, skipped)[1]
    if not host or not is_sound(host) then break end
    if owes_others(host) or (pass == 1 and has_share(host)) then
      skipped = skipped + 1
    else
      claim_from(host)
    end
  end
end
if #claimed > 0 then enlist() end
if #claimed < want then call('ZADD', k_hungry, now, worker) end

-- ---------------------------------------------------------------- the end of the run

-- Nobody works any more, and either nothing is left, or what is left is for the next run.
local has_its_pages = limit_reached() and state.leased == 0
local is_empty = (run.open == 0 or call('HLEN', k_requests) == 0) and seeds_waiting() == 0
if (is_empty or has_its_pages) and call('HLEN', k_local) == 0 then
  if state.idle_since == 0 then
    set_state('idle_since', now)
  elseif now - state.idle_since >= max_idle_ms then
    if run.open == 1 then
      local reason, ended_at = limit_reached() and 'max_pages' or 'finished', string.format('%.0f', now)
      set_run('open', 0)
      call('HSET', k_run, 'state', 'finished', 'ended_at', ended_at, 'reason', reason)
      local started = call('HMGET', k_run, 'id', 'started_at')
      call('XADD', k_ended_runs, 'MAXLEN', '~', 1000, '*', 'id', started[1], 'reason', reason,
           'started_at', started[2], 'ended_at', ended_at, 'done', run.done, 'pages', run.pages,
           'errors', run.errors, 'left', call('HLEN', k_requests))
    end
    set_state('ended', state.ended + 1)
    set_state('idle_since', now)
  end
elseif state.idle_since ~= 0 then
  set_state('idle_since', 0)
end

save()
seen_save()
remember_reply(claimed, dropped, false)
if broken then return redis.error_reply(broken) end
return answer(claims, dropped, false)
