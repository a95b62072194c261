import { type PathPattern, type PatternSegment, type PatternVariable, SegmentKind } from "../../core/path-pattern.ts";

/**
 * Reads `/v1/users/:id`: a segment that begins with a colon is a parameter.
 * @param path begins with a slash; parameters are names and stand once each, which the configuration checks
 */
export function colonPattern(path: string): PathPattern {
  const parts = path.slice(1).split("/");
  const segments = parts.map((part): PatternSegment => (part.startsWith(":") ? ONE : literal(part)));
  const variables = parts.flatMap((part, i): PatternVariable[] =>
    part.startsWith(":") ? [{ name: part.slice(1), from: i, to: i + 1 }] : [],
  );
  return { segments, verb: "", variables };
}

/**
 * Reads a path template of `google.api.http`, such as `/v1/{name=shelves/*}/books:publish`. The grammar stands in
 * google/api/http.proto: `*` is one segment, `**` the rest, `{field=segments}` names what its segments take.
 * @returns the pattern, or the fault in the template
 */
export function templatePattern(template: string): PathPattern | string {
  if (!template.startsWith("/")) return `the path template ${JSON.stringify(template)} does not begin with "/"`;
  const found = TEMPLATE_PARTS.exec(template.slice(1));
  if (found === null) return unreadable(template);
  const segments: PatternSegment[] = [];
  const variables: PatternVariable[] = [];
  for (const part of found[1]!.match(/\{[^}]*\}|[^/]+/g) ?? []) {
    const variable = /^\{([A-Za-z_][\w.]*)(?:=([^{}]+))?\}$/.exec(part);
    if (variable === null && /[{}]/.test(part)) return unreadable(template);
    const from = segments.length;
    for (const name of (variable?.[2] ?? (variable === null ? part : "*")).split("/")) {
      if (name === "") return unreadable(template);
      if (segments.at(-1)?.kind === SegmentKind.Rest) return `"**" may only be the last segment of ${template}`;
      segments.push(name === "*" ? ONE : name === "**" ? REST : literal(name));
    }
    const goesOn = segments.at(-1)!.kind === SegmentKind.Rest;
    if (variable !== null) variables.push({ name: variable[1]!, from, to: goesOn ? -1 : segments.length });
  }
  if (segments.length === 0) return unreadable(template);
  return { segments, verb: found[2] ?? "", variables };
}

function unreadable(template: string): string {
  return `the path template ${JSON.stringify(template)} cannot be read`;
}

function literal(text: string): PatternSegment {
  return { kind: SegmentKind.Literal, text: Buffer.from(text, "utf8").latin1Slice() };
}

/** All up to the verb, and the verb: a colon outside of braces, after which no slash comes. More colons are part of the verb. */
const TEMPLATE_PARTS = /^((?:\{[^{}]*\}|[^{}:])+)(?::([^{}/]+))?$/;
const ONE: PatternSegment = { kind: SegmentKind.One, text: "" };
const REST: PatternSegment = { kind: SegmentKind.Rest, text: "" };
