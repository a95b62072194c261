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

/** A client's request for a page, before edge takes anything off it. */
interface PageRequest {
  /** Its fields, as lines. */
  readonly fields: readonly string[];
  /** Pairs of its query that are credentials, as the client wrote them. */
  credentials: readonly string[];
}

const REQUESTS: WeakMap<Exchange, PageRequest> = new WeakMap();

let hasPages = false;

/** Begins the request for a page of parts. @param fields lines that go with requests for its parts */
export function beginPage(ex: Exchange, fields: readonly string[]): void {
  hasPages = true;
  REQUESTS.set(ex, { fields, credentials: [] });
}

/** The fields that go with a request for a part of this page. */
export function pageFields(ex: Exchange): readonly string[] {
  return REQUESTS.get(ex)?.fields ?? [];
}

/** Keeps credentials in the query of a page, which are about to be taken off. @param find gives the pairs, such as `api_key=K` */
export function keepCredentials(ex: Exchange, find: () => readonly string[]): void {
  const page = hasPages ? REQUESTS.get(ex) : undefined;
  if (page !== undefined) page.credentials = find();
}

/** The pairs of queries that go with a request for a part: those of the page, and of the pages around it. */
export function pageCredentials(ex: Exchange): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let page: Exchange | null = ex; page !== null; page = pageOf(page))
    for (const pair of REQUESTS.get(page)?.credentials ?? []) pairs.add(pair);
  return pairs;
}
