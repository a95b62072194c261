import type { Exchange } from "./exchange.ts";

/** The pages of requests for parts. */
const PAGES: WeakMap<Exchange, Exchange> = new WeakMap();

let hasParts = false;

/** Makes a request a part of a page: the client's place and slots for the page hold for the part. */
export function makePart(part: Exchange, page: Exchange): void {
  hasParts = true;
  PAGES.set(part, page);
}

/** The page for which a request asks for a part, which may be a part itself; null for a request of the client's own. */
export function pageOf(ex: Exchange): Exchange | null {
  return hasParts ? (PAGES.get(ex) ?? null) : null;
}
