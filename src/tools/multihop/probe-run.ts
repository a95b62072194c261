import { FrameType } from "../../proto/h2/frame.ts";
import { ByteLink, type Endpoint } from "./byte-link.ts";
import { readResponses } from "./h1-answers.ts";
import { CLIENT_PREFACE, encodeHopFrame, encodeRequest, readFrames } from "./h2-frames.ts";
import { type ReadStream, readStream } from "./h2-stream.ts";
import { controlRequest } from "./h2-vectors.ts";
import { type Probe, type ProbeAddress, Requirement } from "./vector.ts";

/** What a gateway did with one probe. */
export interface VectorOutcome {
  readonly name: string;
  readonly sent: Buffer;
  readonly received: Buffer;
  /** Of the first response; 0 when none came. */
  readonly status: number;
  /** How the probe ended without a response, such as `RST_STREAM PROTOCOL_ERROR`; "" when it did not. */
  readonly reset: string;
  /** Whole responses that came; more than one when something after the first request was run. */
  readonly answers: number;
  /** Whether the gateway has ended the connection. */
  readonly isClosed: boolean;
  /** Of the first response. */
  readonly body: Buffer;
  /** Whether the request that goes before an HTTP/2 attack on the same connection was proxied. */
  readonly hasControl: boolean;
  /** Why the probe could not be carried out, or its response not be read; "" when all is well. */
  readonly fault: string;
}

/** Where probes go, and how long they wait. */
export interface ProbeTarget {
  readonly h1: Endpoint;
  /** Where HTTP/2 with prior knowledge is spoken; mostly the same. */
  readonly h2: Endpoint;
  readonly answerMs: number;
  readonly signal: AbortSignal;
}

/**
 * Sends one probe on a fresh connection and tells what came of it.
 * @param control marks the request that goes before an HTTP/2 probe
 */
export async function runProbe(
  target: ProbeTarget,
  probe: Probe,
  at: ProbeAddress,
  requirement: Requirement,
  control: string,
): Promise<VectorOutcome> {
  let link: ByteLink | null = null;
  const abort = () => link?.close();
  target.signal.addEventListener("abort", abort);
  try {
    link = await ByteLink.connect(probe.protocol === "HTTP/2" ? target.h2 : target.h1);
    if (probe.protocol === "HTTP/1.1") {
      return await runH1(link, target, probe.name, probe.bytes(at), requirement);
    }
    return await runH2(link, target, probe.name, encodeRequest(ATTACK_STREAM, probe.request(at)), {
      ...at,
      token: control,
    });
  } catch (error) {
    return { ...outcomeOf(probe.name, link), fault: (error as Error).message };
  } finally {
    target.signal.removeEventListener("abort", abort);
    link?.close();
  }
}

async function runH1(
  link: ByteLink,
  target: ProbeTarget,
  name: string,
  bytes: Buffer,
  requirement: Requirement,
): Promise<VectorOutcome> {
  const read = () => readResponses(link.received, link.ending !== "open");
  const hasEnded = () => link.ending !== "open";
  const isBenign = requirement === Requirement.Forwarded;
  link.send(bytes);
  await link.until(() => hasEnded() || read().answers.length > 0 || read().fault !== "", target.answerMs);
  const first = read().answers[0];
  // An attack that was refused must lose its connection; one that was not may bring the responses to what was hidden in it.
  if (!isBenign)
    await link.until(hasEnded, first === undefined || first.status === 400 ? target.answerMs : LATE_ANSWER_MS);
  const { answers: responses, fault } = read();
  return {
    ...outcomeOf(name, link),
    status: first?.status ?? 0,
    reset: responses.length === 0 && link.received.length === 0 ? END_NAMES[link.ending] : "",
    answers: responses.length,
    body: first?.body ?? Buffer.alloc(0),
    fault,
  };
}

async function runH2(
  link: ByteLink,
  target: ProbeTarget,
  name: string,
  attack: Buffer,
  control: ProbeAddress,
): Promise<VectorOutcome> {
  const stream = (id: number): ReadStream => readStream(readFrames(link.received), id);
  const isOver = (id: number) => link.ending !== "open" || stream(id).isOver;
  const hasSettings = () => readFrames(link.received)[0]?.type === FrameType.Settings;
  link.send(CLIENT_PREFACE);
  await link.until(() => hasSettings() || link.ending !== "open" || isHttp1(link.received), target.answerMs);
  if (!hasSettings()) return { ...outcomeOf(name, link), fault: "HTTP/2 with prior knowledge is not supported there" };
  link.send(encodeHopFrame(FrameType.Settings, SETTINGS_ACK, 0, Buffer.alloc(0)));
  link.send(encodeRequest(CONTROL_STREAM, controlRequest(control)));
  await link.until(() => isOver(CONTROL_STREAM), target.answerMs);
  const before = stream(CONTROL_STREAM);
  if (before.status !== 200) {
    const got = before.status || before.reset || "no response";
    return {
      ...outcomeOf(name, link),
      fault: `an ordinary HTTP/2 request got ${got}, so a refusal would prove nothing`,
    };
  }
  link.send(attack);
  await link.until(() => isOver(ATTACK_STREAM), target.answerMs);
  const { status, reset, body } = stream(ATTACK_STREAM);
  return {
    ...outcomeOf(name, link),
    status,
    reset: reset || (status === 0 ? END_NAMES[link.ending] : ""),
    answers: status === 0 ? 0 : 1,
    body,
    hasControl: true,
  };
}

function outcomeOf(name: string, link: ByteLink | null): VectorOutcome {
  return {
    name,
    sent: link?.sent ?? Buffer.alloc(0),
    received: link?.received ?? Buffer.alloc(0),
    status: 0,
    reset: "",
    answers: 0,
    isClosed: link !== null && link.ending !== "open",
    body: Buffer.alloc(0),
    hasControl: false,
    fault: "",
  };
}

function isHttp1(bytes: Buffer): boolean {
  return bytes.toString("latin1", 0, 5) === "HTTP/";
}

const SETTINGS_ACK = 1;
const CONTROL_STREAM = 1;
const ATTACK_STREAM = 3;
/** Milliseconds that a gateway which did not refuse an attack gets to answer what was hidden in it. */
const LATE_ANSWER_MS = 400;

const END_NAMES = { open: "", fin: "connection closed", reset: "connection reset" } as const;
