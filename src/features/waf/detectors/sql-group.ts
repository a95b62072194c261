import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import {
  CRITICAL_SCORE,
  type DetectionListener,
  type Detector,
  type DetectorGroup,
  VALUES,
  type WafRule,
} from "../rule.ts";
import { BREAKOUT_RULES, breakoutKeywords, SqlBreakout } from "./sql-breakout.ts";
import { PHRASE_RULES, SqlPhrases } from "./sql-phrases.ts";
import { WHOLE_SQL, WholeSql } from "./whole-sql.ts";

/** SQL in values: what leaves the literal that a value is pasted into, phrases that give SQL away wherever they are, values that are SQL. */
export const SQL_GROUP: DetectorGroup = {
  rules: [...BREAKOUT_RULES, ...PHRASE_RULES, WHOLE_SQL],
  locations: [
    InputLocation.Query,
    InputLocation.Agent,
    InputLocation.Header,
    InputLocation.Extension,
    InputLocation.Body,
    InputLocation.Segment,
    InputLocation.PathRest,
  ],
  keywords: breakoutKeywords,
  detectors: () => [new SqlDetector()],
};

/**
 * Reads a value by its places first, and as a whole if no rule of those blocks: so that one attack counts once, and who has excluded
 * such a rule somewhere has excluded what it found.
 */
class SqlDetector implements Detector, DetectionListener {
  private readonly breakout: SqlBreakout = new SqlBreakout();
  private readonly phrases: SqlPhrases = new SqlPhrases();
  private readonly whole: WholeSql = new WholeSql();
  private listener: DetectionListener | null = null;
  private hasFound = false;

  analyse(value: ValueReading, listener: DetectionListener): void {
    this.listener = listener;
    this.hasFound = false;
    this.breakout.analyse(value, this);
    this.phrases.analyse(value, this);
    if (!this.hasFound && VALUES.includes(value.location)) this.whole.analyse(value, this);
  }

  found(rule: WafRule, at: number): void {
    this.hasFound ||= rule.score === CRITICAL_SCORE;
    this.listener!.found(rule, at);
  }
}
