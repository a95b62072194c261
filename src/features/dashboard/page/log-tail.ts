import { bytes, counted, durationText, numberText } from "../../../core/number-text.ts";
import type { LiveRow, LiveState } from "../live-state.ts";
import { read, write } from "./address.ts";
import { byId, h, say, set } from "./dom.ts";
import { clock, plain } from "./format.ts";
import { LiveTable, textCell } from "./table.ts";

/** A row with a number of its own. */
interface Row extends LiveRow {
  readonly key: string;
}

/** Before a name in the filter: the requests of that route, or to that target, alone. */
export const ROUTE_FILTER = "route:";
export const TARGET_FILTER = "target:";
const KEPT = 500;
const SHOWN = 100;

/** Chooses which of the last requests are shown: a tile, a route or a target leads to its own. */
export function showRequests({ status = "", text = "" }: { readonly status?: string; readonly text?: string }): void {
  byId<HTMLSelectElement>("log-status").value = status;
  byId<HTMLInputElement>("log-text").value = text;
  byId("log-status").dispatchEvent(new Event("change"));
  byId("log-text").dispatchEvent(new Event("input"));
}

/** The last requests, with filters that are in the address. */
export class LogTail {
  private rows: Row[] = [];
  private leftOut = 0;
  private lastKey = 0;
  private isPaused = read("paused") !== "";
  private readonly table: LiveTable<Row>;
  private readonly status = byId<HTMLSelectElement>("log-status");
  private readonly words = byId<HTMLInputElement>("log-text");
  private readonly slow = byId<HTMLInputElement>("log-slow");
  private readonly pause = byId<HTMLButtonElement>("log-pause");

  constructor() {
    this.table = new LiveTable({
      name: "Last requests",
      columns: COLUMNS,
      keyOf: ({ key }) => key,
      empty: "No request of this kind since the page was opened.",
    });
    byId("tail").append(this.table.element);
    this.status.value = read("status");
    this.words.value = read("text");
    this.slow.value = read("slow");
    this.status.addEventListener("change", () => this.filter("status", this.status.value));
    this.words.addEventListener("input", () => this.filter("text", this.words.value));
    this.slow.addEventListener("input", () => this.filter("slow", this.slow.value));
    this.pause.addEventListener("click", () => {
      this.isPaused = !this.isPaused;
      write("paused", this.isPaused ? "1" : "");
      this.show();
    });
    this.show();
  }

  take({ rows, rowsLeftOut }: LiveState): void {
    if (this.isPaused) return;
    for (const row of rows) this.rows.unshift({ ...row, key: String(++this.lastKey) });
    this.rows.length = Math.min(this.rows.length, KEPT);
    this.leftOut += rowsLeftOut;
  }

  show(): void {
    const found = this.rows.filter((row) => this.fits(row));
    this.table.show(found.slice(0, SHOWN), true);
    say(this.pause, this.isPaused ? "Go on" : "Pause");
    set(this.pause, "aria-pressed", String(this.isPaused));
    const more = this.leftOut > 0 ? ` ${numberText(this.leftOut)} more were too many to be shown one by one.` : "";
    say(
      byId("log-says"),
      `${this.isPaused ? "Paused. " : ""}${counted(found.length, "request")} of the last ${numberText(this.rows.length)}.${more}`,
    );
  }

  private filter(name: "status" | "text" | "slow", value: string): void {
    write(name, value);
    this.show();
  }

  private fits(row: Row): boolean {
    const status = this.status.value;
    if (status === "refused" && row.fault === "") return false;
    if (/^\d$/.test(status) && String(row.status)[0] !== status) return false;
    if (row.ms < Number(this.slow.value)) return false;
    const words = this.words.value.trim().toLowerCase();
    if (words === "") return true;
    if (words.startsWith(ROUTE_FILTER)) return row.route.toLowerCase() === words.slice(ROUTE_FILTER.length);
    if (words.startsWith(TARGET_FILTER)) return row.upstream.toLowerCase() === words.slice(TARGET_FILTER.length);
    const { method, host, path, address, userAgent, ja4 = "", route, upstream, id, fault, faultDetail } = row;
    const texts = [method, host, path, address, userAgent, ja4, route, upstream, id, fault, faultDetail];
    return texts.join(" ").toLowerCase().includes(words);
  }
}

function showStatus(cell: HTMLElement, { status, fault, faultDetail }: LiveRow): void {
  if (cell.firstChild !== null) return;
  cell.append(h("span", { class: `status s${Math.floor(status / 100)}` }, String(status)));
  if (fault === "") return;
  // The word as the log and `edge help` have it.
  const words = h("small", {}, faultDetail || fault);
  words.title = `${fault}: edge help ${faultDetail || fault}`;
  cell.append(" ", words);
}

function showPath(cell: HTMLElement, { host, path, userAgent, ja4 = "", id }: LiveRow): void {
  if (cell.firstChild !== null) return;
  cell.title = plain([userAgent, ja4, id].filter((one) => one !== "").join("\n"));
  cell.append(h("span", { class: "soft" }, plain(host)), plain(path));
}

const COLUMNS = [
  textCell<Row>("at", "Time", ({ at }) => clock(at), { style: "mono" }),
  { key: "status", head: "Status", show: showStatus },
  textCell<Row>("method", "Method", ({ method }) => plain(method), { style: "mono" }),
  { key: "path", head: "Host and path", show: showPath, style: "mono wide", isName: true },
  textCell<Row>("ms", "Latency", ({ ms }) => durationText(ms), { style: "number" }),
  textCell<Row>(
    "attempts",
    "Attempts",
    ({ attempts, attemptMs }) =>
      attempts > 1 ? `${attempts} (${attemptMs.map(durationText).join(", ")})` : String(attempts),
    { style: "number minor" },
  ),
  textCell<Row>("bytes", "Bytes", ({ bytesOut }) => bytes(bytesOut), { style: "number minor" }),
  textCell<Row>("address", "Client", ({ address }) => plain(address), { style: "mono" }),
  textCell<Row>(
    "upstream",
    "Served by",
    ({ upstream, cache }) => plain(upstream || (cache === "hit" ? "cache" : "edge")),
    {
      style: "mono minor",
    },
  ),
  textCell<Row>("cache", "Cache", ({ cache }) => cache || "–", { style: "minor" }),
  textCell<Row>("protocol", "HTTP", ({ protocol }) => protocol, { style: "number minor" }),
];
