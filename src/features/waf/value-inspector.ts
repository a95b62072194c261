import { Byte, LOWER } from "../../core/ascii.ts";
import { indexOfByte } from "../../core/bytes.ts";
import { MAX_DECODING_ROUNDS } from "../../proto/target/percent-decoding.ts";
import type { Findings } from "./findings.ts";
import type { KeywordAutomaton } from "./match/keyword-automaton.ts";
import { MAX_NAME_BYTES, Place, type ValueReading } from "./match/value-reading.ts";
import {
  AGENT_FAMILIES,
  BODY_FAMILIES,
  EXTENSION_FAMILIES,
  Family,
  HEADER_FAMILIES,
  PATH_FAMILIES,
  PATH_REST_FAMILIES,
  QUERY_FAMILIES,
  SEGMENT_FAMILIES,
} from "./rules/family.ts";
import { keywordAutomaton } from "./rules/keyword-tables.ts";
import { Sign } from "./rules/sign.ts";
import { FileNames } from "./signs/file-names.ts";
import { LookupExpressions } from "./signs/lookup-expressions.ts";
import { MarkupScan } from "./signs/markup-scan.ts";
import { findMongoOperators } from "./signs/mongo-operators.ts";
import { findProtocolAbuse } from "./signs/protocol-abuse.ts";
import { findScannerName } from "./signs/scanner-names.ts";
import { ScriptContext } from "./signs/script-context.ts";
import { ServerCode } from "./signs/server-code.ts";
import { ShellCommands } from "./signs/shell-commands.ts";
import { findShellIdioms } from "./signs/shell-idioms.ts";
import { SqlBreakout } from "./signs/sql-breakout.ts";
import { SqlPhrases } from "./signs/sql-phrases.ts";
import { UrlTargets } from "./signs/url-targets.ts";

/** Shows one value after the other to the analysers that its keywords call. */
export class ValueInspector {
  /** The caller loads it; see `inspect`. */
  readonly value: ValueReading;
  private readonly findings: Findings;
  private readonly automaton: KeywordAutomaton = keywordAutomaton();
  private readonly sqlBreakout: SqlBreakout = new SqlBreakout();
  private readonly sqlPhrases: SqlPhrases = new SqlPhrases();
  private readonly markup: MarkupScan = new MarkupScan();
  private readonly scripts: ScriptContext = new ScriptContext();
  private readonly shell: ShellCommands = new ShellCommands();
  private readonly code: ServerCode = new ServerCode();
  private readonly files: FileNames = new FileNames();
  private readonly urls: UrlTargets = new UrlTargets();
  private readonly lookups: LookupExpressions = new LookupExpressions();

  constructor(value: ValueReading, findings: Findings) {
    this.value = value;
    this.findings = findings;
  }

  /** Names the values that come: a parameter, a header, a cookie. */
  setName(bytes: Uint8Array, from: number, to: number): void {
    const { value } = this;
    const length = Math.min(to - from, MAX_NAME_BYTES);
    for (let i = 0; i < length; i++) value.name[i] = LOWER[bytes[from + i]!]!;
    value.nameLength = length;
    value.lastNameFrom = 0;
  }

  /** The values that come have no name. */
  nameNothing(): void {
    this.value.nameLength = 0;
    this.value.lastNameFrom = 0;
  }

  /**
   * Inspects the value in the reading, and then once more with all escapes undone that are left in it.
   * @param from where the value begins on the wire, its name included
   */
  inspect(bytes: Uint8Array, from: number, to: number): void {
    const { value } = this;
    const allowed = FAMILIES[value.place]!;
    this.findings.setSource(bytes, from, to);
    if (value.steps.take(2 * value.length)) this.inspectReading(allowed);
    if (value.steps.isSpent) this.findings.foundSpent();
  }

  private inspectReading(allowed: number): void {
    const { value } = this;
    const families = this.automaton.find(value.bytes, 0, value.length) & allowed;
    if (families === 0) return;
    this.analyse(families);
    if ((families & Family.Reference) !== 0) {
      value.dereference();
      this.analyse(this.automaton.find(value.bytes, 0, value.length) & Family.Script);
    }
    if ((families & Family.Escape) === 0) return;
    const hasBlank = indexOfByte(value.bytes, Byte.Space, 0, value.length) < value.length;
    const rounds = value.unescape();
    value.steps.take(rounds * value.length);
    if (rounds > MAX_DECODING_ROUNDS) this.findings.found(Sign.OverEncoding, 0);
    // In prose "%00" is what somebody writes about.
    const again = hasBlank && value.place === Place.Body ? allowed & ~Family.Nul : allowed;
    if (rounds > 0) this.analyse(this.automaton.find(value.bytes, 0, value.length) & again);
  }

  /** Shows the value to the analysers of these families. */
  analyse(families: number): void {
    const { value, findings } = this;
    if (!value.steps.take(ANALYSIS_STEPS * value.length)) return;
    if ((families & Family.Sql) !== 0) {
      this.sqlBreakout.analyse(value, findings);
      this.sqlPhrases.analyse(value, findings);
    }
    if ((families & Family.Mongo) !== 0) findMongoOperators(value, findings);
    if ((families & Family.Script) !== 0) {
      this.markup.analyse(value, findings);
      this.scripts.analyse(value, findings);
    }
    if ((families & Family.Shell) !== 0) {
      this.shell.analyse(value, findings);
      findShellIdioms(value, findings);
    }
    if ((families & Family.Code) !== 0) this.code.analyse(value, findings);
    if ((families & Family.File) !== 0) this.files.analyse(value, findings);
    if ((families & Family.Url) !== 0) this.urls.analyse(value, findings);
    if ((families & Family.Lookup) !== 0) this.lookups.analyse(value, findings);
    if ((families & Family.Scanner) !== 0) findScannerName(value, findings);
    if ((families & (Family.Break | Family.Nul)) !== 0) findProtocolAbuse(value, findings);
  }
}

/** Looks at each byte of a value by all analysers together, but for what they look at around a find. */
const ANALYSIS_STEPS = 8;
/** The families that look at each place. */
const FAMILIES: Readonly<Record<Place, number>> = {
  [Place.Query]: QUERY_FAMILIES,
  [Place.Agent]: AGENT_FAMILIES,
  [Place.Header]: HEADER_FAMILIES,
  [Place.Extension]: EXTENSION_FAMILIES,
  [Place.Body]: BODY_FAMILIES,
  [Place.Path]: PATH_FAMILIES,
  [Place.Segment]: SEGMENT_FAMILIES,
  [Place.PathRest]: PATH_REST_FAMILIES,
};
