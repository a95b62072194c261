import { copyBytes, utf8AsLatin1 } from "../core/bytes.ts";
import { compileRuleExpression, expressionIn, MAX_EXPRESSION_PROGRAM } from "../proto/expression/expression.ts";

/** Bytes of a response's body that a health check looks at: the window of an origin with HTTP/2 before it is allowed more. */
const MAX_PROBE_BODY_BYTES = 65_535;
/** Steps beside one a byte, so that no origin holds the thread up for longer. */
const MAX_STEPS = 4_000_000;
const STATES_BYTES = 65_536;

/** The expected body: text, or an expression between slashes. docs/upstreams.md#health-checks */
export class ExpectedBody {
  private readonly fits: (text: string) => boolean | null;

  /** @param wanted as the configuration has it, checked there @throws if it was not */
  constructor(wanted: string) {
    const source = expressionIn(wanted);
    const part = utf8AsLatin1(wanted);
    if (source === null) {
      this.fits = (text) => text.includes(part);
      return;
    }
    const limits = { program: MAX_EXPRESSION_PROGRAM, statesBytes: STATES_BYTES };
    const made = compileRuleExpression(utf8AsLatin1(source), limits);
    if ("fault" in made) throw new Error(`an expression that was never checked: ${made.fault}`);
    this.fits = (text) => made.measure(text, MAX_STEPS);
  }

  /** Why a body is not a good one; "" for a good one. */
  faultOf(text: string): string {
    const isFit = this.fits(text);
    if (isFit === null) return "the body takes the expression too long";
    return isFit ? "" : "the body does not fit health_check.body";
  }
}

/** The beginning of a response's body, for its judge. */
export class ProbeBody {
  private readonly bytes: Buffer = Buffer.allocUnsafe(MAX_PROBE_BODY_BYTES);
  private length = 0;

  /** Takes bytes, but none beyond the bound. @returns whether no more are needed */
  take(bytes: Uint8Array, from: number, to: number): boolean {
    const end = Math.min(to, from + MAX_PROBE_BODY_BYTES - this.length);
    this.length = copyBytes(this.bytes, this.length, bytes, from, end);
    return this.length === MAX_PROBE_BODY_BYTES;
  }

  /** One character a byte, without the line ends after the last line. */
  text(): string {
    return this.bytes.toString("latin1", 0, this.length).replace(/[\r\n]{1,8}$/, "");
  }
}
