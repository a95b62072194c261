import { h, s, say, set } from "./dom.ts";
import { clock } from "./format.ts";

/** One line or layer of a chart. */
interface Series {
  readonly name: string;
  /** Of the style sheet: it has the colour. */
  readonly style: string;
}

/** What a chart shows. */
interface ChartOptions {
  readonly title: string;
  readonly series: readonly Series[];
  /** Layers on top of each other, or lines. */
  readonly stacked: boolean;
  /** Where a scale of powers of ten begins; absent for one that begins at 0. */
  readonly least?: number;
  readonly format: (value: number) => string;
}

/** Values of all series at a time; null if nothing is known. */
export interface ChartPoint {
  readonly at: number;
  readonly values: readonly number[] | null;
}

/** Something that happened, drawn as a line through the chart. */
export interface ChartMark {
  readonly at: number;
  readonly text: string;
  readonly bad: boolean;
}

const HEIGHT = 190;
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 6, 8, 22];

/** Values over time as SVG: with a legend that says the values, and a cursor for pointer and arrow keys. */
export class TimeChart {
  readonly element: HTMLElement;
  private readonly options: ChartOptions;
  private readonly svg: SVGSVGElement;
  private readonly grid = s("g", { class: "grid" });
  private readonly paths: SVGPathElement[];
  private readonly marks = s("g", { class: "marks" });
  private readonly cursor = s("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  private readonly values: HTMLElement[];
  private readonly time = h("span", { class: "time" });
  private readonly summary = h("figcaption", { class: "hidden" });
  private points: readonly ChartPoint[] = [];
  private range: readonly [from: number, to: number] = [0, 1];
  private width = 600;
  /** Which point is examined; -1 for the last. */
  private at = -1;
  private summarySaid = 0;

  constructor(options: ChartOptions) {
    this.options = options;
    this.paths = options.series.map(({ style }) =>
      s("path", { class: `${options.stacked ? "layer" : "line"} ${style}` }),
    );
    this.values = options.series.map(() => h("b"));
    const legend = options.series.map(({ name, style }, i) =>
      h("li", {}, h("i", { class: style }), name, " ", this.values[i]!),
    );
    this.svg = s(
      "svg",
      { height: HEIGHT, tabindex: 0, role: "img", "aria-label": options.title },
      this.grid,
      ...this.paths,
      this.marks,
      this.cursor,
    );
    const head = h(
      "div",
      { class: "head" },
      h("h2", {}, options.title),
      this.time,
      h("ul", { class: "legend" }, ...legend),
    );
    this.element = h("figure", { class: "chart" }, head, this.svg, this.summary);
    this.svg.addEventListener("pointermove", (event) => this.look(this.nearest(event.offsetX)));
    this.svg.addEventListener("pointerleave", () => this.look(-1));
    this.svg.addEventListener("blur", () => this.look(-1));
    this.svg.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(([entry]) => {
      this.width = Math.max(240, Math.round(entry!.contentRect.width));
      this.draw();
    }).observe(this.element);
  }

  /** Shows these points between two times. */
  show(points: readonly ChartPoint[], range: readonly [number, number], marks: readonly ChartMark[]): void {
    const moved = this.at < 0 ? -1 : points.findIndex(({ at }) => at === this.points[this.at]?.at);
    this.points = points;
    this.range = range;
    this.at = moved;
    this.draw();
    this.drawMarks(marks);
  }

  private x(at: number): number {
    const [from, to] = this.range;
    return LEFT + ((at - from) / (to - from)) * (this.width - LEFT - RIGHT);
  }

  private draw(): void {
    const { svg, width, points, options } = this;
    set(svg, "viewBox", `0 0 ${width} ${HEIGHT}`);
    set(svg, "width", String(width));
    const heights = points.map(({ values }) =>
      values === null ? 0 : options.stacked ? sum(values) : Math.max(...values),
    );
    const { y, ticks } = scaleOf(Math.max(0, ...heights), options.least);
    this.drawGrid(ticks, y);
    this.paths.forEach((path, i) => void set(path, "d", options.stacked ? this.layer(i, y) : this.line(i, y)));
    this.look(this.at);
    this.describe(heights);
  }

  private drawGrid(ticks: readonly number[], y: (value: number) => number): void {
    const lines: Node[] = ticks.flatMap((value) => {
      const at = Math.round(y(value)) + 0.5;
      return [
        s("line", { x1: LEFT, x2: this.width - RIGHT, y1: at, y2: at }),
        s("text", { x: LEFT - 8, y: at + 4, "text-anchor": "end" }, this.options.format(value)),
      ];
    });
    const [from, to] = this.range;
    const steps = this.width < 420 ? 2 : 4;
    for (let i = 0; i <= steps; i++) {
      const at = from + ((to - from) * i) / steps;
      const anchor = i === 0 ? "start" : i === steps ? "end" : "middle";
      lines.push(s("text", { x: this.x(at), y: HEIGHT - 5, "text-anchor": anchor }, clock(at)));
    }
    this.grid.replaceChildren(...lines);
  }

  private line(series: number, y: (value: number) => number): string {
    let d = "";
    let isOpen = false;
    for (const { at, values } of this.points) {
      if (values === null) isOpen = false;
      else {
        d += `${isOpen ? "L" : "M"}${this.x(at).toFixed(1)} ${y(values[series]!).toFixed(1)}`;
        isOpen = true;
      }
    }
    return d;
  }

  /** From the sum of the layers below to that with this one. */
  private layer(series: number, y: (value: number) => number): string {
    const known = this.points.filter(({ values }) => values !== null);
    if (known.length === 0) return "";
    const edge = (upTo: number) =>
      known.map(({ at, values }) => `${this.x(at).toFixed(1)} ${y(sum(values!.slice(0, upTo))).toFixed(1)}`);
    return `M${edge(series + 1).join("L")}L${edge(series).reverse().join("L")}Z`;
  }

  private drawMarks(marks: readonly ChartMark[]): void {
    const [from, to] = this.range;
    const shown = marks.filter(({ at }) => at >= from && at <= to);
    this.marks.replaceChildren(
      ...shown.map(({ at, text, bad }) => {
        const x = this.x(at);
        return s(
          "g",
          { class: bad ? "bad" : "" },
          s("title", {}, `${clock(at)} ${text}`),
          s("line", { x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }),
          s("path", { d: `M${x - 4} ${TOP - 4}h8l-4 6z` }),
        );
      }),
    );
  }

  private nearest(x: number): number {
    let best = -1;
    this.points.forEach(({ at }, i) => {
      if (best < 0 || Math.abs(this.x(at) - x) < Math.abs(this.x(this.points[best]!.at) - x)) best = i;
    });
    return best;
  }

  private onKey(event: KeyboardEvent): void {
    const last = this.points.length - 1;
    const from = this.at < 0 ? last : this.at;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last, Escape: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.look(to < 0 ? (event.key === "Escape" ? -1 : 0) : Math.min(last, to));
  }

  /** Says the values at a point in the legend. */
  private look(index: number): void {
    this.at = index;
    const point = this.points[index] ?? this.points.at(-1);
    set(this.cursor, "visibility", index < 0 ? "hidden" : "visible");
    if (index >= 0 && point !== undefined) {
      set(this.cursor, "x1", String(this.x(point.at)));
      set(this.cursor, "x2", String(this.x(point.at)));
    }
    say(this.time, index >= 0 && point !== undefined ? clock(point.at) : "");
    this.values.forEach((value, i) => void say(value, point?.values ? this.options.format(point.values[i]!) : "–"));
  }

  /** The chart in words, now and then: it is read out when the chart is reached, and not by itself. */
  private describe(heights: readonly number[]): void {
    if (Date.now() - this.summarySaid < 5000) return;
    this.summarySaid = Date.now();
    const { title, format, series } = this.options;
    const last = this.points.at(-1)?.values;
    const now = last ? series.map(({ name }, i) => `${name} ${format(last[i]!)}`).join(", ") : "nothing yet";
    const most = format(Math.max(0, ...heights));
    const mean = format(heights.length === 0 ? 0 : sum(heights) / heights.length);
    const text = `${title}. Now: ${now}. In the time shown: ${mean} on average, ${most} at most.`;
    set(this.svg, "aria-label", `${text} Left and right arrow keys move through the time.`);
    say(this.summary, text);
  }
}

/** A small chart without axes. */
export class Sparkline {
  readonly element: SVGSVGElement;
  private readonly area = s("path", { class: "area" });
  private readonly edge = s("path", { class: "edge" });

  constructor() {
    const box = { viewBox: "0 0 120 32", preserveAspectRatio: "none", "aria-hidden": "true" };
    this.element = s("svg", { class: "spark", ...box }, this.area, this.edge);
  }

  show(values: readonly number[]): void {
    const top = Math.max(...values, 1e-9);
    const step = 120 / Math.max(1, values.length - 1);
    const line = values.map((value, i) => `${(i * step).toFixed(1)} ${(30 - (value / top) * 27).toFixed(1)}`).join("L");
    set(this.edge, "d", values.length < 2 ? "" : `M${line}`);
    set(this.area, "d", values.length < 2 ? "" : `M${line}L120 32L0 32Z`);
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** Where values are on the vertical axis, and those named there. */
function scaleOf(most: number, least: number | undefined): { y: (value: number) => number; ticks: readonly number[] } {
  const room = HEIGHT - TOP - BOTTOM;
  if (least === undefined) {
    const top = niceTop(most);
    return { y: (value) => TOP + (1 - value / top) * room, ticks: [0, top / 2, top] };
  }
  const decades = Math.max(2, Math.ceil(Math.log10(most / least) - 1e-9));
  const ticks = Array.from({ length: decades + 1 }, (_, i) => least * 10 ** i);
  return { y: (value) => TOP + (1 - Math.log10(Math.max(value, least) / least) / decades) * room, ticks };
}

/** The next of 1, 2, 2.5, 5 and 10 times a power of ten. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}
