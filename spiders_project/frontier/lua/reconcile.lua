-- Compare a worker's leases with what it holds; give back those it has never heard of.
--
-- ARGV[4]  msgpack array of the ids that the worker holds
-- Returns  msgpack array of those among them that are not leased to it

-- A slot's id begins with the time of its grant. One this young may be on its way to the worker just now.
local YOUNG_MS = 60000

local function is_young(id)
  local granted_at = string.match(id, '^!(%d+)')
  return granted_at and now - tonumber(granted_at) < YOUNG_MS
end

local held, missing = {}, {}
for _, id in ipairs(cmsgpack.unpack(ARGV[4])) do
  held[id] = true
  if call('HEXISTS', k_leases, id) == 0 then missing[#missing + 1] = id end
end
for _, id in ipairs(call('HKEYS', k_leases)) do
  if not held[id] and not is_young(id) then give_back(id, k_leases) end
end
save()
return cmsgpack.pack(missing)
