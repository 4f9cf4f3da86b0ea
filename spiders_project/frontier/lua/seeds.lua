-- Replace entries of start_urls by their requests, or set them aside with the reason; an entry that is gone is skipped.
--
-- ARGV[4]  msgpack array of verdicts {entry, puts, rejected or false, max_pages};
--          a put is {payload, host, priority, fingerprint, force, delay_ms}, rejected the text to keep
-- Returns  how many requests were queued

-- How many rejected entries are kept; the oldest go first.
local KEEP = 10000

local verdicts = expect_all(cmsgpack.unpack(ARGV[4]), 'ston', 'verdict')
for _, verdict in ipairs(verdicts) do expect_puts(verdict[2]) end
expect_key(seeds_key, seeds_kind)

local function take(entry)
  if seeds_kind == 'set' then return call('SREM', seeds_key, entry) end
  if seeds_kind == 'zset' then return call('ZREM', seeds_key, entry) end
  return call('LREM', seeds_key, 1, entry)
end

local queued = 0
for _, verdict in ipairs(verdicts) do
  local entry, puts, rejected, pages = unpack(verdict)
  if take(entry) == 1 then
    for _, put in ipairs(puts) do
      if put_request(put) then queued = queued + 1 end
    end
    if rejected then
      call('RPUSH', k_rejected, rejected)
      call('LTRIM', k_rejected, -KEEP, -1)
    end
    if pages > run.max_pages then set_run('max_pages', pages) end
    set_state('idle_since', 0)
  end
end
save()
seen_save()
return queued
