// The entry of scripts/conformance-nginx: runs nginx's own tests against edge, and writes what passes.
import { join } from "node:path";
import { checkoutOf, versionOf } from "../suite-page.ts";
import { outcomeOf } from "./outcome.ts";
import { writeNginxPage } from "./page.ts";
import { runSuite, suiteFilesOf } from "./run.ts";

/** Most of the time tests wait. */
const AT_ONCE = 6;

const usage = "scripts/conformance-nginx CHECKOUT [FILE...], a checkout of github.com/nginx/nginx-tests";
const checkout = checkoutOf(join("lib", "Test", "Nginx.pm"), usage);
const chosen = process.argv.slice(3);
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
