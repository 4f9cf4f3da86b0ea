-- A worker stops: give back what is still leased to it, and forget it. Its last report stays for tools.
--
-- ARGV[4]  JSON report of the worker
-- Returns  requests given back

expect_leases(k_leases)

local returned = 0
for _, id in ipairs(call('HKEYS', k_leases)) do
  if give_back(id, k_leases) then returned = returned + 1 end
end
call('ZREM', k_workers, worker)
call('HDEL', k_local, worker)
call('HDEL', k_replies, worker)
call('HSET', k_reports, worker, ARGV[4])
save()
return returned
