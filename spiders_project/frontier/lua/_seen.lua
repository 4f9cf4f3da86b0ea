-- The seen set: sets of 64-bit integers that stay intset-encoded (set-max-intset-entries is 512 by default): 8 bytes a member.
-- The number of buckets grows by linear hashing (Litwin, 1980): an insert over the load factor splits one bucket,
-- so there is never a stop-the-world rehash. A bucket that waits for its split holds up to twice the load factor,
-- which must stay below 512 with room for chance.
--
-- With DUPEFILTER_EXPIRE_SECONDS there are two generations: marks are made in the newer one, and looked for in both. When
-- the newer has grown that old it becomes the older one, so a mark is kept for once to twice that time; what was the older
-- one is dropped, some buckets a call. Redis's own expiry would not do: a term is set when a bucket is written, and
-- the setting may be switched on after that, or off.

local LOAD = 200
local DROPPED = 100  -- buckets in one call
local seen_fields = {'level', 'split', 'count', 'generation', 'since', 'old_level', 'old_split', 'old_count',
                     'drop_first', 'drop_end'}
local seen, seen_changed = nil, false

local function seen_load()
  seen = {}
  for i, value in ipairs(call('HMGET', k_seen, unpack(seen_fields))) do
    seen[seen_fields[i]] = tonumber(value or '0')
  end
  if expire_ms == 0 then return end
  if seen.since == 0 then
    seen.since = now
    seen_changed = true
  elseif now - seen.since >= expire_ms and seen.drop_first == seen.drop_end then
    if seen.generation > 0 then seen.drop_first, seen.drop_end = 0, 2 ^ seen.old_level + seen.old_split end
    seen.old_level, seen.old_split, seen.old_count = seen.level, seen.split, seen.count
    if now - seen.since >= 2 * expire_ms then seen.old_count = 0 end
    seen.level, seen.split, seen.count = 0, 0, 0
    seen.generation, seen.since = seen.generation + 1, now
    seen_changed = true
  end
end

local function seen_bucket(fingerprint, level, split)
  local hash = tonumber(string.sub(fingerprint, -9))  -- the low decimal digits of a uniform number are uniform
  if hash < 0 then hash = -hash end
  local bucket = hash % 2 ^ level
  if bucket < split then bucket = hash % 2 ^ (level + 1) end
  return bucket
end

local function seen_key(generation, bucket)
  if generation == 0 then return string.format('%s:seen:%d', ns, bucket) end
  return string.format('%s:seen:%d:%d', ns, generation, bucket)
end

local function seen_grow()
  local size = 2 ^ seen.level
  local from, to = seen.split, seen.split + size
  local kind = call('TYPE', seen_key(seen.generation, from)).ok
  if (kind ~= 'set' and kind ~= 'none') or call('EXISTS', seen_key(seen.generation, to)) == 1 then
    return  -- somebody else's key: the set stays as it is
  end
  local members = call('SMEMBERS', seen_key(seen.generation, from))
  local halves = {[from] = {}, [to] = {}}
  for _, member in ipairs(members) do
    local half = halves[seen_bucket(member, seen.level, seen.split + 1)]
    half[#half + 1] = member
  end
  seen.split = seen.split + 1
  if seen.split == size then seen.level, seen.split = seen.level + 1, 0 end
  call('DEL', seen_key(seen.generation, from))
  for bucket, half in pairs(halves) do
    local key = seen_key(seen.generation, bucket)
    for first = 1, #half, 4000 do
      call('SADD', key, unpack(half, first, math.min(first + 3999, #half)))
    end
  end
end

-- The buckets that `seen_add` will touch are what they should be.
local function seen_expect(fingerprint)
  if not seen then seen_load() end
  expect_key(seen_key(seen.generation, seen_bucket(fingerprint, seen.level, seen.split)), 'set')
  expect_key(seen_key(seen.generation, seen.split), 'set')  -- which may be split
  if seen.old_count > 0 then
    expect_key(seen_key(seen.generation - 1, seen_bucket(fingerprint, seen.old_level, seen.old_split)), 'set')
  end
end

-- Mark a fingerprint (a decimal string of a signed 64-bit integer); true when it was not marked before. With `anew` it
-- is kept from now on for its full time.
local function seen_add(fingerprint, anew)
  if not seen then seen_load() end
  if seen.old_count > 0 and not anew then
    local bucket = seen_bucket(fingerprint, seen.old_level, seen.old_split)
    if call('SISMEMBER', seen_key(seen.generation - 1, bucket), fingerprint) == 1 then return false end
  end
  local key = seen_key(seen.generation, seen_bucket(fingerprint, seen.level, seen.split))
  if call('SADD', key, fingerprint) == 0 then return false end
  seen_changed = true
  seen.count = seen.count + 1
  if seen.count > LOAD * (2 ^ seen.level + seen.split) then seen_grow() end
  return true
end

-- Drop buckets of the generation before the older one.
local function seen_drop()
  local last = math.min(seen.drop_first + DROPPED, seen.drop_end) - 1
  for bucket = seen.drop_first, last do call('UNLINK', seen_key(seen.generation - 2, bucket)) end
  seen.drop_first = last + 1
  if seen.drop_first >= seen.drop_end then seen.drop_first, seen.drop_end = 0, 0 end
end

local function seen_save()
  if not seen_changed then return end
  if seen.drop_end > 0 then seen_drop() end
  local values = {}
  for i, field in ipairs(seen_fields) do
    if i <= 3 or seen.since > 0 then
      values[#values + 1] = field
      values[#values + 1] = string.format('%.0f', seen[field])
    end
  end
  call('HSET', k_seen, unpack(values))
end
