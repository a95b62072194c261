import { HeldSignals, runsGateway } from "../src/control/held-signals.ts";
import { verifyTls } from "../src/net/verified-tls.ts";
import type { run as runMain } from "./main.ts";

const signals = new HeldSignals(runsGateway(process.argv[2]));
verifyTls();
// An entry of its own, loaded at run time: what takes the time of a start comes after the signals are held.
const { run }: { run: typeof runMain } = await import(import.meta.resolve("./main.ts"));
await run(signals);
