import { writeSync } from "node:fs";
import { FdOutput } from "../../../src/features/telemetry/fd-output.ts";
import { LogWriter } from "../../../src/features/telemetry/log-writer.ts";

/**
 * Logs to standard output for as many milliseconds as the argument says, and reports on standard error how the event
 * loop fared meanwhile.
 */
const durationMs = Number(process.argv[2]);
const writer = new LogWriter(new FdOutput(1), Date.now, 1024 * 1024);
const line = `{"event":"x","filler":"${"y".repeat(1000)}"}\n`;
let sent = 0;
let longestGapMs = 0;
let lastMs = performance.now();
const startMs = lastMs;
const timer = setInterval(async () => {
  const nowMs = performance.now();
  longestGapMs = Math.max(longestGapMs, nowMs - lastMs);
  lastMs = nowMs;
  for (let i = 0; i < 20; i++, sent += 10) writer.write(line.repeat(10));
  if (nowMs - startMs < durationMs) return;
  clearInterval(timer);
  await writer.drain(500);
  writeSync(2, JSON.stringify({ sent, dropped: writer.droppedLines, longestGapMs }));
  process.exit(0);
}, 5);
