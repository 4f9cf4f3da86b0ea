-- Requests: queued, leased, returned, done.

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
