// The entry of scripts/conformance-haproxy: runs HAProxy's reg-tests against edge by VTest, and writes what passes.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkoutOf, versionOf } from "../suite-page.ts";
import { writeHaproxyPage } from "./page.ts";
import { runSuite, suiteFilesOf } from "./run.ts";

/** Most of the time tests wait. */
const AT_ONCE = 6;

const usage = "scripts/conformance-haproxy CHECKOUT [FILE...], a checkout of github.com/haproxy/haproxy";
const checkout = checkoutOf(join("reg-tests", "http-rules"), usage);
const beside = join(checkout, "..", "VTest2", "vtest");
const vtest = process.env.VTEST_PROGRAM ?? (existsSync(beside) ? beside : Bun.which("vtest"));
if (vtest === null) {
  process.stderr.write(
    `haproxy: skipped, no vtest: clone https://github.com/vtest/VTest2 beside ${checkout}, and make vtest there\n`,
  );
  process.exit(2);
}
const chosen = process.argv.slice(3).map((name) => name.replace(/^(?:.*\/)?reg-tests\//, "").replace(/\.vtc$/, ""));
const results = await runSuite(checkout, chosen.length > 0 ? chosen : suiteFilesOf(checkout), {
  vtest,
  atOnce: AT_ONCE,
  onFile({ file, outcome, held, said, output }) {
    if (chosen.length > 0) process.stdout.write(output);
    process.stderr.write(`${file}: ${outcome}, ${held} held: ${said}\n`);
  },
});
if (chosen.length === 0) writeHaproxyPage(results, versionOf(checkout));
process.exit(results.length > 0 ? 0 : 1);
