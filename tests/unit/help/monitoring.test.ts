import { expect, test } from "bun:test";
import { parse } from "yaml";
import { METRICS } from "../../../src/facts/metrics.ts";
import { THRESHOLDS, type Thresholds } from "../../../src/features/dashboard/thresholds.ts";
import { alertRows, alertRules } from "../../../src/help/alerts.ts";
import { grafanaDashboard } from "../../../src/help/grafana.ts";

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly panels?: readonly Panel[];
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[];
}

const { panels } = grafanaDashboard() as { panels: readonly Panel[] };
const all = panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);

test("every metric has a panel that asks for it, and no panel asks for another", () => {
  const asked = all.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join("\n");
  const names = new Set([...asked.matchAll(/gateway_[a-z0-9_]+/g)].map(([name]) => name.replace(/_bucket$/, "")));
  expect([...names].sort()).toEqual(Object.keys(METRICS).sort());
});

test("panels have numbers and places of their own", () => {
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  for (const { gridPos, type, targets } of all) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    if (type !== "row") expect(new Set(targets!.map(({ refId }) => refId)).size).toBe(targets!.length);
  }
  const places = panels.map(({ gridPos }) => JSON.stringify(gridPos));
  expect(new Set(places).size).toBe(places.length);
});

test("alerts are about metrics that are there", () => {
  const { groups } = parse(alertRules()) as { groups: { rules: { alert: string; expr: string }[] }[] };
  expect(groups[0]!.rules.map(({ alert }) => alert)).toEqual(alertRows().map(({ name }) => name));
  for (const { expr } of groups[0]!.rules) {
    for (const [name] of expr.matchAll(/gateway_[a-z0-9_]+/g))
      expect(METRICS).toHaveProperty(name.replace(/_bucket$/, ""));
  }
});

test("alerts go by the thresholds: each that is for them changes a rule, and no other number is compared with", () => {
  const expressions = (from?: Thresholds) => alertRows(from).map(({ expr }) => expr);
  const names = Object.keys(THRESHOLDS) as (keyof Thresholds)[];
  const all: Thresholds = THRESHOLDS;
  for (const name of names) {
    const changed = { ...all, [name]: { ...all[name], value: 123.456 } };
    expect([name, expressions(changed).join().includes("123.456")]).toEqual([name, all[name].alertS !== undefined]);
  }
  const without = Object.fromEntries(names.map((name) => [name, { ...all[name], value: "T", alertS: 60 }]));
  const compared = expressions(without as unknown as Thresholds).flatMap((expr) => [
    ...expr.matchAll(/[<>=]=? ([\d.]+)/g),
  ]);
  expect(new Set(compared.map(([, bound]) => bound))).toEqual(new Set(["0"]));
});
