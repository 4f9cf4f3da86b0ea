-- Put a spider's own start requests, once for a run.
--
-- ARGV[4]  msgpack array of puts {payload, host, priority, fingerprint, force, delay_ms}
-- Returns  1 when they were put, 0 when another worker of this run has put them

local puts = expect_puts(cmsgpack.unpack(ARGV[4]))
if run.open == 1 and call('HGET', k_run, 'start_requests') then return 0 end
for _, put in ipairs(puts) do put_request(put) end
call('HSET', k_run, 'start_requests', 1)
save()
seen_save()
return 1
