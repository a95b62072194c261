/** A parsed sample line. */
export interface LintSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Linted {
  readonly problems: readonly string[];
  readonly samples: readonly LintSample[];
}

/** The rules of `promtool check metrics` and of the text format 0.0.4, as far as they can be broken here. */
export function lintExposition(text: string): Linted {
  const problems: string[] = [];
  const samples: LintSample[] = [];
  const helps = new Map<string, string>();
  const types = new Map<string, string>();
  const seen = new Set<string>();
  if (!text.endsWith("\n")) problems.push("no line break at the end");
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (comment !== null) {
      const [, kind, name, rest] = comment;
      const known = kind === "HELP" ? helps : types;
      if (known.has(name!)) problems.push(`${name}: second ${kind}`);
      if (samples.some((sample) => familyOf(sample.name, types) === name)) problems.push(`${name}: ${kind} too late`);
      known.set(name!, rest!);
      continue;
    }
    const sample = parseSample(line);
    if (sample === null) {
      problems.push(`unreadable: ${line}`);
      continue;
    }
    const identity = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`;
    if (seen.has(identity)) problems.push(`duplicate series: ${identity}`);
    seen.add(identity);
    samples.push(sample);
  }
  for (const [name, type] of types) problems.push(...lintFamily(name, type, helps.get(name)));
  for (const { name } of samples) if (!types.has(familyOf(name, types))) problems.push(`${name}: no TYPE`);
  for (const [name, type] of types) if (type === "histogram") problems.push(...lintHistogram(name, samples));
  return { problems, samples };
}

function lintFamily(name: string, type: string, help: string | undefined): string[] {
  const problems: string[] = [];
  if (help === undefined || help === "") problems.push(`${name}: no HELP`);
  if (!/^[a-z_][a-z0-9_]*$/.test(name)) problems.push(`${name}: bad name`);
  if ((type === "counter") !== name.endsWith("_total")) problems.push(`${name}: _total and counter go together`);
  if (type !== "histogram" && /_(bucket|count|sum)$/.test(name)) problems.push(`${name}: a histogram's suffix`);
  if (/(milli|micro|nano)?seconds?|bytes?|_ms\b/.test(name)) {
    if (/(milli|micro|nano)second|kilobyte|megabyte|_ms\b/.test(name)) problems.push(`${name}: not a base unit`);
    if (/second(?!s)|byte(?!s)/.test(name)) problems.push(`${name}: singular unit`);
  }
  if (name.includes(type)) problems.push(`${name}: names its type`);
  return problems;
}

function lintHistogram(name: string, samples: readonly LintSample[]): string[] {
  const problems: string[] = [];
  const groups = new Map<string, LintSample[]>();
  for (const sample of samples) {
    if (!sample.name.startsWith(name)) continue;
    const { le: _le, ...rest } = sample.labels;
    const key = JSON.stringify(rest);
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  for (const [key, group] of groups) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => (labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le)));
    const rising = (values: readonly number[], strictly: boolean) =>
      values.every((value, i) => i === 0 || (strictly ? value > values[i - 1]! : value >= values[i - 1]!));
    if (!rising(bounds, true)) problems.push(`${name}${key}: le out of order`);
    if (
      !rising(
        buckets.map(({ value }) => value),
        false,
      )
    )
      problems.push(`${name}${key}: not cumulative`);
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY) problems.push(`${name}${key}: no +Inf`);
    const count = group.find((sample) => sample.name === `${name}_count`);
    if (count?.value !== buckets.at(-1)?.value) problems.push(`${name}${key}: +Inf is not the count`);
    if (!group.some((sample) => sample.name === `${name}_sum`)) problems.push(`${name}${key}: no sum`);
  }
  return problems;
}

function familyOf(name: string, types: ReadonlyMap<string, string>): string {
  const base = name.replace(/_(bucket|sum|count)$/, "");
  return types.get(base) === "histogram" ? base : name;
}

function parseSample(line: string): LintSample | null {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|NaN|[+-]Inf)$/.exec(line);
  if (match === null) return null;
  const labels: Record<string, string> = {};
  const pattern = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(,|$)/y;
  const text = match[2] ?? "";
  while (pattern.lastIndex < text.length) {
    const pair = pattern.exec(text);
    if (pair === null || pair[1]! in labels) return null;
    labels[pair[1]!] = pair[2]!.replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
  }
  const value = match[3] === "+Inf" ? Number.POSITIVE_INFINITY : Number(match[3]);
  return { name: match[1]!, labels, value };
}
