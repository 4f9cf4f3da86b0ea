-- Hosts: what they allow, and whose turn it is.

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

-- A start on `host` at `at` (ms) books it until the next one, which is returned; 0 for a host without a delay.
local function start_at(host, at)
  if limits_of(host) == 0 then return 0 end
  local booked = math.floor(at + draw_delay(host))
  hold(host, booked)
  return booked
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
