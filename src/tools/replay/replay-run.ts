import type { RecordedRequest } from "./recorded-request.ts";
import type { ReplayTarget } from "./replay-response.ts";
import { type Difference, differences, differsFromLog, type ResponseComparison } from "./response-difference.ts";

/** A request whose responses differ. */
export interface ReplayFinding {
  readonly request: RecordedRequest;
  readonly differences: readonly Difference[];
}

/** How requests are sent. */
interface ReplayPlan {
  readonly target: ReplayTarget;
  /** The server to compare with; null compares with the status in the log. */
  readonly other: ReplayTarget | null;
  readonly comparison: ResponseComparison;
  /** Requests that are under way at once. */
  readonly concurrency: number;
  /** Requests a second, to each of the two. */
  readonly rate: number;
}

/**
 * Sends requests one after the other, at most so many at once and a second.
 * @param onFinding learns of each request that differs, as it is found
 * @param isOver is asked before each request
 * @returns how many have been sent
 */
export async function replay(
  requests: readonly RecordedRequest[],
  plan: ReplayPlan,
  onFinding: (finding: ReplayFinding) => void,
  isOver: () => boolean,
): Promise<number> {
  const startMs = performance.now();
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < requests.length && !isOver()) {
      const index = next++;
      const waitMs = startMs + (index * 1000) / plan.rate - performance.now();
      if (waitMs > 0) await Bun.sleep(waitMs);
      const request = requests[index]!;
      const found = await compared(request, plan);
      if (found.length > 0) onFinding({ request, differences: found });
    }
  };
  await Promise.all(Array.from({ length: Math.min(plan.concurrency, requests.length) }, sender));
  return next;
}

async function compared(request: RecordedRequest, { target, other, comparison }: ReplayPlan): Promise<Difference[]> {
  if (other === null) return differsFromLog(request, await target.send(request));
  return differences(request, await Promise.all([target.send(request), other.send(request)]), comparison);
}
