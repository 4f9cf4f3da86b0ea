-- Claims: the best request of each host that may be visited now, in shares that are fair to hosts and to workers.
--
-- `held` is {host: downloads of it that the worker holds}, and grows with each claim; `share` is how many of them one
-- host may have while another could be visited (0: no bound).

-- Which hosts a claim leads to shows only on the way, and by then operations are carried out. So a queue of the wrong
-- type ends the claiming, and not the script: what was done is remembered, and the error comes after that.
local broken

local function is_sound(host)
  local key = ns .. ':host:' .. host
  if not looked_at[key] and not pcall(expect_key, key, 'zset') then
    broken = broken or 'WRONGTYPE ' .. key .. ' is a ' .. call('TYPE', key).ok .. ', and should be a zset'
  end
  return not broken
end

-- Requests and hosts whose time has come take their places.
local function admit_due()
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

-- Other workers that lately got less than they wanted. One host's slots are shared with them, or the worker that hears
-- first of a free slot would keep the host to itself.
local HUNGRY_MS = 1500

local function hungry_others()
  call('ZREM', k_hungry, worker)
  call('ZREMRANGEBYSCORE', k_hungry, '-inf', now - HUNGRY_MS)
  return call('ZCARD', k_hungry)
end

local function owes_others(host, held, others)
  if others == 0 then return false end
  local _, _, limit = limits_of(host)
  return limit > 0 and (held[host] or 0) >= math.ceil(limit / (others + 1))
end

local function has_share(host, held, share)
  return share > 0 and (held[host] or 0) >= share
end

-- Whether every host that may be visited now or soon has its share of this worker. Who is paused for longer, or has
-- only just been booked and has no more work, holds nobody up for longer than this.
local SOON_MS = 5000

local function only_full_hosts(held, share)
  local soon, full = now + SOON_MS, 0
  for host in pairs(held) do
    if has_share(host, held, share) then
      local free_at = tonumber(call('ZSCORE', k_waiting, host) or 'inf')
      if free_at <= soon or call('ZSCORE', k_ready, host) then full = full + 1 end
    end
  end
  return full >= call('ZCARD', k_ready) + call('ZCOUNT', k_waiting, '-inf', soon)
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

-- Claim one request of a ready host, and book the host; nil when there is none.
local function claim_from(host)
  local best = best_of(host)
  local id, score = best[1], best[2]
  if not id then
    call('ZREM', k_ready, host)
    return nil
  end
  call('ZREM', ns .. ':host:' .. host, id)
  local payload = call('HGET', k_requests, id)
  if not payload then
    offer(host)
    return nil
  end
  call('HSET', k_leases, id, score .. ' 1 ' .. host)
  call('HINCRBY', k_active, host, 1)
  set_state('leased', state.leased + 1)
  local booking = start_at(host, now)
  offer(host)
  return {id, payload, host, booking, deliveries_of(id)}
end

-- Up to `want` claims {id, payload, host, booking, deliveries}. First of the hosts that have not their share of this
-- worker; when there are no others, of any that is not owed to others.
local function claim(want, held, share)
  local claims = {}
  if want > 0 and run.open == 1 then admit_due() end
  local others = want > 0 and hungry_others() or 0
  for pass = 1, run.open == 1 and 2 or 0 do
    if pass == 2 and (#claims >= want or not only_full_hosts(held, share)) then break end
    local skipped = 0
    while #claims < want do
      local host = call('ZRANGE', k_ready, skipped, skipped)[1]
      if not host or not is_sound(host) then break end
      if owes_others(host, held, others) or (pass == 1 and has_share(host, held, share)) then
        skipped = skipped + 1
      else
        local one = claim_from(host)
        if one then
          claims[#claims + 1] = one
          held[host] = (held[host] or 0) + 1
        end
      end
    end
  end
  if #claims > 0 then enlist() end
  if #claims < want then call('ZADD', k_hungry, now, worker) end
  return claims
end

-- Of claims that were answered before, {id, booking} each: those that are still leased to the worker, as `claim` has them.
local function claims_again(claimed, held)
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
