// The entry of scripts/conformance-json: writes the table of JSONTestSuite.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDisputed, readersOf, suiteFiles, suitePage, suiteRows } from "./json-suite.ts";
import { checkoutOf } from "./suite-page.ts";

const [, out = join(import.meta.dir, "results", "json.md")] = process.argv.slice(2);
const folder = join(
  checkoutOf("test_parsing", "scripts/conformance-json CHECKOUT [OUT], a checkout of github.com/nst/JSONTestSuite", [
    "test_parsing",
  ]),
  "test_parsing",
);
const files = suiteFiles(folder);
const readers = readersOf(folder, files);
const rows = suiteRows(folder, files, readers);
mkdirSync(join(out, ".."), { recursive: true });
writeFileSync(out, suitePage(rows, readers));
const missed = rows.filter((row) => isDisputed(row) && row.rules.length === 0);
process.stdout.write(
  `${rows.length} files, ${rows.filter(isDisputed).length} taken in different ways; written: ${out}\n`,
);
for (const { file, readings } of missed) process.stdout.write(`not reported: ${file} ${readings.join(" ")}\n`);
process.exit(missed.length === 0 ? 0 : 1);
