import type { Exchange, ResponseSource, Route } from "../../../message/exchange.ts";
import { HeaderId } from "../../../message/header-block.ts";
import { PrebuiltResponse } from "../../../message/prebuilt-response.ts";
import type { RequestHead } from "../../../message/request-head.ts";
import { prefersHtml } from "../../../proto/semantics/accept.ts";
import type { ContainedRoot } from "../contained-root.ts";
import type { Defer } from "../file-stream.ts";
import { type FolderListing, readFolder } from "./folder-listing.ts";
import { type ListingOrder, orderOf, sorted, utf8 } from "./listing-order.ts";
import { LISTING_POLICY, listingPage } from "./listing-page.ts";

/** What listings need of their worker. */
interface BrowserPorts {
  readonly defer: Defer;
  readonly routeAt?: (path: string, head: RequestHead) => Route | null;
}

/** Answers requests for folders without an index with a list of their files. docs/files.md#listings */
export class FolderBrowser {
  private readonly root: ContainedRoot;
  private readonly prefix: string;
  private readonly ports: BrowserPorts;
  /** Folders that are being read: further requests for one wait for it. */
  private readonly reading: Map<string, Promise<FolderListing | null>> = new Map();

  /** @param prefix of the mount, without a slash at its end */
  constructor(root: ContainedRoot, prefix: string, ports: BrowserPorts) {
    this.root = root;
    this.prefix = prefix;
    this.ports = ports;
  }

  /**
   * Answers a request for a folder.
   * @param relative the folder below the root
   * @param missing answers it if there is no such folder
   */
  answer(ex: Exchange, relative: string, missing: () => void): void {
    const pending = new PendingListing();
    ex.source = pending;
    void this.listing(relative).then((listing) =>
      this.ports.defer(() => {
        if (pending.isCancelled) return;
        if (listing === null) missing();
        else ex.sink.fixed(ex, this.response(ex, relative, listing));
      }),
    );
  }

  private listing(relative: string): Promise<FolderListing | null> {
    const running = this.reading.get(relative);
    if (running !== undefined) return running;
    const read = readFolder(this.root, relative).finally(() => this.reading.delete(relative));
    this.reading.set(relative, read);
    return read;
  }

  private response(ex: Exchange, relative: string, { entries, omitted }: FolderListing): PrebuiltResponse {
    const { request } = ex;
    const below = relative === "" ? `${this.prefix}/` : `${this.prefix}/${relative}/`;
    const shown = entries.filter(({ name, isFolder }) => {
      const route = this.ports.routeAt?.(`${below}${name}${isFolder ? "/" : ""}`, request);
      return route === undefined || route === ex.route;
    });
    const order = orderOf(request.target());
    const all = sorted(shown, order);
    return wantsJson(ex)
      ? asJson(below, all, omitted)
      : asPage(below, { entries: all, omitted }, order, relative === "");
  }
}

/** In the place of a response, while the folder is read. */
class PendingListing implements ResponseSource {
  isCancelled = false;

  onWritable(): void {}

  onCancelled(): void {
    this.isCancelled = true;
  }
}

/** Whether a client names JSON, and does not rather have a page. */
function wantsJson({ request: { headers } }: Exchange): boolean {
  for (let i = headers.find(HeaderId.Accept); i >= 0; i = headers.find(HeaderId.Accept, i + 1))
    if (/\bapplication\/json\b/i.test(headers.valueText(i))) return !prefersHtml(headers);
  return false;
}

function asJson(path: string, entries: FolderListing["entries"], omitted: number): PrebuiltResponse {
  const body = {
    path: utf8(path),
    entries: entries.map(({ name, isFolder, size, modifiedMs }) => ({
      name: utf8(name),
      type: isFolder ? "folder" : "file",
      size: isFolder ? null : size,
      modified: new Date(modifiedMs).toISOString(),
    })),
    omitted,
  };
  return new PrebuiltResponse(200, [["Content-Type", "application/json"], ...FIELDS], `${JSON.stringify(body)}\n`);
}

function asPage(path: string, listing: FolderListing, order: ListingOrder, isTop: boolean): PrebuiltResponse {
  const fields = [
    ["Content-Type", "text/html; charset=utf-8"],
    ["Content-Security-Policy", LISTING_POLICY],
  ] as const;
  return new PrebuiltResponse(200, [...fields, ...FIELDS], listingPage(path, listing, order, isTop));
}

/** A folder has no state that could tell of each of its files: no cache keeps a list. */
const FIELDS = [
  ["Cache-Control", "no-store"],
  ["Vary", "Accept"],
  ["X-Content-Type-Options", "nosniff"],
] as const;
