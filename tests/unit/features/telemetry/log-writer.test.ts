import { describe, expect, test } from "bun:test";
import { type LogOutput, LogWriter } from "../../../../src/features/telemetry/log-writer.ts";

/** An output that finishes a write when the test says so. */
class SlowOutput implements LogOutput {
  text = "";
  writes = 0;
  private finish: ((written: number) => void) | null = null;
  private waiting: Uint8Array = new Uint8Array(0);

  write(bytes: Uint8Array, done: (written: number) => void): void {
    expect(this.finish).toBeNull();
    this.writes++;
    this.waiting = bytes;
    this.finish = done;
  }

  isBusy(): boolean {
    return this.finish !== null;
  }

  /** Ends the write under way, after `count` bytes of it if given. */
  complete(count = this.waiting.length): void {
    const finish = this.finish!;
    this.finish = null;
    this.text += Buffer.from(this.waiting.subarray(0, count)).toString("utf8");
    finish(count);
  }

  completeAll(): void {
    while (this.isBusy()) this.complete();
  }
}

function setUp(maxQueuedChars?: number) {
  const output = new SlowOutput();
  return { output, writer: new LogWriter(output, () => 0, maxQueuedChars) };
}

describe("log writer", () => {
  test("one write at a time, in order, what waited together", () => {
    const { output, writer } = setUp();
    for (const line of ["a\n", "é\n", "c\n"]) writer.add(line);
    expect(output.writes).toBe(1);
    output.completeAll();
    expect(output.writes).toBe(2);
    expect(output.text).toBe("a\né\nc\n");
  });

  test("a reader that stalls costs lines, which are counted and told once it reads again", () => {
    const { output, writer } = setUp(100);
    for (let i = 0; i < 50; i++) writer.add("0123456789\nabcdefgh\n");
    expect(writer.droppedLines).toBe(88);
    output.completeAll();
    const lines = output.text.split("\n");
    expect(lines.filter((line) => line.startsWith("0123")).length).toBe(6);
    expect(lines.find((line) => line.startsWith("{"))).toBe(
      '{"timestamp":"1970-01-01T00:00:00.000Z","event":"log_dropped","lines":88,"time":"1970-01-01T00:00:00.000Z"}',
    );
    writer.add("later\n");
    output.completeAll();
    expect(output.text.endsWith("later\n")).toBe(true);
    expect(output.text.match(/log_dropped/g)!.length).toBe(1);
  });

  test("a failing output drops what it is given and is not asked in a circle", () => {
    const { output, writer } = setUp();
    writer.add("a\nb\n");
    output.complete(0);
    expect(output.isBusy()).toBe(false);
    expect(writer.droppedLines).toBe(2);
    writer.add("c\n");
    output.complete();
    expect(output.isBusy()).toBe(true);
    output.completeAll();
    expect(output.text).toContain("c\n");
    expect(output.text).toContain('"lines":2');
  });

  test("a line that an error cut is made whole before the next, however often it is cut", () => {
    const { output, writer } = setUp();
    writer.add("first\nsecond\nlost\n");
    output.complete(9);
    expect(writer.droppedLines).toBe(1);
    for (const [line, taken] of [
      ["lost too\n", 0],
      ["and this\n", 2],
    ] as const) {
      writer.add(line);
      output.complete(taken);
    }
    expect([output.text, writer.droppedLines]).toEqual(["first\nsecon", 3]);
    writer.add("third\n");
    output.completeAll();
    expect(output.text.startsWith("first\nsecond\nthird\n")).toBe(true);
    expect(output.text).toContain('"lines":3');
  });

  test("draining waits for what is queued, but not for ever", async () => {
    const { output, writer } = setUp();
    await writer.drain(1000);
    writer.add("a\n");
    const drained = writer.drain(5000);
    output.completeAll();
    await drained;
    writer.add("b\n");
    await writer.drain(30);
    expect(output.isBusy()).toBe(true);
  });
});
