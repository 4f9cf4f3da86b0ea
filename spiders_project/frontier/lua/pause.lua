-- An operator keeps a host from being visited, or lets it be visited again.
--
-- ARGV[4]  host
-- ARGV[5]  for how many ms from now; "inf" until it is resumed, "0" resumes it
-- Returns  {requests in its queue, 1 when it was held before, else 0}

local host, ms = ARGV[4], ARGV[5]
expect({host}, 's', 'host')
expect_queue(host)
if ms ~= 'inf' then expect_number(ms, 'pause') end
local before = call('ZSCORE', k_waiting, host)
local held = tonumber(before or '0')

-- Workers only ever lengthen a hold; an operator's word goes before an earlier operator's.
call('ZREM', k_waiting, host)
if ms == 'inf' then
  hold(host, math.huge)
elseif ms ~= '0' then
  hold(host, math.max(now + tonumber(ms), held < math.huge and held or 0))
elseif before and limits_of(host) > 0 then
  hold(host, math.floor(now + draw_delay(host)))  -- nobody knows any more when it was visited last
else
  offer(host)
end
save()
return {call('ZCARD', ns .. ':host:' .. host), held > now and 1 or 0}
