import { storeScript } from "./shared-store.ts";

/** The key of the routes: a hash of them by their names, with the id of the set and how often it was changed. */
export const ROUTES_KEY = "routes";
/** No route has such a name. */
export const SET_FIELD = ":id";
export const REVISION_FIELD = ":rev";

/** Changes one route, if the set has not changed since: ARGV revision, name, value ("" removes it). Gives the new revision, 0 for another set. */
export const CHANGE_ROUTE = storeScript(`
local revision = tonumber(redis.call('HGET', KEYS[1], ':rev') or '0')
if revision ~= tonumber(ARGV[1]) then return 0 end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[2]) else redis.call('HSET', KEYS[1], ARGV[2], ARGV[3]) end
return redis.call('HINCRBY', KEYS[1], ':rev', 1)
`);

/** Replaces an older set, such as that of a store that was emptied: ARGV revision, id, then names and values. */
export const REPLACE_ROUTES = storeScript(`
local revision = tonumber(redis.call('HGET', KEYS[1], ':rev') or '0')
if revision >= tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], ':rev', ARGV[1], ':id', ARGV[2])
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return 1
`);
