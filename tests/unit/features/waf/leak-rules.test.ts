// docs/waf.md#responses: what counts as a leak, in one piece and cut at every byte.
import { describe, expect, test } from "bun:test";
import { LEAK_RULES } from "../../../../src/features/waf/responses/leak-rules.ts";
import { LeakScan } from "../../../../src/features/waf/responses/leak-scan.ts";

function found(...pieces: string[]): string | undefined {
  const scan = new LeakScan(LEAK_RULES);
  for (const piece of pieces) {
    const bytes = Buffer.from(piece);
    const leak = scan.feed(bytes, 0, bytes.length);
    if (leak !== null) return leak.rule.id;
  }
  return undefined;
}

const BASE64 = "MIIEowIBAAKCAQEA".repeat(4);

const LEAKS: readonly (readonly [string, string])[] = [
  ["LEAK-001", 'Traceback (most recent call last):\n  File "/srv/app.py", line 1, in <module>'],
  ["LEAK-001", JSON.stringify({ detail: 'Traceback (most recent call last):\n  File "/srv/app.py", line 1' })],
  ["LEAK-001", "<pre>Traceback (most recent call last):\n  File &quot;/srv/app.py&quot;, line 1</pre>"],
  ["LEAK-001", "java.lang.RuntimeException: x\n\tat com.shop.Cart.total(Cart.java:42)"],
  ["LEAK-001", "<pre>java.lang.RuntimeException\n\tcom.shop.Cart.total(Cart.java:42)"],
  ["LEAK-001", '{"trace":"x\\n\\tat com.shop.CartKt.total(Cart.kt:7)\\n"}'],
  ["LEAK-001", 'Exception in thread "main" java.lang.IllegalStateException: no'],
  ["LEAK-001", "PHP Fatal error:  Uncaught Error: x in /var/www/a.php:3\nStack trace:\n#0 {main}"],
  ["LEAK-001", "<b>Fatal error</b>:  Uncaught Error in <b>/var/www/a.php</b> on line <b>3</b>"],
  ["LEAK-001", "<br />\n<b>Warning</b>:  Undefined variable $a in <b>/var/www/a.php</b> on line <b>3</b>"],
  ["LEAK-001", "panic: runtime error\n\ngoroutine 17 [running]:\nmain.main()"],
  ["LEAK-001", "thread 'main' panicked at src/main.rs:2:5:\nx"],
  ["LEAK-001", "   at Shop.Cart.Total(Int32 id) in C:\\src\\Cart.cs:line 42"],
  ["LEAK-001", "Microsoft .NET Framework Version:4.0.30319; ASP.NET Version:4.8.1"],
  ["LEAK-001", "TypeError: x\n    at handler (/srv/app/routes.js:12:34)"],
  ["LEAK-001", "<br> &nbsp; at Layer.handle [as handle_request] (/srv/node_modules/express/lib/router/layer.js:95:5)"],
  ["LEAK-001", "    at file:///srv/app/index.mjs:3:9"],
  ["LEAK-001", "/srv/app/cart.rb:7:in `total'"],
  ["LEAK-002", "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version"],
  ["LEAK-002", "SQLSTATE[42S02]: Base table or view not found"],
  ["LEAK-002", 'org.postgresql.util.PSQLException: ERROR: relation "a" does not exist'],
  ["LEAK-002", 'ERROR:  syntax error at or near "\'"'],
  ["LEAK-002", "ORA-00933: SQL command not properly ended"],
  ["LEAK-002", "Unclosed quotation mark after the character string 'a'."],
  ["LEAK-002", 'sqlite3.OperationalError: near "a": syntax error'],
  ["LEAK-002", "SQLite3::SQLException: unrecognized token"],
  ["LEAK-003", `-----BEGIN PRIVATE KEY-----\n${BASE64}\n`],
  ["LEAK-003", `-----BEGIN OPENSSH PRIVATE KEY-----\r\n${BASE64}`],
  ["LEAK-003", `{"key":"-----BEGIN EC PRIVATE KEY-----\\n${BASE64}"}`],
  ["LEAK-003", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED"],
  ["LEAK-003", `${BASE64}\n-----END RSA PRIVATE KEY-----`],
  ["LEAK-004", "<html><head><title>Index of /backup</title>"],
  ["LEAK-004", "<pre><A HREF='/'>[To Parent Directory]</A>"],
];

describe("a leak", () => {
  test.each(LEAKS)("%s: %s", (rule, text) => {
    expect(found(text)).toBe(rule);
    for (let at = 1; at < text.length; at++) expect([at, found(text.slice(0, at), text.slice(at))]).toEqual([at, rule]);
    expect(found(...`${"x ".repeat(400)}${text}`)).toBe(rule);
  });
});

test.each([
  "The NullPointerException of Java, java.lang.NullPointerException, org.springframework.boot and ActionController::Base",
  "Begin the file with -----BEGIN PRIVATE KEY----- and end it with -----END PRIVATE KEY-----.",
  "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
  `-----BEGIN CERTIFICATE-----\n${BASE64}\n-----END CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----\n${BASE64}`,
  "Open Main.java:10 and app.js:20:3, then routes.rb: it is in there.",
  "//# sourceMappingURL=app.js.map\nwebpack:///./src/index.js:1",
  "A stack trace: #1 in the list. What is a goroutine [running]? A fatal error in the film: it ends.",
  "They panicked at the thought of SQL syntax errors, SQLSTATE codes and ORA- numbers.",
  "An index of all pages",
  "<title>Index of names</title>",
])("no leak: %s", (text) => {
  expect(found(text)).toBeUndefined();
});

test("rules that are off are not looked for", () => {
  const bytes = Buffer.from("sqlite3.OperationalError: x");
  const others = LEAK_RULES.filter(({ id }) => id !== "LEAK-002");
  expect(new LeakScan(others).feed(bytes, 0, bytes.length)).toBeNull();
});
