-- Rejected entries go back to start_urls; one that is gone meanwhile is skipped.
--
-- ARGV[4]  msgpack array of {element of the list of rejected entries, entry}
-- Returns  how many went back

local rows = expect_all(cmsgpack.unpack(ARGV[4]), 'ss', 'rejected seed')
expect_key(seeds_key, seeds_kind)

local count = 0
for _, row in ipairs(rows) do
  local element, entry = unpack(row)
  if call('LREM', k_rejected, 1, element) == 1 then
    if seeds_kind == 'set' then
      call('SADD', seeds_key, entry)
    elseif seeds_kind == 'zset' then
      call('ZADD', seeds_key, 0, entry)
    else
      call('RPUSH', seeds_key, entry)
    end
    count = count + 1
  end
end
return count
