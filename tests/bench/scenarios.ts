// The scenarios: one row is one comparison.
import { BASIC_FIELDS, BEARER_FIELDS, PASS_FIELDS, SESSION_FIELDS } from "./auth-figures.ts";
import type { Setting } from "./peer-configs.ts";

/** How the load is made. */
export type Tool = "wrk" | "wrk-post" | "wrk-chunked" | "wrk-many" | "ab" | "h2load" | "http3-load";

/** One comparison of the gateway with its peers. */
export interface Scenario {
  readonly name: string;
  readonly path: string;
  readonly tool: Tool;
  readonly setting: Setting;
  /** What the client accepts; nothing without it. Only wrk says so. */
  readonly encoding?: "gzip" | "zstd";
  /** Lines that each request has beside. Only wrk says so. */
  readonly fields?: readonly string[];
  /** The peers for which the scenario makes sense. */
  readonly peers: readonly string[];
}

const PROXIES = ["nginx", "haproxy", "caddy"];
const FILE_SERVERS = ["nginx", "caddy"];
const H2C_PROXIES = ["haproxy", "caddy"];
const CACHES = ["nginx", "varnish"];

/** In the order in which they are run and printed. */
export const SCENARIOS: readonly Scenario[] = [
  { name: "direct", path: "/health", tool: "wrk", setting: "plain", peers: PROXIES },
  { name: "proxy-small", path: "/p/x", tool: "wrk", setting: "plain", peers: PROXIES },
  { name: "proxy-64k", path: "/p/body64k.txt", tool: "wrk", setting: "plain", peers: PROXIES },
  { name: "post-4k", path: "/p/x", tool: "wrk-post", setting: "plain", peers: PROXIES },
  { name: "chunked-4k", path: "/p/x", tool: "wrk-chunked", setting: "plain", peers: PROXIES },
  { name: "close-per-request", path: "/health", tool: "ab", setting: "plain", peers: PROXIES },
  { name: "static-1k", path: "/static/small.txt", tool: "wrk", setting: "plain", peers: FILE_SERVERS },
  // The same with a cache, which asks the disk so that nothing is older than it.
  { name: "static-1k-cached", path: "/static/small.txt", tool: "wrk", setting: "cache", peers: FILE_SERVERS },
  { name: "static-100k", path: "/static/big.bin", tool: "wrk", setting: "plain", peers: FILE_SERVERS },
  { name: "h2c-proxy", path: "/p/x", tool: "h2load", setting: "plain", peers: H2C_PROXIES },
  { name: "tls-h1-proxy", path: "/p/x", tool: "wrk", setting: "tls", peers: PROXIES },
  { name: "tls-h2-proxy", path: "/p/x", tool: "h2load", setting: "tls", peers: PROXIES },
  { name: "tls-handshake", path: "/health", tool: "ab", setting: "tls", peers: PROXIES },
  { name: "direct-h3", path: "/health", tool: "http3-load", setting: "http3", peers: FILE_SERVERS },
  { name: "proxy-small-h3", path: "/p/x", tool: "http3-load", setting: "http3", peers: FILE_SERVERS },
  { name: "static-100k-h3", path: "/static/big.bin", tool: "http3-load", setting: "http3", peers: FILE_SERVERS },
  { name: "cache-hit-1k", path: "/c/cached", tool: "wrk", setting: "cache", peers: CACHES },
  // Five hundred responses as that of cache-hit-1k, of which memory has hardly any: edge reads its files, nginx those of proxy_cache.
  { name: "cache-hit-disk", path: "/c/many", tool: "wrk-many", setting: "cache-disk", peers: ["nginx"] },
  {
    name: "gzip-64k",
    path: "/p/rows.json",
    tool: "wrk",
    setting: "compression",
    encoding: "gzip",
    peers: FILE_SERVERS,
  },
  { name: "zstd-64k", path: "/p/rows.json", tool: "wrk", setting: "compression", encoding: "zstd", peers: ["caddy"] },
  // About as long on the wire as cache-hit-1k, out of the cache as it is: what a packed hit costs beside a plain one.
  {
    name: "cache-hit-packed",
    path: "/c/packed.json",
    tool: "wrk",
    setting: "compression",
    encoding: "gzip",
    peers: ["nginx"],
  },
  {
    name: "gzip-hit-64k",
    path: "/c/rows.json",
    tool: "wrk",
    setting: "compression",
    encoding: "gzip",
    peers: ["nginx"],
  },
  { name: "auth-none", path: "/p/x", tool: "wrk", setting: "auth", peers: FILE_SERVERS },
  { name: "auth-basic", path: "/basic/x", tool: "wrk", setting: "auth", fields: BASIC_FIELDS, peers: ["nginx"] },
  // nginx has tokens in its commercial edition alone: auth-none is what it is to be held against.
  { name: "auth-jwt", path: "/jwt/x", tool: "wrk", setting: "auth", fields: BEARER_FIELDS, peers: [] },
  // Neither peer has the like: auth-none is what they are to be held against.
  { name: "auth-oidc", path: "/oidc/x", tool: "wrk", setting: "auth", fields: SESSION_FIELDS, peers: [] },
  { name: "bots-pass", path: "/bots/x", tool: "wrk", setting: "auth", fields: PASS_FIELDS, peers: [] },
  // A front controller of 1 KiB, one of 64 KiB, and the first over kept connections, which php-fpm and nginx can.
  { name: "fastcgi-1k", path: "/f/page", tool: "wrk", setting: "fastcgi", peers: FILE_SERVERS },
  { name: "fastcgi-64k", path: "/f/64k", tool: "wrk", setting: "fastcgi", peers: FILE_SERVERS },
  { name: "fastcgi-kept-1k", path: "/fk/page", tool: "wrk", setting: "fastcgi", peers: ["nginx"] },
  { name: "fastcgi-kept-64k", path: "/fk/64k", tool: "wrk", setting: "fastcgi", peers: ["nginx"] },
  { name: "auth-forward", path: "/forward/x", tool: "wrk", setting: "auth", peers: FILE_SERVERS },
];
