import { counted, numberText } from "../../../core/number-text.ts";
import type { LiveRoom, LiveState } from "../live-state.ts";
import { byId, say } from "./dom.ts";
import { plain } from "./format.ts";
import { LiveTable, type PageColumn, textCell } from "./table.ts";

/** The waiting rooms; there if some route has one. */
export class RoomView {
  private readonly table = new LiveTable<LiveRoom>({
    name: "Waiting rooms",
    columns: COLUMNS,
    keyOf: ({ route }) => route,
    empty: "–",
  });

  constructor() {
    byId("room-table").append(this.table.element);
  }

  show({ rooms = [] }: LiveState): void {
    byId("rooms").hidden = rooms.length === 0;
    document.querySelector<HTMLElement>("nav a[href='#rooms']")!.hidden = rooms.length === 0;
    if (rooms.length === 0) return;
    this.table.show(rooms);
    const waiting = rooms.reduce((sum, room) => sum + room.waiting, 0);
    say(byId("rooms-say"), waiting === 0 ? "No visitor waits." : `${counted(waiting, "visitor")} waiting.`);
  }
}

const COLUMNS: readonly PageColumn<LiveRoom>[] = [
  textCell("route", "Route", ({ route }) => plain(route), { isName: true, style: "mono name" }),
  textCell("in", "In", ({ active, limit }) => `${numberText(active)} of ${numberText(limit)}`, {
    by: ({ active }) => active,
    style: "number",
  }),
  textCell("waiting", "Waiting", ({ waiting }) => numberText(waiting), {
    by: ({ waiting }) => waiting,
    style: "number",
  }),
  textCell("rate", "Let in/min", ({ rate }) => numberText(Math.round(rate * 60)), {
    by: ({ rate }) => rate,
    style: "number minor",
  }),
];
