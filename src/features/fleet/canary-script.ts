import { type StoreScript, storeScript } from "./shared-store.ts";

/**
 * The trial of a configuration, as the store keeps it: a hash, which every gateway reports to and which is judged there, by the store's
 * clock, so that all see one verdict. docs/fleet.md#canaries
 *
 *     begin   version, canaries (ids with commas), gateways, milliseconds, most of the share of 5xx above the others, requests that count, usual share
 *     report  version that runs, id, requests since the last report, 5xx among them, "try" before it is applied, fault
 *     leave   id
 *     clear   version that the source does not have any more
 *
 *     → version, state (canary, good or bad), canaries, gateways, requests and 5xx of the canaries, of the others, reason
 *
 *     canary ──time is over──▶ good          canary ──errors, a fault, a canary gone──▶ bad ──the source has another version──▶ gone
 *
 * While no gateway reports, as when the store is away, no time passes.
 */
export const CANARY_SCRIPT: StoreScript = storeScript(`
local key, op, version, id = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local function get(field) return redis.call('HGET', key, field) or '' end
local function number(field) return tonumber(get(field)) or 0 end
local function set(...) redis.call('HSET', key, ...) end
local function view()
  local names = {'version', 'state', 'canaries', 'nodes', 'c_requests', 'c_errors', 'o_requests', 'o_errors', 'reason'}
  local found = redis.call('HMGET', key, unpack(names))
  for i = 1, #names do found[i] = found[i] or '' end
  return found
end
local function finish(state, reason) set('state', state, 'reason', reason) return view() end
local function ids()
  local found = {}
  for one in string.gmatch(get('canaries'), '[^,]+') do found[#found + 1] = one end
  return found
end

if op == 'begin' then
  if get('version') ~= version then
    redis.call('DEL', key)
    set('version', version, 'state', 'canary', 'canaries', ARGV[3], 'nodes', ARGV[4], 'for', ARGV[5], 'rate', ARGV[6],
      'least', ARGV[7], 'usual', ARGV[8], 'created', now, 'beat', now)
    redis.call('PEXPIRE', key, ${30 * 86_400_000})
  end
  return view()
end
if op == 'clear' then
  if get('version') == version and get('state') == 'bad' then redis.call('DEL', key) end
  return view()
end
if get('state') ~= 'canary' then return view() end
if op == 'leave' then
  local left = {}
  for _, one in ipairs(ids()) do if one ~= id then left[#left + 1] = one end end
  if #left == 0 then redis.call('DEL', key) else set('canaries', table.concat(left, ',')) end
  return view()
end

local gap = now - number('beat')
if gap > ${10_000} then
  redis.call('HINCRBY', key, 'created', gap)
  if number('started') > 0 then redis.call('HINCRBY', key, 'started', gap) end
  for _, one in ipairs(ids()) do if number('at:' .. one) > 0 then set('at:' .. one, now) end end
end
set('beat', now)
local tried = get('version')
local step, fault = ARGV[6], ARGV[7]
local mine = string.find(',' .. get('canaries') .. ',', ',' .. id .. ',', 1, true)
if mine then
  if fault ~= '' then return finish('bad', fault) end
  if step == 'try' or version == tried or number('at:' .. id) > 0 then set('at:' .. id, now) end
  if version == tried then
    set('on:' .. id, 1)
    if number('started') == 0 then set('started', now) end
  elseif get('on:' .. id) ~= '' then return finish('bad', 'the source has gone back')
  end
end
local side = version == tried and 'c' or 'o'
redis.call('HINCRBY', key, side .. '_requests', ARGV[4])
redis.call('HINCRBY', key, side .. '_errors', ARGV[5])

local least = number('least')
if number('c_requests') >= least then
  local usual = number('usual')
  if number('o_requests') >= least then usual = number('o_errors') / number('o_requests') end
  if number('c_errors') / number('c_requests') > usual + number('rate') then return finish('bad', 'more 5xx than the others') end
end
for _, one in ipairs(ids()) do
  local at = number('at:' .. one)
  if at > 0 and now - at > ${15_000} then return finish('bad', 'a gateway that took it is gone') end
end
local started = number('started')
if started == 0 and now - number('created') > ${60_000} then redis.call('DEL', key)
elseif started > 0 and now - started >= number('for') then return finish('good', '') end
return view()
`);

/** The hash as the script gives it. */
export interface CanaryView {
  readonly version: string;
  readonly state: "canary" | "good" | "bad";
  /** Ids of the gateways that take the version first. */
  readonly canaries: readonly string[];
  /** Gateways at the beginning. */
  readonly nodes: number;
  readonly requests: number;
  readonly errors: number;
  readonly othersRequests: number;
  readonly othersErrors: number;
  readonly reason: string;
}

/** Reads what the script gave; null if there is no trial. */
export function readCanaryView(response: unknown): CanaryView | null {
  const [version = "", state = "", canaries = "", nodes, requests, errors, othersRequests, othersErrors, reason = ""] =
    (response as unknown[]).map(String);
  if (version === "" || (state !== "canary" && state !== "good" && state !== "bad")) return null;
  return {
    version,
    state,
    canaries: canaries.split(",").filter((id) => id !== ""),
    nodes: Number(nodes),
    requests: Number(requests),
    errors: Number(errors),
    othersRequests: Number(othersRequests),
    othersErrors: Number(othersErrors),
    reason,
  };
}

/**
 * Which gateways take a version first: those whose id hashes lowest together with it, so that it is not always the same ones.
 * @param share above 0, up to 1; at least one is chosen
 */
export function chooseCanaries(ids: readonly string[], version: string, share: number): readonly string[] {
  const ranked = ids
    .map((id) => ({ id, rank: Bun.hash(`${version} ${id}`) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked.slice(0, Math.max(1, Math.ceil(share * ids.length - 1e-9))).map(({ id }) => id);
}
