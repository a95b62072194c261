import { type StoreScript, storeScript } from "./shared-store.ts";

/**
 * Takes tokens of one bucket (GCRA) by the time of the store. A bucket is the time at which it will be full, in microseconds, and is
 * forgotten when it is.
 *
 *     ARGV: microseconds a token, microseconds of a whole bucket, tokens that were given out, tokens that are wanted
 *     → tokens that were granted, tokens that are left (negative where too many were given out), microseconds until there is one
 */
export const TAKE_SCRIPT: StoreScript = storeScript(`
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local unit, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])
local spent, want = tonumber(ARGV[3]), tonumber(ARGV[4])
local full = tonumber(redis.call('GET', KEYS[1]) or now)
if full < now then full = now end
full = full + spent * unit
local room = math.floor((now + capacity - full) / unit + 0.000001)
local granted = math.max(0, math.min(want, room))
full = full + granted * unit
local left = math.floor((now + capacity - full) / unit + 0.000001)
local wait = 0
if left < 1 then wait = math.ceil(full + unit - now - capacity) end
if full > now then
  redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
end
return {granted, left, wait}
`);
