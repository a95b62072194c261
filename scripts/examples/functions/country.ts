import type { FunctionModule } from "edge";

/**
 * Sends visitors to the page in their language, by their country, unless they have chosen one. The gateway writes the country into
 * X-Country (routes.yaml), over whatever a client sends. The places are a list, so that no value of a request becomes an address.
 */
const PAGES: ReadonlyMap<string, string> = new Map([
  ["AT", "/de/"],
  ["CH", "/de/"],
  ["DE", "/de/"],
  ["FR", "/fr/"],
]);
const LANGUAGES: readonly string[] = ["de", "en", "fr"];

export default {
  fetch(request) {
    const chosen = /(?:^|;\s*)language=([a-z]{2})(?:;|$)/.exec(request.headers.get("Cookie") ?? "")?.[1] ?? "";
    const country = request.headers.get("X-Country") ?? "";
    const place = LANGUAGES.includes(chosen) ? `/${chosen}/` : (PAGES.get(country) ?? "/en/");
    return new Response(null, {
      status: 302,
      headers: { Location: place, "Cache-Control": "private, no-store", Vary: "Cookie" },
    });
  },
} satisfies FunctionModule;
