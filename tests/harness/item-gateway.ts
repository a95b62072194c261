import { type Gateway, startGateway } from "./gateway.ts";
import { SHOP_FILE, shopRoute } from "./grpc-shop.ts";
import { END_HEADERS, END_STREAM, Type } from "./h2-client.ts";
import type { H2Origin, H2OriginStream } from "./h2-origin.ts";
import { request } from "./raw-client.ts";
import { grpcFrame } from "./raw-grpc-server.ts";

/** The message of an item whose name is "7". */
export const ITEM: Buffer = Buffer.from([0x0a, 1, 0x37]);

/** A gateway with one transcoded route, `GET /item/:id`, to an origin that follows a script. */
export class ItemGateway {
  private constructor(readonly gateway: Gateway) {}

  static async start(origin: H2Origin): Promise<ItemGateway> {
    const route = shopRoute("GET", "/item/:id", "GetItem", origin.url.replace("h2c:", "http:"), { timeout: "3s" });
    const transcoder = { enabled: true, descriptor_set: SHOP_FILE, routes: [route] };
    return new ItemGateway(await startGateway({ config: { transcoder } }));
  }

  /** @returns the status of a call */
  async call(): Promise<number> {
    return (await this.gateway.once(request("GET /item/7"))).status;
  }

  calls(count: number): Promise<number[]> {
    return Promise.all(Array.from({ length: count }, () => this.call()));
  }
}

/** Answers a call with an item, unless it is over. */
export function answerItem(stream: H2OriginStream): void {
  if (stream.isOver) return;
  stream.isAnswered = true;
  stream.head([
    [":status", "200"],
    ["content-type", "application/grpc"],
  ]);
  stream.connection.frame(Type.data, 0, stream.id, grpcFrame(ITEM));
  stream.head([["grpc-status", "0"]], END_HEADERS | END_STREAM);
}
