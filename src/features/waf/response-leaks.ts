import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { NowMs, ReplySink } from "../../message/ports.ts";
import { type IncidentListener, snippetOf } from "./incident.ts";

/** What a response gives away, and the texts by which it is known. */
interface LeakRule {
  readonly id: string;
  readonly description: string;
  readonly score: number;
  readonly crs?: number;
  readonly texts: readonly string[];
}

/** The rules of responses, by what only machines write. docs/waf.md#responses */
export const LEAK_RULES: readonly LeakRule[] = [
  {
    id: "LEAK-001",
    description: "stack trace of a program",
    score: 4,
    crs: 953100,
    texts: [
      ...[
        "Traceback (most recent call last):",
        "Stack trace:\n#0 ",
        "PHP Fatal error:",
        "Fatal error</b>: ",
        "goroutine 1 [running]:",
      ],
      ...[
        'Exception in thread "',
        "java.lang.NullPointerException",
        "org.springframework.",
        "System.NullReferenceException",
        "Microsoft .NET Framework Version:",
      ],
      ...[
        "at Object.<anonymous> (/",
        "at Module._compile (",
        "/node_modules/express/lib/",
        "ActionController::",
        "thread 'main' panicked at",
      ],
    ],
  },
  {
    id: "LEAK-002",
    description: "error of a database",
    score: 4,
    crs: 951100,
    texts: [
      ...[
        "You have an error in your SQL syntax",
        "MySQLSyntaxErrorException",
        "supplied argument is not a valid MySQL",
        "SQLSTATE[",
        "PSQLException",
      ],
      ...[
        "unterminated quoted string at or near",
        "PG::SyntaxError",
        "ORA-00933",
        "ORA-00921",
        "ORA-01756",
        "Unclosed quotation mark after the character string",
      ],
      ...[
        "Microsoft OLE DB Provider for",
        "System.Data.SqlClient.SqlException",
        "SQLite3::SQLException",
        "sqlite3.OperationalError",
        "MongoServerError:",
      ],
    ],
  },
  {
    id: "LEAK-003",
    description: "private key",
    score: 5,
    texts: [
      ...["-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY-----"],
      ...[
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----",
        "-----BEGIN DSA PRIVATE KEY-----",
      ],
    ],
  },
  {
    id: "LEAK-004",
    description: "listing of a folder",
    score: 4,
    crs: 950130,
    texts: ["<title>Index of /", "<h1>Index of /", "<title>Directory listing for /", ">[To Parent Directory]</"],
  },
];

/** Looks at the beginnings of responses that are text, and reports what they give away; nothing is held back. */
export class ResponseLeakPhase implements Phase {
  readonly name = "responseLeaks";
  private readonly report: (ex: Exchange, text: Buffer) => void;

  constructor(listener: IncidentListener, clock: NowMs) {
    this.report = (ex, text) => {
      for (const [rule, needles] of NEEDLES) {
        const needle = needles.find((one) => text.includes(one));
        if (needle === undefined) continue;
        const at = text.indexOf(needle);
        const from = Math.max(0, at - LEAD_BYTES);
        listener.onIncident(
          {
            timestampMs: clock.nowMs,
            clientIp: ex.clientIp,
            method: ex.request.methodText(),
            path: ex.request.targetBeforeQuery(),
            category: "leak",
            ruleId: rule.id,
            anomalyScore: rule.score,
            action: "logged",
            location: "response",
            // A secret is named, not repeated.
            payloadSnippet:
              rule.id === KEY_RULE
                ? needle.toString("latin1")
                : snippetOf(text.toString("latin1", from, at + LEAD_BYTES), 0),
            ...(rule.crs === undefined ? {} : { crs: rule.crs }),
          },
          ex,
        );
        return;
      }
    };
  }

  run(ex: Exchange): Verdict {
    if (!ex.request.upgrade) ex.sink = new LeakSink(ex.sink, this.report);
    return Verdict.Next;
  }
}

/** Keeps a copy of a response's beginning until there is enough of it, or it ends. */
class LeakSink extends PassingSink {
  private readonly report: (ex: Exchange, text: Buffer) => void;
  private kept: Buffer | null = null;
  private length = 0;

  constructor(inner: ReplySink, report: (ex: Exchange, text: Buffer) => void) {
    super(inner);
    this.report = report;
  }

  override head(ex: Exchange): void {
    const { headers, fromUpstream } = ex.reply;
    const type = headers.find(HeaderId.ContentType);
    const isText = type >= 0 && IS_TEXT.test(headers.valueText(type));
    if (fromUpstream && isText && headers.find(HeaderId.ContentEncoding) < 0) this.kept = Buffer.allocUnsafe(MAX_BYTES);
    this.inner.head(ex);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const { kept } = this;
    if (kept !== null) {
      const end = Math.min(to, from + kept.length - this.length);
      kept.set(bytes.subarray(from, end), this.length);
      this.length += end - from;
      if (this.length === kept.length) this.judge(ex);
    }
    return this.inner.body(ex, bytes, from, to);
  }

  override end(ex: Exchange): void {
    // The exchange is over for everyone after the inner sink's end.
    if (this.kept !== null) this.judge(ex);
    this.inner.end(ex);
  }

  private judge(ex: Exchange): void {
    const text = this.kept!.subarray(0, this.length);
    this.kept = null;
    if (text.length > 0) this.report(ex, text);
  }
}

const KEY_RULE = "LEAK-003";
const NEEDLES: readonly (readonly [LeakRule, readonly Buffer[]])[] = LEAK_RULES.map((rule) => [
  rule,
  rule.texts.map((text) => Buffer.from(text)),
]);
const IS_TEXT = /^\s*(?:text\/|application\/(?:json|xml|problem\+json|javascript)|application\/x-pem-file)/i;
/** So much of a response is looked at. */
const MAX_BYTES = 16_384;
const LEAD_BYTES = 64;
