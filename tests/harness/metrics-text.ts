/** One sample of a Prometheus text exposition. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the text exposition format; throws on a line that is neither comment nor sample. */
export function parseMetrics(text: string): Sample[] {
  if (!text.endsWith("\n")) throw new Error("the exposition does not end with a line feed");
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/.exec(line);
      if (match === null) throw new Error(`not a sample: ${line}`);
      const value = match[3] === "+Inf" ? Number.POSITIVE_INFINITY : Number(match[3]);
      return { name: match[1]!, labels: parseLabels(match[2] ?? ""), value };
    });
}

/** The sum of all samples of a name that carry the given labels. */
export function sumOf(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, sample) => sum + sample.value, 0);
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  const pattern = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/g;
  let end = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    labels[match[1]!] = match[2]!.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
    end = pattern.lastIndex;
  }
  if (end !== text.length) throw new Error(`not a label set: {${text}}`);
  return labels;
}
