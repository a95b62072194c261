import type { FunctionModule } from "edge";

/**
 * Files for those who have a link: /files/report.pdf?expires=1767225600&signature=…, which signedUrl() makes. The signature is
 * an HMAC-SHA-256 of method-independent parts: the path as it is sent, and the time.
 */
export default {
  async fetch(request, ctx) {
    const url = new URL(request.url);
    const expires = url.searchParams.get("expires") ?? "";
    const signature = decoded(url.searchParams.get("signature") ?? "");
    const isRight =
      /^\d{1,12}$/.test(expires) &&
      signature !== null &&
      (await crypto.subtle.verify("HMAC", await keyOf(ctx.env.URL_KEY), signature, signedBytes(url.pathname, expires)));
    // One response for all reasons: it tells nothing to those who try.
    if (!isRight || Number(expires) * 1000 < Date.now())
      return new Response("This link is not valid.\n", { status: 403 });
    url.search = "";
    const response = await ctx.upstream(new Request(url.href, { headers: pick(request.headers, ["Accept", "Range"]) }));
    const shown = new Response(response.body, response);
    shown.headers.set("Cache-Control", "private, no-store");
    // The link is the key: it must not reach other sites.
    shown.headers.set("Referrer-Policy", "no-referrer");
    return shown;
  },
} satisfies FunctionModule;

/** A path and query that are valid until a time. @param seconds since the epoch */
export async function signedUrl(path: string, seconds: number, key: string): Promise<string> {
  const expires = String(Math.floor(seconds));
  const signature = await crypto.subtle.sign("HMAC", await keyOf(key), signedBytes(path, expires));
  return `${path}?expires=${expires}&signature=${new Uint8Array(signature).toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

/** The length of the path comes first, so that no other path and time give the same bytes. */
function signedBytes(path: string, expires: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${path.length}:${path}:${expires}`);
}

function keyOf(key = ""): Promise<CryptoKey> {
  if (key.length < MIN_KEY) throw new Error(`URL_KEY needs ${MIN_KEY} characters or more`);
  const bytes = new TextEncoder().encode(key);
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.fromBase64(text, { alphabet: "base64url" });
  } catch {
    return null;
  }
}

function pick(headers: Headers, names: readonly string[]): Headers {
  const picked = new Headers();
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) picked.set(name, value);
  }
  return picked;
}

const MIN_KEY = 32;
