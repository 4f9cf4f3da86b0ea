-- First of the files that `scripts.py` puts in front of every script of the frontier.
--
-- KEYS[1]  <ns>:requests (names the slot on Redis Cluster; all other keys share its namespace)
-- ARGV[1]  namespace
-- ARGV[2]  worker id
-- ARGV[3]  msgpack array of terms: {delay_ms, jitter, concurrency, hosts: {host: {delay_ms, jitter, concurrency}},
--          order, max_idle_ms, max_pages, seeds_key, seeds_kind, random_seed, run_candidate, expire_ms}
--
-- A queue's place is (score, id): score is minus the priority, ids are hexadecimal numbers of fixed width, and
-- a sorted set orders equal scores by member. So a request that returns takes its old place by itself.

local call = redis.call
local ns, worker = ARGV[1], ARGV[2]

-- Redis rolls nothing back: a script that fails half-way keeps what it has written. So each script looks at all its
-- arguments, and at the type of each key that they lead to, before its first write; then nothing is left to fail.

local function refuse_call(text) error(text, 0) end

local FITS = {
  s = function(value) return type(value) == 'string' end,
  n = function(value) return type(value) == 'number' and value > -math.huge and value < math.huge end,
  b = function(value) return type(value) == 'boolean' end,
  t = function(value) return type(value) == 'table' end,
  -- A fingerprint as a decimal number, or '' for a request that is not tested.
  f = function(value) return type(value) == 'string' and (value == '' or string.find(value, '^%-?%d+$') ~= nil) end,
  -- A text, or false for none.
  o = function(value) return value == false or type(value) == 'string' end,
}
local NAMES = {s = 'a text', n = 'a number', b = 'true or false', t = 'an array', f = 'a fingerprint',
               o = 'a text or false'}

-- `row` is an array whose values, from `first` on, fit the letters of `shape`.
local function expect(row, shape, what, first)
  if type(row) ~= 'table' then refuse_call('MALFORMED ' .. what .. ' is no array') end
  for place = 1, #shape do
    local letter = string.sub(shape, place, place)
    local index = place + (first or 1) - 1
    if not FITS[letter](row[index]) then
      refuse_call('MALFORMED ' .. what .. ': value ' .. index .. ' is ' .. type(row[index]) .. ', not ' .. NAMES[letter])
    end
  end
end

local function expect_all(rows, shape, what)
  expect({rows}, 't', what)
  for _, row in ipairs(rows) do expect(row, shape, what) end
  return rows
end

local function expect_number(text, what)
  if not FITS.n(tonumber(text)) then refuse_call('MALFORMED ' .. what .. ' is no number') end  -- Lua reads 'nan', too
end

local function expect_texts(texts, what)
  expect({texts}, 't', what)
  for index = 1, table.maxn(texts) do expect({texts[index]}, 's', what) end  -- ipairs ends before a nil
  return texts
end

local looked_at = {}

-- Somebody's own key under one of our names: the error says which.
local function expect_key(key, kind)
  if looked_at[key] then return end
  local found = call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then
    refuse_call('WRONGTYPE ' .. key .. ' is a ' .. found .. ', and should be a ' .. kind)
  end
  looked_at[key] = true
end

local function expect_queue(host) expect_key(ns .. ':host:' .. host, 'zset') end
