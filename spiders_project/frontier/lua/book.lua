-- Book hosts for downloads that are about to start without a booking that still holds.
--
-- ARGV[4]  msgpack array of asks {host, booking, slot, patience_ms, delay_ms}: the booking that it had or 0; the name of the
--          slot that it needs, or ''; how long it would wait (0: for ever); what the host asks for, as this worker knows
--          it. An ask that comes again, because its reply was lost, gets the slot that it has.
-- Returns  msgpack array of grants {wait_ms, granted, slot_id, booking}

local RETRY_MS, PAUSED_MS = 50, 1000  -- until a host without a free slot, or a paused one, is asked again

local asks = expect_all(cmsgpack.unpack(ARGV[4]), 'snsnn', 'ask')
for _, ask in ipairs(asks) do expect_queue(ask[1]) end

local function grant(host, booking, slot, patience)
  local granted_start = slot ~= '' and lease_of(slot, k_leases)
  if granted_start then return {math.max(0, math.ceil(tonumber(granted_start) - now)), true, slot, 0} end
  local free_at = tonumber(call('ZSCORE', k_waiting, host) or '0')
  if free_at == math.huge then return {PAUSED_MS, false, '', 0} end
  if slot ~= '' and at_limit(host) then return {RETRY_MS, false, '', 0} end
  local moves = booking > 0 and free_at == booking  -- nobody has booked the host since
  if patience > 0 and not moves and free_at - now > patience then return {math.ceil(free_at - now), false, '', 0} end
  local start = now
  if moves then
    call('ZREM', k_waiting, host)
  elseif free_at > now then
    start = free_at
  end
  if slot ~= '' then
    enlist()
    call('HSET', k_leases, slot, string.format('%.0f 1 %s', start, host))
    call('HINCRBY', k_active, host, 1)
  end
  local booked = start_at(host, start)
  offer(host)
  return {math.ceil(start - now), true, slot, booked}
end

local grants = {}
for index, ask in ipairs(asks) do
  local host, booking, slot, patience, delay = unpack(ask)
  if delay > 0 and wish_of(host) == 0 then slow(host, delay) end
  grants[index] = grant(host, booking, slot, patience)
end
save()
return cmsgpack.pack(grants)
