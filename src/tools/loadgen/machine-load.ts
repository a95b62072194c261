import { cpus } from "node:os";

/** How busy the processors of this machine are, with all of its processes. */
export class MachineLoad {
  private readonly before: Times = timesNow();

  /** Since this was made: 0 to 100, one decimal. */
  busyPercent(): number {
    const now = timesNow();
    const all = now.all - this.before.all;
    return all <= 0 ? 0 : Math.round(1000 * (1 - (now.idle - this.before.idle) / all)) / 10;
  }
}

interface Times {
  readonly idle: number;
  readonly all: number;
}

function timesNow(): Times {
  let idle = 0;
  let all = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.user + times.nice + times.sys + times.idle + times.irq;
  }
  return { idle, all };
}
