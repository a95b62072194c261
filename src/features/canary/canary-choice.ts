import { createHmac } from "node:crypto";
import { subscriberOf } from "../../core/ip-address.ts";
import type { Exchange, Target } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import { requestScheme } from "../../message/request-scheme.ts";
import type { AnswerMark, TargetChoice } from "../../message/target.ts";
import { CookieValues } from "../../proto/semantics/cookie-values.ts";
import type { CanaryCell } from "./canary-cells.ts";

/** The cookie by which a client keeps its place, and so its version. */
const COOKIE = "edge_canary";
/** Places of clients: a share of a hundredth of a percent is one. */
const PLACES = 10_000;
const MAC_CHARS = 16;

/** Sends a share of the requests to the targets of a new version, the others to those of the old one. docs/pressure.md#canaries */
export class CanaryChoice implements TargetChoice {
  readonly answers: AnswerMark;
  private readonly old: TargetChoice;
  private readonly fresh: TargetChoice;
  private readonly cell: CanaryCell;
  private readonly places: CanaryPlaces | null;
  private readonly random: () => number;

  /** @param places of clients; null to decide each request by chance */
  constructor(
    old: TargetChoice,
    fresh: TargetChoice,
    cell: CanaryCell,
    places: CanaryPlaces | null,
    random: () => number,
  ) {
    this.old = old;
    this.fresh = fresh;
    this.cell = cell;
    this.places = places;
    this.random = random;
    this.answers = { mark: (ex) => this.mark(ex) };
  }

  choose(ex: Exchange): Target | null {
    const isFresh = this.isFresh(ex);
    ex.attempt.isFresh = isFresh;
    if (!isFresh) return this.old.choose(ex);
    const target = this.fresh.choose(ex);
    return target === null ? this.chooseOld(ex) : target;
  }

  /** A request that the new version fails goes to the old one. */
  chooseAgain(ex: Exchange, onlyAnother: boolean): Target | null {
    if (!ex.attempt.isFresh) return this.old.chooseAgain(ex, onlyAnother);
    return this.cell.percent >= 100 ? this.fresh.chooseAgain(ex, onlyAnother) : this.chooseOld(ex);
  }

  private chooseOld(ex: Exchange): Target | null {
    const { attempt } = ex;
    attempt.isFresh = false;
    // The bits of the targets that were tried are those of the other version.
    attempt.triedTargets = 0;
    attempt.blamedNodes = 0;
    return this.old.choose(ex);
  }

  private isFresh(ex: Exchange): boolean {
    const { percent } = this.cell;
    if (percent <= 0) return false;
    if (percent >= 100) return true;
    const place = this.places === null ? this.random() * PLACES : this.places.of(ex);
    return place < (percent * PLACES) / 100;
  }

  private mark(ex: Exchange): void {
    const { percent } = this.cell;
    if (this.places !== null && percent > 0 && percent < 100) this.places.mark(ex);
    (ex.attempt.isFresh ? this.fresh : this.old).answers?.mark(ex);
  }
}

/** The place of each client among all, by its cookie, else by its address: it is with the new version from a share on. */
export class CanaryPlaces {
  private readonly key: string;
  private readonly values: CookieValues = new CookieValues(COOKIE);
  /** What cookies have said and was true: there are PLACES at most. */
  private readonly known: Map<string, number> = new Map();

  /** @param key by which no client chooses its place */
  constructor(key: string) {
    this.key = key;
  }

  of(ex: Exchange): number {
    const told = this.toldBy(ex);
    return told < 0 ? ofAddress(ex.clientIp) : told;
  }

  /** Gives a client without a place its place. A cache on the way must not give it to others. */
  mark(ex: Exchange): void {
    if (this.toldBy(ex) >= 0) return;
    const cookie = `${COOKIE}=${this.valueOf(ofAddress(ex.clientIp))}; Path=/; HttpOnly; SameSite=Lax`;
    ex.response.addExtra(
      new ExtraFields([
        ["Set-Cookie", requestScheme(ex) === "https" ? `${cookie}; Secure` : cookie],
        ["Cache-Control", "private"],
      ]),
    );
  }

  /** -1 without a cookie that is of this gateway. */
  private toldBy({ request: { headers } }: Exchange): number {
    const { values } = this;
    values.begin(headers);
    while (values.next()) {
      if (values.to - values.from > MAC_CHARS + 6) continue;
      const text = Buffer.from(headers.bytes.subarray(values.from, values.to)).latin1Slice();
      const known = this.known.get(text);
      if (known !== undefined) return known;
      const place = Number(/^(\d{1,4})-/.exec(text)?.[1] ?? -1);
      if (place < 0 || text !== this.valueOf(place)) continue;
      this.known.set(text, place);
      return place;
    }
    return -1;
  }

  private valueOf(place: number): string {
    const mac = createHmac("sha256", this.key).update(`canary ${place}`).digest("base64url").slice(0, MAC_CHARS);
    return `${place}-${mac}`;
  }
}

function ofAddress(address: string): number {
  return Number(Bun.hash.xxHash64(subscriberOf(address)) % BigInt(PLACES));
}
