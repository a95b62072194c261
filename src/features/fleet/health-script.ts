import { type StoreScript, storeScript } from "./shared-store.ts";

/**
 * What gateways know to be down, in a sorted set of origins with the gateway that says so, by the store's clock.
 *
 *     id of the gateway, origins that are down there
 *     → origins that are down for others
 */
export const HEALTH_SCRIPT: StoreScript = storeScript(`
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now, ARGV[1] .. ' ' .. ARGV[i]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ${6000})
redis.call('PEXPIRE', KEYS[1], ${60_000})
local found, known = {}, {}
for _, member in ipairs(redis.call('ZREVRANGE', KEYS[1], 0, ${4095})) do
  local at = string.find(member, ' ', 1, true)
  local origin = string.sub(member, at + 1)
  if string.sub(member, 1, at - 1) ~= ARGV[1] and not known[origin] then
    known[origin] = true
    found[#found + 1] = origin
  end
end
return found
`);
