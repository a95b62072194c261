import { nameServers } from "../../../net/name-servers.ts";
import { connectUdp, type UdpSocket } from "../../../net/udp-socket.ts";
import { type ServiceResponse, serviceQuestion, serviceResponse } from "../../../proto/dns/service-records.ts";

/** A response, or why none has come: `ETIMEOUT`, `ESERVFAIL` and the like. */
export type ServiceResult = ServiceResponse | { readonly failure: string };

/**
 * Asks for the servers of a service, one name server after the other.
 * @param servers `address[:port]`; none for those of the system
 */
export async function askService(name: string, servers: readonly string[]): Promise<ServiceResult> {
  let failure = "ETIMEOUT";
  for (const server of nameServers(servers)) {
    const result = await askServer(name, server).catch((error: unknown) => ({ failure: codeOf(error) }));
    if (!("failure" in result) && (result.code === 0 || result.code === NO_SUCH_NAME)) return result;
    failure = "failure" in result ? result.failure : "ESERVFAIL";
  }
  return { failure };
}

async function askServer(name: string, { address, port }: { address: string; port: number }): Promise<ServiceResult> {
  // Not to be guessed by those who do not see the question.
  const question = serviceQuestion(crypto.getRandomValues(new Uint16Array(1))[0]!, name);
  const answered = Promise.withResolvers<ServiceResult>();
  let socket: UdpSocket | null = null;
  const take = (data: Buffer) => {
    const response = serviceResponse(question, data);
    if (response !== null) answered.resolve(response);
  };
  const timers = Array.from({ length: TRIES }, (_, i) => setTimeout(() => socket?.send(question), i * TRY_MS));
  timers.push(setTimeout(() => answered.resolve({ failure: "ETIMEOUT" }), TRIES * TRY_MS));
  try {
    socket = await connectUdp(address, port, take, () => answered.resolve({ failure: "ECONNREFUSED" }));
    return await answered.promise;
  } finally {
    for (const timer of timers) clearTimeout(timer);
    socket?.close();
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? "EFAILED");
}

const TRY_MS = 500;
const TRIES = 2;
const NO_SUCH_NAME = 3;
