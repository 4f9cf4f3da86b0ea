-- The requests that are not done, in the order in which they were put; for an export.
--
-- ARGV[4]  the first number that is looked at, as a decimal string
-- ARGV[5]  how many numbers are looked at
-- Returns  msgpack array {next number, or 0 when the newest was looked at; array of {id, payload, due in ms or ''}}

local MOST_BYTES = 4 * 1024 * 1024  -- of payloads in one answer, about

expect_number(ARGV[4], 'number')
expect_number(ARGV[5], 'count')
local number = tonumber(ARGV[4])
local last = math.min(number + tonumber(ARGV[5]) - 1, state.sequence)
local found, bytes = {}, 0
while number <= last and bytes < MOST_BYTES do
  local ids = {}
  for one = number, math.min(number + 99, last) do ids[#ids + 1] = string.format('%010x', one) end
  for index, payload in ipairs(call('HMGET', k_requests, unpack(ids))) do
    if payload then
      found[#found + 1] = {ids[index], payload, call('ZSCORE', k_delayed, ids[index]) or ''}
      bytes = bytes + #payload
    end
  end
  number = number + #ids
end
return cmsgpack.pack({number <= state.sequence and number or 0, found})
