import * as v from "valibot";
import { isObject } from "../core/value-kind.ts";
import { type ConfigFault, type ConfigPosition, formatKeyPath, type KeyPath } from "./config-fault.ts";
import type { YamlSource } from "./yaml-source.ts";

/** Collects the faults and warnings of one file, each with its place in the text. */
export class FaultLog {
  readonly faults: ConfigFault[];
  readonly warnings: ConfigFault[];
  private readonly faulty = new Set<string>();

  constructor(private readonly source: YamlSource) {
    this.faults = [...source.faults];
    this.warnings = [...source.warnings];
  }

  /** Place of the value at a path. */
  position(path: KeyPath): ConfigPosition {
    return this.source.position(path, false);
  }

  /** Notes a fault at a value, or at its key. */
  fault(path: KeyPath, message: string, onKey = false): void {
    this.faults.push({
      ...this.source.position(path, onKey),
      path: formatKeyPath(path),
      message: this.source.hide(message),
    });
    this.mark(path);
  }

  /** Notes a fault at a character of the text at a path. */
  faultWithin(path: KeyPath, offset: number, message: string): void {
    const position = this.source.within(path, offset);
    this.faults.push({ ...position, path: formatKeyPath(path), message: this.source.hide(message) });
    this.mark(path);
  }

  /** Notes a fault at a place in another file, which the value at `path` names. */
  faultIn(place: ConfigPosition, path: KeyPath, message: string): void {
    this.faults.push({ ...place, path: "", message });
    this.mark(path);
  }

  /** Notes something that works, but is hardly meant. */
  warn(path: KeyPath, message: string): void {
    this.warnings.push({
      ...this.source.position(path, false),
      path: formatKeyPath(path),
      message: this.source.hide(message),
    });
  }

  /** Takes over the notes about another file. */
  include(other: FaultLog): void {
    this.faults.push(...other.faults);
    this.warnings.push(...other.warnings);
  }

  /** Notes a fault, or a warning, at a place that is known already, also in another file. */
  noteAt(position: ConfigPosition, message: string, isWarning: boolean): void {
    (isWarning ? this.warnings : this.faults).push({ ...position, path: "", message: this.source.hide(message) });
  }

  /**
   * Runs a schema over the raw value at `path` and notes every fault. So that the rest can still be judged, a part
   * with a fault is given as if it were absent; parts are told apart `depth` levels down. Ask `isFaulty` before
   * complaining that something is missing.
   */
  read<T>(schema: v.GenericSchema<unknown, T>, raw: unknown, path: KeyPath, depth: number): T {
    const result = v.safeParse(schema, raw ?? undefined);
    if (result.issues === undefined) return result.output;
    for (const issue of result.issues) {
      const steps = issue.path ?? [];
      const full = [...path, ...steps.map((step) => step.key as string | number)];
      // An empty message: another fault says it already.
      if (issue.message === "") this.mark(full);
      else this.fault(full, issue.message, steps.at(-1)?.origin === "key");
    }
    return this.mend(result.output, v.safeParse(schema, undefined).output, path, depth) as T;
  }

  /** True when a fault was noted at the path or anywhere below it. */
  isFaulty(path: KeyPath): boolean {
    return this.faulty.size > 0 && this.faulty.has(formatKeyPath(path));
  }

  private mend(value: unknown, whenAbsent: unknown, path: KeyPath, depth: number): unknown {
    if (!this.isFaulty(path)) return value;
    if (depth === 0 || !isObject(value) || !isObject(whenAbsent)) return whenAbsent;
    const keys = Object.keys(whenAbsent);
    return Object.fromEntries(
      keys.map((key) => [key, this.mend(value[key], whenAbsent[key], [...path, key], depth - 1)]),
    );
  }

  private mark(path: KeyPath): void {
    for (let length = 0; length <= path.length; length++) this.faulty.add(formatKeyPath(path.slice(0, length)));
  }
}
