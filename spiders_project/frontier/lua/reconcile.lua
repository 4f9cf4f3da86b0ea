-- Compare a worker's leases with what it holds; give back those it has never heard of.
--
-- ARGV[4]  msgpack array of the ids that the worker holds
-- Returns  msgpack array of those among them that are not leased to it

local held, missing = {}, {}
for _, id in ipairs(cmsgpack.unpack(ARGV[4])) do
  held[id] = true
  if call('HEXISTS', k_leases, id) == 0 then missing[#missing + 1] = id end
end
for _, id in ipairs(call('HKEYS', k_leases)) do
  if not held[id] then give_back(id, k_leases) end
end
save()
return cmsgpack.pack(missing)
