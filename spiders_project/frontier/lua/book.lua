-- Book hosts for downloads that are about to start without a booking that still holds.
--
-- ARGV[4]  msgpack array of asks {host, booking, slot}: the booking of its claim or 0; whether it needs a slot
-- ARGV[5]  a number that is new for each call, to name slots
-- Returns  msgpack array of grants {wait_ms, granted, slot_id}

local RETRY_MS, PAUSED_MS = 50, 1000  -- until a host without a free slot, or a paused one, is asked again

local function grant(host, booking, slot, name)
  local free_at = tonumber(call('ZSCORE', k_waiting, host) or '0')
  if free_at == math.huge then return {PAUSED_MS, false, ''} end
  if slot and at_limit(host) then return {RETRY_MS, false, ''} end
  local slot_id = ''
  if slot then
    slot_id = name
    enlist()
    call('HSET', k_leases, slot_id, '0 1 ' .. host)
    call('HINCRBY', k_active, host, 1)
  end
  local start = now
  if booking > 0 and free_at == booking then
    call('ZREM', k_waiting, host)  -- nobody has booked the host since: the booking moves
  elseif free_at > now then
    start = free_at
  end
  if limits_of(host) > 0 then hold(host, math.floor(start + draw_delay(host))) end
  offer(host)
  return {math.ceil(start - now), true, slot_id}
end

local grants = {}
for index, ask in ipairs(cmsgpack.unpack(ARGV[4])) do
  local host, booking, slot = unpack(ask)
  grants[index] = grant(host, booking, slot, string.format('!%.0f-%s-%d', now, ARGV[5], index))
end
save()
return cmsgpack.pack(grants)
