import { ANNOTATION_PREFIX, type AnnotationName, annotationRow } from "./annotation-rows.ts";

/** An annotation that is not carried, and why. */
export interface LostAnnotation {
  readonly name: string;
  readonly why: string;
}

/** Reads the annotations of one Ingress, and notes each loss. */
export class AnnotationReader {
  /** Left aside; the routes serve. */
  readonly ignored: LostAnnotation[] = [];
  /** Guards that are not carried: the routes must not serve. */
  readonly refused: LostAnnotation[] = [];

  private readonly values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.values = values;
    for (const [key, value] of Object.entries(values)) {
      if (!key.startsWith(ANNOTATION_PREFIX)) continue;
      const name = key.slice(ANNOTATION_PREFIX.length);
      const row = annotationRow(name);
      if (row === null) this.note(name, "ingress-nginx has no such annotation", LIKE_A_GUARD.test(name));
      else if (row.fate === "lost" && !isHarmless(name, value)) this.note(name, row.here, row.isGuard === true);
    }
  }

  has(name: AnnotationName): boolean {
    return typeof this.values[ANNOTATION_PREFIX + name] === "string";
  }

  /** Trimmed; "" if it is absent. */
  text(name: AnnotationName): string {
    const value = this.values[ANNOTATION_PREFIX + name];
    return typeof value === "string" ? value.trim() : "";
  }

  /** Whether it is there and true; another text than true and false is not carried. */
  isOn(name: AnnotationName, whenAbsent = false): boolean {
    const text = this.text(name).toLowerCase();
    if (["true", "on", "1", "t"].includes(text)) return true;
    if (["false", "off", "0", "f"].includes(text)) return false;
    if (this.has(name)) this.lose(name, "expected true or false");
    return whenAbsent;
  }

  /** A whole number of at least 0; null if it is absent or none. */
  number(name: AnnotationName): number | null {
    const text = this.text(name);
    if (text === "") return null;
    if (/^\d{1,9}$/.test(text)) return Number(text);
    this.lose(name, "expected a whole number");
    return null;
  }

  /** The parts between commas. */
  list(name: AnnotationName): readonly string[] {
    return this.text(name)
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "");
  }

  /** Notes that the value of an annotation is not carried. */
  lose(name: AnnotationName, why: string): void {
    this.note(name, why, annotationRow(name)?.isGuard === true);
  }

  private note(name: string, why: string, isGuard: boolean): void {
    (isGuard ? this.refused : this.ignored).push({ name, why });
  }
}

/** An unknown name that reads as if it said who may come in. */
const LIKE_A_GUARD = /auth|allow|deny|whitelist|blacklist|secur|snippet|waf|access/;

/** A value by which an annotation asks for nothing. */
function isHarmless(name: string, value: unknown): boolean {
  const text = String(value).trim().toLowerCase();
  if (name === "satisfy") return text === "all";
  if (name === "auth-tls-verify-client") return text === "off";
  return SWITCHES.has(name) && (text === "false" || text === "");
}

const SWITCHES: ReadonlySet<string> = new Set([
  ...["ssl-passthrough", "enable-opentelemetry", "use-port-in-redirects", "relative-redirects", "http2-push-preload"],
  ...["auth-tls-pass-certificate-to-upstream", "upstream-hash-by-subset", "auth-always-set-cookie"],
]);
