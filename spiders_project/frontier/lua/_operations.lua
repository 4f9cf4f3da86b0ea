-- What a worker says of requests and hosts: arrays that begin with their kind.
--
--   {'p', payload, host, priority, fingerprint, force, delay_ms}   put
--   {'a', id, pages}                                               ack
--   {'d', id, letter}                                              bury: a dead letter
--   {'l', id}                                                      the download has ended
--   {'g', id}                                                      give back
--   {'r', id, letter, version}                                     refuse: for another version, else bury
--   {'w', host, ms}                                                pause a host
--   {'s', host, ms, first}                                         a host asks for so long between two starts; with
--                                                                  `first` unless it has asked already

local SHAPES = {a = 'sn', d = 'ss', l = 's', g = 's', r = 'sss', w = 'sn', s = 'snb'}  -- behind the kind

local function expect_operations(operations)
  local spoken_of = {}
  for _, operation in ipairs(operations) do
    expect(operation, 's', 'operation')
    local kind = operation[1]
    if kind == 'p' then
      expect_put(operation, 2)
    else
      if not SHAPES[kind] then refuse_call('MALFORMED operation: no kind ' .. kind) end
      expect(operation, SHAPES[kind], 'operation ' .. kind, 2)
      if kind ~= 'w' and kind ~= 's' then spoken_of[#spoken_of + 1] = operation[2] end
    end
  end
  expect_leases(k_leases, spoken_of)
end

local REFUSED_MS = 1000  -- until a refused request is offered again

-- Leave a request to workers of a version that has not refused it yet; false when none is alive.
local function refuse(id, letter, version)
  local refused_by = cmsgpack.unpack(call('HGET', k_refused, id) or cmsgpack.pack({}))
  refused_by[version] = true
  for _, other in ipairs(call('ZRANGE', k_workers, 0, -1)) do
    local is_report, report = pcall(cjson.decode, call('HGET', k_reports, other) or '')
    local other_version = is_report and type(report) == 'table' and report.version
    if type(other_version) == 'string' and not refused_by[other_version] then
      local score, host = end_lease(id, k_leases)
      if score then
        call('HSET', k_refused, id, cmsgpack.pack(refused_by))
        has_refused = true
        delay_request(id, score, host, now + REFUSED_MS)
      end
      return true
    end
  end
  return false
end

local function end_download(id)
  local score, downloading, host = lease_of(id, k_leases)
  if string.sub(id, 1, 1) == '!' then
    end_lease(id, k_leases)
  elseif downloading then
    call('HSET', k_leases, id, score .. ' 0 ' .. host)
    free_slot(host)
  end
end

-- Carry them out in their order; returns the 0-based indexes of puts whose fingerprint is known.
local function carry_out(operations)
  local dropped = {}
  for index, operation in ipairs(operations) do
    local kind, id = operation[1], operation[2]
    if kind == 'p' then
      if not put_request({unpack(operation, 2)}) then dropped[#dropped + 1] = index - 1 end
    elseif kind == 'a' then
      if finish_request(id, k_leases) then set_run('pages', run.pages + operation[3]) end
    elseif kind == 'd' then
      bury(id, k_leases, operation[3])
    elseif kind == 'l' then
      end_download(id)
    elseif kind == 'g' then
      give_back(id, k_leases)
    elseif kind == 'r' then
      if not refuse(id, operation[3], operation[4]) then bury(id, k_leases, operation[3]) end
    elseif kind == 'w' then
      hold(id, now + operation[3])
    elseif kind == 's' then
      slow(id, operation[3], operation[4])
    end
  end
  return dropped
end
