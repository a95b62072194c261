// The entry of scripts/conformance-nginx: runs nginx's own tests against edge, and writes what passes.
import { join } from "node:path";
import { checkoutOf, versionOf } from "../suite-page.ts";
import { outcomeOf } from "./outcome.ts";
import { writeNginxPage } from "./page.ts";
import { runSuite, suiteFilesOf } from "./run.ts";

/** Most of the time tests wait. */
const AT_ONCE = 6;
/** Modules of Perl that files of the suite use. */
const MODULES = ["IO::Socket::SSL", "CryptX", "FCGI"];

const usage = "scripts/conformance-nginx CHECKOUT [FILE...], a checkout of github.com/nginx/nginx-tests";
const checkout = checkoutOf(join("lib", "Test", "Nginx.pm"), usage, ["."]);
const chosen = process.argv.slice(3);
// The suite leaves out the files that need one which is not there: fewer assertions would pass, and none fail.
const absent = MODULES.filter(
  (name) => Bun.spawnSync(["perl", `-M${name}`, "-e1"], { stderr: "ignore" }).exitCode !== 0,
);
if (chosen.length === 0 && absent.length > 0) {
  process.stderr.write(`nginx-tests: skipped, perl has no ${absent.join(", ")}\n`);
  process.exit(2);
}
const files = chosen.length > 0 ? chosen : suiteFilesOf(checkout);
const results = await runSuite(checkout, files, {
  atOnce: AT_ONCE,
  onFile(result) {
    const { passed, closed, failed, notReached } = outcomeOf(result);
    if (chosen.length > 0) process.stdout.write(result.output);
    const text =
      result.skipReason === null
        ? `${passed} passed, ${failed + closed} failed, ${notReached} not reached`
        : `left out: ${result.skipReason}`;
    if (process.stderr.isTTY || chosen.length > 0) process.stderr.write(`${result.file}: ${text}\n`);
  },
});
if (chosen.length === 0) writeNginxPage(results, versionOf(checkout));
