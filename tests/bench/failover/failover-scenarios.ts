// What happens to the origins, or to the gateway, while requests come.
import { ScriptedOrigin } from "../../harness/scripted-origin.ts";
import type { FailoverLoad } from "./failover-load.ts";

/** One scenario. */
export interface FailoverScenario {
  readonly name: string;
  readonly origins: number;
  /** Lets it happen; the load runs meanwhile. */
  run(stage: FailoverStage): Promise<void>;
}

/** What a scenario acts on. */
export interface FailoverStage {
  readonly origins: readonly ScriptedOrigin[];
  readonly load: FailoverLoad;
  /** The processes of the gateway. */
  readonly pids: readonly number[];
}

/** An origin that takes a few milliseconds for each answer, so that some are always under way. */
export function slowOrigin(): ScriptedOrigin {
  return ScriptedOrigin.start().otherwise(async (call) => {
    await Bun.sleep(ANSWER_MS);
    call.reply("200 OK", [], "fine");
  });
}

export const FAILOVER_SCENARIOS: readonly FailoverScenario[] = [
  {
    name: "one of three origins away for 2 s",
    origins: 3,
    run: async ({ origins }) => {
      await away(origins[0]!, 2000);
      await Bun.sleep(1500);
    },
  },
  {
    name: "three origins restarted in turn, each away for 0.5 s",
    origins: 3,
    run: async ({ origins }) => {
      for (const origin of origins) {
        await away(origin, 500);
        await Bun.sleep(500);
      }
    },
  },
  {
    name: "the only origin away for 2 s: lost of those that came after its return",
    origins: 1,
    run: async ({ origins, load }) => {
      await away(origins[0]!, 2000);
      load.forget();
      await Bun.sleep(3000);
    },
  },
  {
    name: "one of three origins answers 503 for 3 s",
    origins: 3,
    run: async ({ origins }) => {
      let isBusy = true;
      origins[0]!.otherwise((call) =>
        isBusy ? call.reply("503 Service Unavailable", [], "busy") : call.reply("200 OK", [], "fine"),
      );
      await Bun.sleep(3000);
      isBusy = false;
      await Bun.sleep(1500);
    },
  },
  {
    name: "no descriptors left to the gateway for 1 s",
    origins: 3,
    run: async ({ pids, load }) => {
      load.bringsNewClients = true;
      const before = pids.map((pid) => softLimit(pid));
      for (const pid of pids) limit(pid, "3");
      await Bun.sleep(1000);
      pids.forEach((pid, i) => void limit(pid, before[i]!));
      await Bun.sleep(2000);
    },
  },
];

/** As a process that is killed and started again: its connections are reset, its port refuses new ones. */
async function away(origin: ScriptedOrigin, ms: number): Promise<void> {
  const { port } = origin;
  for (const connection of origin.connections.splice(0)) connection.reset();
  origin.stop();
  await Bun.sleep(ms);
  origin.listen(port);
}

function softLimit(pid: number): string {
  const args = ["--pid", String(pid), "--nofile", "--output", "SOFT", "--noheadings"];
  return Bun.spawnSync(["prlimit", ...args])
    .stdout.toString()
    .trim();
}

function limit(pid: number, soft: string): void {
  Bun.spawnSync(["prlimit", "--pid", String(pid), `--nofile=${soft}:`]);
}

const ANSWER_MS = 3;
