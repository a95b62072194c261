import { counted, span } from "../../../core/number-text.ts";
import type { LiveBan, LiveState } from "../live-state.ts";
import { byId, say, set } from "./dom.ts";
import { clock, plain } from "./format.ts";
import { LiveTable, type PageColumn, textCell } from "./table.ts";

/** The clients that are banned; there while there are any. */
export class BanView {
  private readonly table = new LiveTable<LiveBan>({
    name: "Banned clients",
    columns: COLUMNS,
    keyOf: ({ address }) => address,
    empty: "–",
  });

  constructor() {
    byId("bans").append(this.table.element);
  }

  show({ bans = [] }: LiveState): void {
    byId("bans-part").hidden = bans.length === 0;
    if (bans.length > 0) this.table.show(bans);
  }
}

const WHY: Readonly<Record<string, string>> = { blocks: "its refusals", operator: "an operator", fleet: "the fleet" };

const COLUMNS: readonly PageColumn<LiveBan>[] = [
  textCell("address", "Address", ({ address }) => plain(address), { isName: true, style: "mono name" }),
  textCell("source", "Banned by", ({ source }) => WHY[source] ?? plain(source)),
  textCell("count", "In a row", ({ count }) => counted(count, "ban"), { style: "number minor" }),
  textCell("since", "Since", ({ since }) => clock(Date.parse(since)), { style: "number minor" }),
  {
    key: "left",
    head: "Ends in",
    style: "number",
    show: (cell, { until }) => {
      say(cell, span(Date.parse(until) - Date.now()));
      set(cell, "title", until);
    },
  },
];
