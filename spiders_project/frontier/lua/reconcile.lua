-- Compare a worker's leases with what it holds; give back those it has never heard of.
--
-- ARGV[4]  msgpack array of the ids that the worker holds
-- Returns  msgpack array of those among them that are not leased to it

-- A slot that was granted so short a time ago may be on its way to the worker just now; whoever does not hear of it in
-- that time has asked again, and got the same. It is longer than a client waits for a reply.
local YOUNG_MS = 12000

local function is_young(id)
  local starts_at = string.sub(id, 1, 1) == '!' and lease_of(id, k_leases)
  return starts_at and now - tonumber(starts_at) < YOUNG_MS
end

local ids = expect_texts(cmsgpack.unpack(ARGV[4]), 'id')
expect_leases(k_leases)

local held, missing = {}, {}
for _, id in ipairs(ids) do
  held[id] = true
  if call('HEXISTS', k_leases, id) == 0 then missing[#missing + 1] = id end
end
for _, id in ipairs(call('HKEYS', k_leases)) do
  if not held[id] and not is_young(id) then give_back(id, k_leases) end
end
save()
return cmsgpack.pack(missing)
