-- Carry out a worker's operations in their order, then claim requests for it.
--
-- ARGV[4]  the batch's sequence number, as a decimal string
-- ARGV[5]  msgpack array {operations (`_operations.lua`), want, held: {host: count}, share, local}
-- Returns  msgpack array {claims, dropped, seeds, open, next_ms, run, ended, lost, paused};
--          paused is {host: ms} of hosts without delay that the worker holds downloads of;
--          claims are {id, payload, host, booking, deliveries}, dropped are 0-based indexes of operations

expect_number(ARGV[4], 'sequence')
local batch = cmsgpack.unpack(ARGV[5])
expect(batch, 'tntnn', 'batch')
local operations, want, held, share, local_count = unpack(batch)
for host, count in pairs(held) do expect({host, count}, 'sn', 'held') end
expect_operations(operations)

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

local function remember_reply(claims, dropped, lost)
  local claimed = {}
  for index, claim in ipairs(claims) do claimed[index] = {claim[1], claim[4]} end
  call('HSET', k_replies, worker, cmsgpack.pack({ARGV[4], claimed, dropped, lost}))
end

local reply = call('HGET', k_replies, worker)
local said = reply and cmsgpack.unpack(reply) or {'0', {}, {}, false}
if said[1] == ARGV[4] then
  -- The reply to this batch was lost on the way: say again what was said, do nothing twice.
  return answer(claims_again(said[2], held), said[3], said[4])
elseif tonumber(said[1]) ~= tonumber(ARGV[4]) - 1 then
  -- What this worker said last is not known here, so its acks may stand on puts that are gone.
  remember_reply({}, {}, true)
  return answer({}, {}, true)
end

local dropped = carry_out(operations)

if local_count > 0 then call('HSET', k_local, worker, local_count) else call('HDEL', k_local, worker) end

-- A worker that joins is activity: an end that was near when it came is not its end.
if ARGV[4] == '1' then set_state('idle_since', 0) end

local claims = claim(math.min(want, room()), held, share)

end_run_when_idle()

save()
seen_save()
remember_reply(claims, dropped, false)
if broken then return redis.error_reply(broken) end
return answer(claims, dropped, false)
