-- Dead letters go back to the queue; one that is gone meanwhile is skipped.
--
-- ARGV[4]  msgpack array of {id of the letter, payload, host, priority}
-- Returns  how many requests were queued

local rows = expect_all(cmsgpack.unpack(ARGV[4]), 'sssn', 'letter')
for _, row in ipairs(rows) do expect_queue(row[3]) end

local queued = 0
for _, row in ipairs(rows) do
  local id, payload, host, priority = unpack(row)
  -- Without a fingerprint: it is marked as seen already.
  if call('HDEL', k_dead, id) == 1 and put_request({payload, host, priority, '', true, 0}) then
    queued = queued + 1
  end
end
save()
return queued
