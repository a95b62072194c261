import { latin1 } from "../../core/bytes.ts";
import { MAX_HEADER_LINE_BYTES } from "../../core/limits.ts";
import { type HeaderBlock, HeaderId, headerIdFromName } from "../../message/header-block.ts";
import { LateExpression } from "../../proto/expression/expression.ts";
import { type Template, templateOf } from "../../proto/template/template.ts";
import type { HeaderStep } from "./header-edits.ts";

/** Another text in the place of every match in the values of a field. */
interface Replacement {
  readonly name: string;
  readonly regex: string;
  /** May name groups: {match.1}. */
  readonly to: string;
}

/** `replace` of a route's `headers`. A value that is empty then, or takes too many steps, is not sent. docs/upstreams.md#header-edits */
export class FieldReplacement implements HeaderStep {
  readonly addedBytes: number = MAX_HEADER_LINE_BYTES;
  private readonly lower: string;
  private readonly id: HeaderId;
  private readonly expression: LateExpression;
  private readonly template: Template;

  constructor({ name, regex, to }: Replacement) {
    this.lower = name.toLowerCase();
    this.id = headerIdFromName(name);
    this.expression = new LateExpression(regex);
    this.template = templateOf(to);
  }

  request(out: Buffer, start: number, end: number): number {
    const lines = out.latin1Slice(start, end).split("\r\n");
    let left = this.addedBytes;
    let isChanged = false;
    const made = lines.flatMap((line, i) => {
      if (i === 0 || line.slice(0, line.indexOf(":")).toLowerCase() !== this.lower) return [line];
      const value = line.slice(line.indexOf(":") + 1).trim();
      const next = this.valueOf(value);
      if (next === value) return [line];
      isChanged = true;
      const changed = `${line.slice(0, line.indexOf(":"))}: ${next}`;
      left -= Math.max(0, changed.length - line.length);
      return next === "" || left < 0 ? [] : [changed];
    });
    return isChanged ? start + out.latin1Write(made.join("\r\n"), start) : end;
  }

  held(headers: HeaderBlock): void {
    this.rewrite(headers, (value) => this.valueOf(value));
  }

  response(headers: HeaderBlock): void {
    this.rewrite(headers, (value) => this.valueOf(value) || null);
  }

  fixed(fields: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
    return fields
      .map(([name, value]) => [name, name.toLowerCase() === this.lower ? this.valueOf(value) : value] as const)
      .filter(([name, value]) => value !== "" || name.toLowerCase() !== this.lower);
  }

  private rewrite(headers: HeaderBlock, next: (value: string) => string | null): void {
    if (this.id === HeaderId.Other) headers.rewriteNamed(latin1(this.lower), next);
    else headers.rewriteAll(this.id, next);
  }

  /** The new value; "" for none. */
  private valueOf(value: string): string {
    const { literals, uses } = this.template;
    const made = this.expression.replaceAll(value, (groups) =>
      literals.reduce((text, literal, i) => text + groupOf(groups, uses[i - 1]!.name) + literal),
    );
    return made === value ? value : (made ?? "").slice(0, MAX_HEADER_LINE_BYTES).trim();
  }
}

function groupOf(groups: readonly string[], name: string): string {
  return groups[Number(name.slice("match.".length))] ?? "";
}
