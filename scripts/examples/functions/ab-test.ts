import type { FunctionModule } from "edge";

/** Half of the visitors see variant b. A visitor keeps its variant by a cookie; the origin reads it from the header X-Variant. */
const SHARE_OF_B = 0.5;
const COOKIE = "variant";
const DAYS_30 = 30 * 24 * 3600;

export default {
  async fetch(request, ctx) {
    const known = variantOf(request.headers.get("Cookie") ?? "");
    const variant = known ?? (Math.random() < SHARE_OF_B ? "b" : "a");
    const asked = new Request(request);
    // Set, never added: a client cannot choose by sending the header itself.
    asked.headers.set("X-Variant", variant);
    const response = await ctx.upstream(asked);
    if (known !== null) return response;
    const marked = new Response(response.body, response);
    marked.headers.append("Set-Cookie", `${COOKIE}=${variant}; Path=/; Max-Age=${DAYS_30}; HttpOnly; SameSite=Lax`);
    // What differs from visitor to visitor must not be stored for all of them.
    marked.headers.set("Cache-Control", "private, no-store");
    return marked;
  },
} satisfies FunctionModule;

/** Only the two words that exist come from the client. */
function variantOf(cookies: string): "a" | "b" | null {
  const value = new RegExp(`(?:^|;\\s*)${COOKIE}=([ab])(?:;|$)`).exec(cookies)?.[1];
  return value === "a" || value === "b" ? value : null;
}
