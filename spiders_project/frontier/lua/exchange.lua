-- Carry out a worker's operations in their order, then claim requests for it.
--
-- ARGV[4]  the batch's sequence number, as a decimal string
-- ARGV[5]  msgpack array {operations, want, full, local}; operations are arrays that begin with their kind:
--          {'p', payload, host, priority, fingerprint, force}   put
--          {'a', id, pages}                                     ack
--          {'d', id, letter}                                    bury: a dead letter
--          {'l', id}                                            the download has ended
--          {'g', id}                                            give back, never started
-- Returns  msgpack array {claims, dropped, discarded, seeds, open, next_ms, run, ended};
--          claims are {id, payload, host, deliveries}, dropped are 0-based indexes of operations

local batch = cmsgpack.unpack(ARGV[5])
local operations, want, full = batch[1], batch[2], batch[3]
local k_replies = ns .. ':replies'

local function claims_of(ids)
  local claims = {}
  for _, id in ipairs(ids) do
    local _, _, host = lease_of(id, k_leases)
    local payload = host and call('HGET', k_requests, id)
    if payload then
      claims[#claims + 1] = {id, payload, host, tonumber(call('HGET', k_deliveries, id) or '0')}
    end
  end
  return claims
end

local function answer(claims, dropped, discarded)
  local next_host = call('ZRANGE', k_waiting, 0, 0, 'WITHSCORES')
  local next_ms = next_host[2] and math.max(0, tonumber(next_host[2]) - now) or -1
  return cmsgpack.pack({claims, dropped, discarded, seeds_waiting(), call('HLEN', k_requests),
                        math.ceil(next_ms), call('HGET', k_run, 'id') or '', state.ended})
end

-- The reply to this batch was lost on the way: say again what was said, do nothing twice.
local reply = call('HGET', k_replies, worker)
if reply then
  local said = cmsgpack.unpack(reply)
  if said[1] == ARGV[4] then return answer(claims_of(said[2]), said[3], 0) end
end

-- ---------------------------------------------------------------- operations

local dropped, discarded_before = {}, run.discarded
for index, operation in ipairs(operations) do
  local kind, id = operation[1], operation[2]
  if kind == 'p' then
    if not put_request({unpack(operation, 2)}) then dropped[#dropped + 1] = index - 1 end
  elseif kind == 'a' then
    if finish_request(id) then
      set_run('done', run.done + 1)
      set_run('pages', run.pages + operation[3])
    end
  elseif kind == 'd' then
    local payload = call('HGET', k_requests, id)
    if finish_request(id) then
      call('HSET', k_dead, id, cmsgpack.pack({operation[3], payload, string.format('%.0f', now)}))
      set_run('done', run.done + 1)
      set_run('errors', run.errors + 1)
    end
  elseif kind == 'l' then
    local score, downloading, host = lease_of(id, k_leases)
    if downloading then
      call('HSET', k_leases, id, score .. ' 0 ' .. host)
      free_slot(host)
    end
  elseif kind == 'g' then
    give_back(id, k_leases)
  end
end

if batch[4] > 0 then call('HSET', k_local, worker, batch[4]) else call('HDEL', k_local, worker) end

-- A worker that joins is activity: an end that was near when it came is not its end.
if ARGV[4] == '1' then set_state('idle_since', 0) end

-- ---------------------------------------------------------------- the page limit

-- Throw away what is left over, a bounded number each call, once the run has its pages.
if limit_reached() then
  local budget = 1000
  while budget > 0 do
    local host = call('ZRANGE', k_ready, 0, 0)[1] or call('ZRANGE', k_waiting, 0, 0)[1]
    if not host then break end
    local ids = call('ZRANGE', ns .. ':host:' .. host, 0, budget - 1)
    if #ids > 0 then
      call('HDEL', k_requests, unpack(ids))
      call('HDEL', k_deliveries, unpack(ids))
      call('ZREM', ns .. ':host:' .. host, unpack(ids))
      set_run('discarded', run.discarded + #ids)
      budget = budget - #ids
    end
    if call('EXISTS', ns .. ':host:' .. host) == 0 then
      call('ZREM', k_ready, host)
      call('ZREM', k_waiting, host)
    end
  end
  want = 0
elseif page_limit() > 0 then
  -- Each leased request may become a page: hand out only what the limit still holds, so it is met exactly.
  want = math.min(want, page_limit() - run.pages - state.leased)
end

-- ---------------------------------------------------------------- claim

if want > 0 then
  for _, host in ipairs(call('ZRANGEBYSCORE', k_waiting, '-inf', now, 'LIMIT', 0, 1000)) do
    call('ZREM', k_waiting, host)
    offer(host)
  end
end

local is_full = {}
for _, host in ipairs(full) do is_full[host] = true end

-- The best request of `host`: {id, score}.
local function best_of(host)
  local queue = ns .. ':host:' .. host
  local best = call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  if order == 'lifo' and best[1] then
    return call('ZREVRANGEBYSCORE', queue, best[2], best[2], 'WITHSCORES', 'LIMIT', 0, 1)
  end
  return best
end

local ids = {}

-- Claim one request of a ready host, and book the host.
local function claim_from(host)
  local best = best_of(host)
  local id, score = best[1], best[2]
  if not id then return call('ZREM', k_ready, host) end
  call('ZREM', ns .. ':host:' .. host, id)
  if call('HEXISTS', k_requests, id) == 1 then
    call('HSET', k_leases, id, score .. ' 1 ' .. host)
    call('HINCRBY', k_active, host, 1)
    set_state('leased', state.leased + 1)
    ids[#ids + 1] = id
    local delay, spread = limits_of(host)
    if delay > 0 then
      delay = delay * (1 + spread * (2 * math.random() - 1))
      call('ZADD', k_waiting, string.format('%.0f', now + math.max(0, delay)), host)
    end
  end
  offer(host)
end

-- First the hosts that have not their share of this worker, then any.
for pass = 1, 2 do
  local skipped = 0
  while #ids < want do
    local host = call('ZRANGE', k_ready, skipped, skipped)[1]
    if not host then break end
    if pass == 1 and is_full[host] then skipped = skipped + 1 else claim_from(host) end
  end
end

-- ---------------------------------------------------------------- the end of the run

if call('HLEN', k_requests) == 0 and seeds_waiting() == 0 and call('HLEN', k_local) == 0 then
  if state.idle_since == 0 then
    set_state('idle_since', now)
  elseif now - state.idle_since >= max_idle_ms then
    if run.open == 1 then
      set_run('open', 0)
      call('HSET', k_run, 'state', 'finished', 'ended_at', string.format('%.0f', now),
           'reason', limit_reached() and 'max_pages' or 'finished')
    end
    set_state('ended', state.ended + 1)
    set_state('idle_since', now)
  end
elseif state.idle_since ~= 0 then
  set_state('idle_since', 0)
end

save()
seen_save()
call('HSET', k_replies, worker, cmsgpack.pack({ARGV[4], ids, dropped}))
return answer(claims_of(ids), dropped, run.discarded - discarded_before)
