-- Merge records of a dump into this crawl.
--
-- ARGV[4]  msgpack array of records:
--          {'request', payload, host, priority, fingerprint, due in ms}
--          {'dead', fingerprint, letter, payload, time in ms}
--          {'seed', fingerprint, entry, score}
--          {'rejected', fingerprint, element}
--          {'seen', fingerprint, ...}
--          Of a request that is not tested, and of the other kinds, the fingerprint is the record's own, so that a dump
--          that is read twice adds nothing twice.
-- Returns  how many records (of 'seen': fingerprints) were new here

local SHAPES = {request = 'ssnfn', dead = 'fssn', seed = 'fsn', rejected = 'fs'}  -- behind the kind

local records = cmsgpack.unpack(ARGV[4])
expect({records}, 't', 'records')
for _, record in ipairs(records) do
  expect(record, 's', 'record')
  local kind, last = record[1], 2
  if kind == 'seen' then
    last = #record
  elseif not SHAPES[kind] then
    refuse_call('MALFORMED record: no kind ' .. kind)
  else
    expect(record, SHAPES[kind], 'record ' .. kind, 2)
  end
  if kind == 'request' then
    expect_queue(record[3])
    if record[5] ~= '' then seen_expect(record[5]) end
  else
    for index = 2, last do
      expect(record, 'f', 'record ' .. kind, index)
      seen_expect(record[index])
    end
  end
end
expect_key(seeds_key, seeds_kind)

local function add(record)
  local kind, mark = record[1], record[2]
  if kind == 'request' then
    local _, payload, host, priority, fingerprint, due = unpack(record)
    return put_request({payload, host, priority, fingerprint, false, math.max(0, due - now)})
  elseif not seen_add(mark) then
    return false
  elseif kind == 'dead' then
    set_state('sequence', state.sequence + 1)
    call('HSET', k_dead, string.format('%010x', state.sequence), cmsgpack.pack({record[3], record[4], record[5]}))
  elseif kind == 'rejected' then
    call('RPUSH', k_rejected, record[3])
  elseif seeds_kind == 'set' then
    call('SADD', seeds_key, record[3])
  elseif seeds_kind == 'zset' then
    call('ZADD', seeds_key, record[4], record[3])
  else
    call('LPUSH', seeds_key, record[3])  -- they come last first
  end
  return true
end

local new = 0
for _, record in ipairs(records) do
  if record[1] == 'seen' then
    for index = 2, #record do
      if seen_add(record[index]) then new = new + 1 end
    end
  elseif add(record) then
    new = new + 1
  end
end
save()
seen_save()
return new
