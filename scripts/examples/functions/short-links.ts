import { createHash, timingSafeEqual } from "node:crypto";
import { RedisClient } from "bun";
import type { Context, FunctionModule } from "edge";

/**
 * Short links in Redis: POST /s with {"url": "https://…"} and the token makes one, GET /s/CODE leads there. Links lead to the hosts of
 * LINK_HOSTS alone, so that the name of this site lends its trust to no other.
 */
const DAYS_90 = 90 * 24 * 3600;
const MAX_URL = 2000;
/** 62^8: too many to try. */
const CODE = /^[0-9A-Za-z]{8}$/;

let redis: RedisClient | null = null;

export default {
  async fetch(request, ctx) {
    redis ??= new RedisClient(ctx.env.REDIS_URL, { connectionTimeout: 2000 });
    const { pathname } = new URL(request.url);
    if (request.method === "POST" && pathname === "/s") return make(request, ctx, redis);
    const code = pathname.slice("/s/".length);
    if (request.method !== "GET" || !CODE.test(code)) return new Response("Not found\n", { status: 404 });
    const target = await redis.get(`link:${code}`);
    // Looked at again: the list may have become shorter since.
    if (target === null || !mayLead(target, ctx)) return new Response("Not found\n", { status: 404 });
    return new Response(null, { status: 302, headers: { Location: target, "Cache-Control": "private, no-store" } });
  },
} satisfies FunctionModule;

async function make(request: Request, ctx: Context, store: RedisClient): Promise<Response> {
  if (!isToken(request.headers.get("Authorization") ?? "", ctx.env.LINK_TOKEN ?? "")) {
    return Response.json({ error: "a token is needed" }, { status: 401, headers: { "WWW-Authenticate": "Bearer" } });
  }
  const { url } = ((await request.json().catch(() => null)) ?? {}) as { readonly url?: unknown };
  if (typeof url !== "string" || url.length > MAX_URL || !mayLead(url, ctx)) {
    return Response.json({ error: "url must be https, at one of the allowed hosts" }, { status: 400 });
  }
  const code = newCode();
  // NX: a code that is taken is not given to another link.
  const stored = await store.send("SET", [`link:${code}`, new URL(url).href, "NX", "EX", String(DAYS_90)]);
  if (stored === null) return Response.json({ error: "try again" }, { status: 503 });
  return Response.json({ path: `/s/${code}` }, { status: 201 });
}

/** https, one of the hosts, no user name that looks like a host, no other port. */
function mayLead(text: string, ctx: Context): boolean {
  const url = URL.parse(text);
  const hosts = (ctx.env.LINK_HOSTS ?? "").split(",");
  return (
    url !== null && url.protocol === "https:" && url.username === "" && url.port === "" && hosts.includes(url.hostname)
  );
}

/** Digests have one length, so that the comparison takes the same time whatever is sent. */
function isToken(header: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return token !== "" && timingSafeEqual(digest(header), digest(`Bearer ${token}`));
}

function newCode(): string {
  const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  let code = "";
  while (code.length < 8) {
    // Bytes from 248 on are left out: 248 is the largest multiple of 62, so that each letter is as likely as another.
    for (const byte of crypto.getRandomValues(new Uint8Array(16)))
      if (byte < 248 && code.length < 8) code += letters[byte % 62];
  }
  return code;
}
