-- A worker lives; give back what dead ones held.
--
-- ARGV[4]  JSON report of the worker (node, job, version, counts), kept for tools
-- ARGV[5]  ms without a heartbeat after which a worker is dead; 0: judge nobody this time
-- ARGV[6]  deliveries after which a request becomes a dead letter
-- Returns  {requests given back, dead letters, workers declared dead}

-- Reports of workers that are gone are kept for tools, but not for ever.
local KEEP_REPORTS = 200

local MOST = 500  -- requests given back in one call, so that the script stays short

expect_number(ARGV[5], 'patience')
expect_number(ARGV[6], 'deliveries')
local patience, most_deliveries = tonumber(ARGV[5]), tonumber(ARGV[6])

-- Who was silent itself (Redis stood still, or the network) has no right to judge: the others may be late as well.
local before = tonumber(call('ZSCORE', k_workers, worker) or '0')
if now - before > patience * 3 / 4 then patience = 0 end

local silent = patience > 0 and call('ZRANGEBYSCORE', k_workers, '-inf', now - patience, 'LIMIT', 0, 100) or {}
for _, dead in ipairs(silent) do expect_leases(ns .. ':leases:' .. dead) end

if call('HLEN', k_reports) > KEEP_REPORTS then
  for _, other in ipairs(call('HKEYS', k_reports)) do
    if not call('ZSCORE', k_workers, other) then call('HDEL', k_reports, other) end
  end
end

call('ZADD', k_workers, string.format('%.0f', now), worker)
call('HSET', k_reports, worker, ARGV[4])

local returned, buried, gone = 0, 0, 0

if patience > 0 then
  for _, dead in ipairs(silent) do
    local leases = ns .. ':leases:' .. dead
    for _, id in ipairs(call('HKEYS', leases)) do
      if returned + buried >= MOST then break end
      local deliveries = 0
      if string.sub(id, 1, 1) ~= '!' then
        deliveries = call('HINCRBY', k_deliveries, id, 1)
        has_deliveries = true
      end
      if deliveries >= most_deliveries then
        local letter = cjson.encode({reason = 'deliveries', attempts = deliveries,
                                     error = 'its workers died: ' .. dead .. ' was the last'})
        bury(id, leases, letter)
        buried = buried + 1
      else
        give_back(id, leases)
        returned = returned + 1
      end
    end
    if call('EXISTS', leases) == 0 then
      call('ZREM', k_workers, dead)
      call('HDEL', k_local, dead)
      call('HDEL', k_replies, dead)
      gone = gone + 1
    end
  end
end
save()
return {returned, buried, gone}
