-- What every script knows of the crawl: its terms, the time, its keys, and numbers that are written once, by save().

local terms = cmsgpack.unpack(ARGV[3])
expect(terms, 'nnntsnnssnsn', 'terms')
for _, own in pairs(terms[4]) do expect(own, 'nnn', "a host's terms") end
local delay_ms, jitter, concurrency, host_terms = terms[1], terms[2], terms[3], terms[4]
local order, max_idle_ms, max_pages, seeds_key, seeds_kind = terms[5], terms[6], terms[7], terms[8], terms[9]
local run_candidate, expire_ms = terms[11], terms[12]
math.randomseed(terms[10])  -- Redis seeds the same way for each call, so all workers would draw the same jitter

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local k_requests, k_ready, k_waiting = ns .. ':requests', ns .. ':ready', ns .. ':waiting'
local k_active, k_state, k_run = ns .. ':active', ns .. ':state', ns .. ':run'
local k_deliveries, k_dead, k_local = ns .. ':deliveries', ns .. ':dead', ns .. ':local'
local k_leases, k_workers = ns .. ':leases:' .. worker, ns .. ':workers'
local k_delays = ns .. ':delays'
local k_seen, k_delayed, k_places = ns .. ':seen', ns .. ':delayed', ns .. ':delayed:places'
local k_refused, k_replies, k_reports = ns .. ':refused', ns .. ':replies', ns .. ':reports'
local k_hungry, k_rejected, k_ended_runs = ns .. ':hungry', ns .. ':start_urls:rejected', ns .. ':ended_runs'

for _, key in ipairs({k_requests, k_active, k_state, k_run, k_deliveries, k_dead, k_local, k_leases, k_seen, k_places,
                      k_refused, k_replies, k_reports, k_delays}) do
  expect_key(key, 'hash')
end
for _, key in ipairs({k_ready, k_waiting, k_workers, k_delayed, k_hungry}) do expect_key(key, 'zset') end
expect_key(k_rejected, 'list')
expect_key(k_ended_runs, 'stream')

-- Both are seldom: most requests need not be looked up there.
local has_deliveries = call('HLEN', k_deliveries) > 0
local has_refused = call('HLEN', k_refused) > 0

-- How many seeds wait; -1 where the key has another type than the settings say. That is somebody's slip (sadd for
-- lpush), and must not end a crawl.
local function seeds_waiting()
  local kind = call('TYPE', seeds_key).ok
  if kind == 'none' then return 0 end
  if kind ~= seeds_kind then return -1 end
  if seeds_kind == 'set' then return call('SCARD', seeds_key) end
  if seeds_kind == 'zset' then return call('ZCARD', seeds_key) end
  return call('LLEN', seeds_key)
end

-- Numbers that a script may change many times: read once, written once by save().
local state_fields = {'sequence', 'turn', 'leased', 'ended', 'idle_since'}
local run_fields = {'pages', 'done', 'errors', 'max_pages', 'open'}
local state, run, dirty = {}, {}, {}
for i, value in ipairs(call('HMGET', k_state, unpack(state_fields))) do
  state[state_fields[i]] = tonumber(value or '0')
end
for i, value in ipairs(call('HMGET', k_run, unpack(run_fields))) do
  run[run_fields[i]] = tonumber(value or '0')
end

local function set_state(field, value) state[field] = value; dirty[field] = true end
local function set_run(field, value) run[field] = value; dirty['run:' .. field] = true end

local function save()
  local changed, changed_run = {}, {}
  for _, field in ipairs(state_fields) do
    if dirty[field] then
      changed[#changed + 1] = field
      changed[#changed + 1] = string.format('%.0f', state[field])
    end
  end
  for _, field in ipairs(run_fields) do
    if dirty['run:' .. field] then
      changed_run[#changed_run + 1] = field
      changed_run[#changed_run + 1] = string.format('%.0f', run[field])
    end
  end
  if #changed > 0 then call('HSET', k_state, unpack(changed)) end
  if #changed_run > 0 then call('HSET', k_run, unpack(changed_run)) end
end

local function open_run()
  if run.open == 1 then return end
  call('DEL', k_run)
  for _, field in ipairs(run_fields) do set_run(field, 0) end
  set_run('open', 1)
  call('HSET', k_run, 'id', run_candidate, 'state', 'open', 'started_at', string.format('%.0f', now))
end

local function page_limit() return math.max(run.max_pages, max_pages) end

local function limit_reached()
  local limit = page_limit()
  return run.open == 1 and limit > 0 and run.pages >= limit
end

-- How many requests may still be claimed in this run. Each that is leased may become a page, so the limit is met exactly;
-- what is left over when the run has its pages waits for the next run.
local function room()
  local limit = page_limit()
  return limit > 0 and math.max(0, limit - run.pages - state.leased) or math.huge
end

-- End the run when nobody has worked on it for long enough, and either nothing is left, or what is left is for the next.
local function end_run_when_idle()
  local has_its_pages = limit_reached() and state.leased == 0
  local is_empty = (run.open == 0 or call('HLEN', k_requests) == 0) and seeds_waiting() == 0
  if not (is_empty or has_its_pages) or call('HLEN', k_local) > 0 then
    if state.idle_since ~= 0 then set_state('idle_since', 0) end
  elseif state.idle_since == 0 then
    set_state('idle_since', now)
  elseif now - state.idle_since >= max_idle_ms then
    if run.open == 1 then
      local reason, ended_at = limit_reached() and 'max_pages' or 'finished', string.format('%.0f', now)
      set_run('open', 0)
      call('HSET', k_run, 'state', 'finished', 'ended_at', ended_at, 'reason', reason)
      local started = call('HMGET', k_run, 'id', 'started_at')
      call('XADD', k_ended_runs, 'MAXLEN', '~', 1000, '*', 'id', started[1], 'reason', reason,
           'started_at', started[2], 'ended_at', ended_at, 'done', run.done, 'pages', run.pages,
           'errors', run.errors, 'left', call('HLEN', k_requests))
    end
    set_state('ended', state.ended + 1)
    set_state('idle_since', now)
  end
end
