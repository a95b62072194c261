import type { ListenAt, Listener } from "../edge/listener.ts";
import { isSamePlace, type ListenerName, type ListenerPlace, type ListeningSocket } from "./listeners.ts";

/** Begins to listen for what a listener of this name is for. @throws when the address cannot be had */
export type OpenListener = (name: ListenerName, where: ListenAt) => Listener;

interface OpenPlace {
  readonly place: ListenerPlace;
  readonly listeners: readonly Listener[];
}

/** The listeners of one worker: a configuration says which there are, and those that stay as they were stay open. */
export class WorkerListeners {
  /** The listener that is being opened, for the message when that fails. */
  opening: ListenerName | "http3" = "http";
  private readonly openOne: OpenListener;
  private given: readonly ListeningSocket[];
  private places: readonly OpenPlace[] = [];

  /** @param given sockets that listen already, for those listeners that are opened first */
  constructor(openOne: OpenListener, given: readonly ListeningSocket[]) {
    this.openOne = openOne;
    this.given = given;
  }

  /**
   * Opens what is new, then closes what is gone; connections that are there go on.
   * @returns all listening sockets
   * @throws when an address cannot be had; all is then as before
   */
  use(places: readonly ListenerPlace[]): readonly ListeningSocket[] {
    const before = this.places;
    const opened: OpenPlace[] = [];
    try {
      for (const place of places) opened.push(before.find((one) => isSamePlace(one.place, place)) ?? this.open(place));
    } catch (error) {
      for (const one of opened) if (!before.includes(one)) stop(one);
      throw error;
    }
    this.places = opened;
    this.given = [];
    for (const one of before) if (!this.places.includes(one)) stop(one);
    return this.places.flatMap(({ place, listeners }) => listeners.map(({ fd }) => ({ name: place.name, fd })));
  }

  /** Accepts no more. */
  stop(): void {
    for (const one of this.places) stop(one);
  }

  private open(place: ListenerPlace): OpenPlace {
    this.opening = place.name;
    const given = this.given.filter((socket) => socket.name === place.name);
    const where: ListenAt[] =
      given.length > 0 ? given.map(({ fd }) => ({ fd })) : [{ hostname: place.host, port: place.port }];
    return { place, listeners: where.map((at) => this.openOne(place.name, at)) };
  }
}

function stop({ listeners }: OpenPlace): void {
  for (const listener of listeners) listener.stop();
}
