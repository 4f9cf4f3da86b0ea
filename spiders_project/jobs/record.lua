-- What a job says of itself, or what somebody found out about one that is dead.
--
-- KEYS[1]  fleet:job:<id>, a hash
-- ARGV[1]  the process that speaks, or "" for somebody else
-- ARGV[2]  s until the record expires, from now on; 0: as it was
-- ARGV[3]  its state: running, finished, failed or died
-- ARGV[4]  ms that the process has lived, as far as the speaker knows
-- ARGV[5]  ms by the process's own clock, or ""
-- ARGV[6…] field, value, field, value, …
-- Returns  ms of the job's start; 0 when the record tells an end already that this may not change

local key, process, ttl, state = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = redis.call('HMGET', key, 'process', 'state', 'started_at', 'seen_at')

if process ~= '' and before[1] and before[1] ~= process then
  redis.call('DEL', key)  -- the job's id was given a second time
  before = {false, false, false, false}
end

local ended = before[2] and before[2] ~= 'running'
-- Others may be wrong about a death, and then the job itself goes on. Its own last word stands.
if ended and (process == '' or before[2] ~= 'died') then return 0 end

local started = before[3] or string.format('%.0f', now - tonumber(ARGV[4]))
redis.call('HSET', key, 'state', state, 'started_at', started, unpack(ARGV, 6))
if process ~= '' then redis.call('HSET', key, 'process', process, 'seen_at', string.format('%.0f', now)) end
if ARGV[5] ~= '' then redis.call('HSET', key, 'clock_off', string.format('%.0f', tonumber(ARGV[5]) - now)) end
if state == 'running' then
  redis.call('HDEL', key, 'ended_at', 'reason')
elseif state == 'died' and before[4] then
  redis.call('HSET', key, 'ended_at', before[4])
else
  redis.call('HSET', key, 'ended_at', string.format('%.0f', now))
end
if ttl > 0 then redis.call('EXPIRE', key, ttl) end
return tonumber(started)
