/** A line of a chart. */
interface ChartLine {
  readonly name: string;
  /** A class of the page's style: `a`, `b` or `c`. */
  readonly tone: "a" | "b" | "c";
  readonly points: readonly (readonly [number, number])[];
}

/** A chart as SVG, whose colours are those of the page. @param lines with at least one point each */
export function chart(title: string, unit: string, lines: readonly ChartLine[]): string {
  const all = lines.flatMap((line) => line.points);
  if (all.length === 0) return "";
  const left = Math.min(...all.map(([x]) => x));
  const right = Math.max(left + 1, ...all.map(([x]) => x));
  const top = niceTop(Math.max(...all.map(([, y]) => y)));
  const xOf = (x: number) => round(MARGIN + ((x - left) / (right - left)) * (WIDTH - MARGIN - 10));
  const yOf = (y: number) => round(HEIGHT - 24 - (y / top) * (HEIGHT - 40));
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const y = yOf(top * part);
    return `<path class="grid" d="M${MARGIN} ${y}H${WIDTH - 10}"/><text x="${MARGIN - 6}" y="${y + 4}" text-anchor="end">${short(top * part)}</text>`;
  });
  const ends = `<text x="${MARGIN}" y="${HEIGHT - 6}">${short(left)}</text><text x="${WIDTH - 10}" y="${HEIGHT - 6}" text-anchor="end">${short(right)}</text>`;
  const drawn = lines.map(({ points, tone }) => {
    const path = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${xOf(x)} ${yOf(y)}`).join("");
    const dots =
      points.length > 40 ? "" : points.map(([x, y]) => `<circle cx="${xOf(x)}" cy="${yOf(y)}" r="3"/>`).join("");
    return `<g class="${tone}"><path d="${path}"/>${dots}</g>`;
  });
  const legend = lines.map(({ name, tone }) => `<span class="${tone}">${Bun.escapeHTML(name)}</span>`).join("");
  return (
    `<figure><figcaption>${Bun.escapeHTML(title)} <small>${Bun.escapeHTML(unit)}</small>${legend}</figcaption>` +
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${Bun.escapeHTML(title)}">${grid.join("")}${ends}${drawn.join("")}</svg></figure>\n`
  );
}

/** The next of 1, 2, 5 and their tenfolds. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10);
}

function short(value: number): string {
  if (value >= 10_000) return `${Number((value / 1000).toFixed(1))}k`;
  return String(Number(value.toFixed(value < 10 ? 2 : 0)));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const WIDTH = 720;
const HEIGHT = 220;
const MARGIN = 48;
