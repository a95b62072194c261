import type { FunctionModule } from "edge";

/** Makes a small feed, JSON Feed 1.1, of the product list of the origin, and keeps what is internal out of it. */
const MAX_BYTES = 1024 * 1024;
const MAX_ITEMS = 50;

export default {
  async fetch(request, ctx) {
    const list = new Request(new URL("/products.json", request.url).href, { headers: { Accept: "application/json" } });
    const response = await ctx.upstream(list);
    if (!response.ok) return Response.json({ error: "the products cannot be had" }, { status: 502 });
    const text = await textWithin(response, MAX_BYTES);
    const products = text === null ? null : parsed(text);
    if (!Array.isArray(products)) {
      ctx.log.warn("the product list is too long, or no list");
      return Response.json({ error: "the products cannot be read" }, { status: 502 });
    }
    const items = products.slice(0, MAX_ITEMS).flatMap((one) => itemOf(one, request.url));
    return Response.json(
      { version: "https://jsonfeed.org/version/1.1", title: "Products", items },
      { headers: { "Content-Type": "application/feed+json", "Cache-Control": "public, max-age=60" } },
    );
  },
} satisfies FunctionModule;

/** Only what is named here leaves the house. */
function itemOf(product: unknown, base: string): object[] {
  if (typeof product !== "object" || product === null) return [];
  const { id, name, description } = product as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof name !== "string") return [];
  const url = new URL(`/shop/products/${encodeURIComponent(id)}`, base).href;
  return [{ id, url, title: name, content_text: typeof description === "string" ? description : "" }];
}

/** The body, or null if it is longer: an origin that errs must not fill the memory. */
async function textWithin(response: Response, maxBytes: number): Promise<string | null> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let [bytes, text] = [0, ""];
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
