// The entry of scripts/conformance-web: runs the Web Platform Tests in a function and prints what passes, and what does not.
import { runPlatformTests, suiteFolder } from "./web-platform.ts";

const suite = suiteFolder();
if (suite === null) {
  process.stderr.write("EDGE_WPT names no checkout of the Web Platform Tests with resources, fetch/api and url\n");
  process.exit(2);
}
const outcomes = await runPlatformTests(suite);
for (const { name, passed, total, browserRules, leftOut } of outcomes)
  process.stdout.write(`${name}: ${passed} of ${total} (rules of browsers: ${browserRules}; not run: ${leftOut})\n`);
for (const { broken, failed } of outcomes) {
  for (const file of broken) process.stdout.write(`did not end: ${file}\n`);
  for (const { file, name, message } of failed) process.stdout.write(`${file}: ${name}: ${message}\n`);
}
process.exit(outcomes.some(({ broken }) => broken.length > 0) ? 1 : 0);
