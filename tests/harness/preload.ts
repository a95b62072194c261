// Loaded before the test files of a process.
import { afterAll } from "bun:test";
import fc from "fast-check";

// A test fails for what has changed, and not for what it happened to try: properties begin with the same seed each time.
// FC_SEED=random has a new one, FC_SEED=<number> that of a failure that was seen.
const wanted = process.env.FC_SEED ?? "1";
if (wanted !== "random") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted) });

// `bun test` ends without the event "exit": those who wait for it to stop processes and to remove folders are called here.
afterAll(() => {
  process.emit("exit", 0);
});
