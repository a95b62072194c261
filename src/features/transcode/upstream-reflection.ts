import { TimerNode, type TimerWheel } from "../../core/timer-wheel.ts";
import type { GrpcUpstream } from "../../message/grpc-upstream.ts";
import type { NowMs } from "../../message/ports.ts";
import { questionBytes, REFLECTION_METHODS, readReflection } from "../../proto/grpc/reflection-messages.ts";
import { methodPath } from "../../proto/grpc/schema.ts";
import type { ReflectionPorts } from "./reflection.ts";

/** Time in a worker. */
export interface UpstreamReflectionPorts {
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
}

/** Reflection by the connections of a worker to an upstream. @param timeoutMs of each call */
export function upstreamReflection(
  upstream: GrpcUpstream,
  { wheel, turn }: UpstreamReflectionPorts,
  timeoutMs: number,
): ReflectionPorts {
  return {
    ask(version, question, listener) {
      const path = methodPath(REFLECTION_METHODS[version]!);
      const message = questionBytes(question);
      const call = upstream.call(
        { path, contentType: "application/grpc", metadata: [], message, timeoutMs },
        {
          onMetadata: () => {},
          onMessage: (bytes) => listener.onAnswer(readReflection(bytes)),
          onEnd: (status) => listener.onEnd(status.code, status.message),
          onFailure: (fault) => listener.onFailure(fault),
        },
      );
      return (isOverdue) => call.cancel(isOverdue);
    },
    after(ms, act) {
      const timer = new TimerNode({ onTimer: act });
      wheel.arm(timer, turn.nowMs + ms);
      return () => wheel.remove(timer);
    },
  };
}
