import { writeSync } from "node:fs";
import { FdOutput } from "../../../../src/features/telemetry/fd-output.ts";
import { LogWriter } from "../../../../src/features/telemetry/log-writer.ts";

/**
 * Logs to standard output in as many turns of the event loop as the first argument says, 5 ms each at least, gives what is
 * left as many milliseconds as the second one says, and reports on standard error.
 */
const turns = Number(process.argv[2]);
const drainMs = Number(process.argv[3]);
const writer = new LogWriter(new FdOutput(1), Date.now, 1024 * 1024);
const line = `{"event":"x","filler":"${"y".repeat(1000)}"}\n`;
let sent = 0;
let turn = 0;
const timer = setInterval(async () => {
  for (let i = 0; i < 20; i++, sent += 10) writer.add(line.repeat(10));
  if (++turn < turns) return;
  clearInterval(timer);
  await writer.drain(drainMs);
  writeSync(2, JSON.stringify({ sent, dropped: writer.droppedLines }));
  process.exit(0);
}, 5);
