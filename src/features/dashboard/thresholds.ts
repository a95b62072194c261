/** From which value on something is not as it should be. */
export interface Threshold {
  readonly value: number;
  readonly unit: string;
  /** Seconds over which it is examined live; 0 is at the moment. Absent where only a rule of Prometheus goes by it. */
  readonly liveS?: number;
  /** Seconds over which the rules of `edge alerts` look at it. Absent if none goes by it. */
  readonly alertS?: number;
  readonly meaning: string;
}

/**
 * What is well and what is not, once: for the verdict of the dashboard, `edge status` and `edge top`, for the colours of numbers, and for
 * the rules of `edge alerts`. docs/reference.md#thresholds
 */
export const THRESHOLDS = {
  someErrors: {
    value: 0.01,
    unit: "share of responses",
    liveS: 60,
    meaning: "Responses with 5xx, from this share on a note.",
  },
  manyErrors: {
    value: 0.05,
    unit: "share of responses",
    liveS: 60,
    alertS: 300,
    meaning: "Responses with 5xx, from this share on the gateway is not well.",
  },
  enoughRequests: {
    value: 20,
    unit: "requests",
    liveS: 60,
    meaning: "Fewer requests say nothing about a share of errors.",
  },
  routeErrors: {
    value: 0.2,
    unit: "share of responses",
    alertS: 300,
    meaning: "Responses of one route with 5xx.",
  },
  routeRequests: {
    value: 0.1,
    unit: "requests a second",
    alertS: 300,
    meaning: "Fewer requests say nothing about the errors of one route.",
  },
  slow: {
    value: 5,
    unit: "seconds",
    alertS: 300,
    meaning: "The 99th percentile of the time that requests take.",
  },
  budgetOfHour: {
    value: 0.02,
    unit: "share of the budget",
    liveS: 3600,
    alertS: 3600,
    meaning: "The part of an objective's bad requests that an hour may use up before the gateway is not well.",
  },
  budgetOfSixHours: {
    value: 0.05,
    unit: "share of the budget",
    liveS: 21_600,
    alertS: 21_600,
    meaning: "The part that six hours may use up before it is a note.",
  },
  certificateEnds: {
    value: 7,
    unit: "days",
    liveS: 0,
    alertS: 0,
    meaning: "Remaining life of a certificate that edge should have renewed long before.",
  },
  workerLoad: {
    value: 0.9,
    unit: "share of a processor",
    liveS: 1,
    meaning: "Use of a worker above which the page shows a note.",
  },
  refusals: {
    value: 2,
    unit: "requests a second",
    liveS: 10,
    meaning: "Refusals of all kinds that are more than the noise of the internet.",
  },
  attack: {
    value: 10,
    unit: "requests a second",
    alertS: 300,
    meaning: "Refusals of the firewall that a person should look at.",
  },
  logLinesDropped: {
    value: 1,
    unit: "lines a second",
    alertS: 600,
    meaning: "Lines of the log that are lost. The verdict notes each since the start.",
  },
} as const satisfies Readonly<Record<string, Threshold>>;

type ThresholdName = keyof typeof THRESHOLDS;
export type Thresholds = Readonly<Record<ThresholdName, Threshold>>;
