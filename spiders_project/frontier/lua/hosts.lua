-- How hosts stand.
--
-- ARGV[4]  msgpack array of hosts
-- Returns  msgpack array of {requests in its queue, downloads, time in ms until which it is held or ""}

local found = {}
for index, host in ipairs(expect_texts(cmsgpack.unpack(ARGV[4]), 'host')) do
  expect_queue(host)
  found[index] = {call('ZCARD', ns .. ':host:' .. host), tonumber(call('HGET', k_active, host) or '0'),
                  call('ZSCORE', k_waiting, host) or ''}
end
return cmsgpack.pack(found)
