// A disk that is full and has room again leaves no line that is cut. docs/operations.md#log-files
import { afterAll, describe, expect, test } from "bun:test";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FdOutput } from "../../src/features/telemetry/fd-output.ts";
import { type LogOutput, LogWriter } from "../../src/features/telemetry/log-writer.ts";
import { RotatingFile } from "../../src/features/telemetry/rotating-file.ts";
import { SmallDisk } from "../harness/small-disk.ts";

const disk = new SmallDisk(256 * 1024);
afterAll(() => disk.remove());
if (!disk.isSmall) console.log("left out: a small disk cannot be mounted here (that takes the rights of root)");

/** Lines of a length of their own. */
const line = (n: number): string => `${JSON.stringify({ n, text: "x".repeat(n % 3000) })}\n`;

const outputs: readonly (readonly [string, (file: string) => LogOutput])[] = [
  ["a file of the access log", (file) => new RotatingFile(file, null, { onFailed() {} })],
  ["standard output in a file", (file) => new FdOutput(openSync(file, "a"))],
];

describe.skipIf(!disk.isSmall).each(outputs)("%s", (name, outputTo) => {
  test("has whole lines alone once there is room again", async () => {
    const file = join(disk.folder, name.replaceAll(" ", "-"));
    const writer = new LogWriter(outputTo(file), Date.now);
    for (let n = 1; n <= 60; n++) {
      writer.add(line(n * 101));
      if (n % 20 === 10) disk.fill();
      if (n % 20 === 0) disk.empty();
      await writer.drain(1000);
    }
    writer.add(line(1));
    await writer.drain(1000);
    expect(writer.droppedLines).toBeGreaterThan(0);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    for (const text of lines) expect(() => JSON.parse(text)).not.toThrow();
    expect(lines.length).toBeGreaterThan(30);
  });
});
