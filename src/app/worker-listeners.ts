import { closeSync } from "node:fs";
import type { ListenAt, Listener } from "../edge/listener.ts";
import { isSamePlace, type ListenerName, type ListenerPlace, type ListeningSocket } from "./listeners.ts";

/** Begins to listen for what a listener of this name is for. @throws when the address cannot be had */
export type OpenListener = (name: ListenerName, where: ListenAt) => Listener;

interface OpenPlace {
  readonly place: ListenerPlace;
  readonly listeners: readonly Listener[];
}

/** Listeners that are open and not in use yet. */
export interface PreparedPlaces {
  /** @returns all listening sockets */
  commit(): readonly ListeningSocket[];
  abort(): void;
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
   * Opens what is new and closes nothing: `commit` closes what is gone, `abort` what has been opened. Connections that are
   * there go on either way.
   * @throws when an address cannot be had; all is then as before
   */
  prepare(places: readonly ListenerPlace[]): PreparedPlaces {
    const before = this.places;
    const opened: OpenPlace[] = [];
    const abort = (): void => {
      for (const one of opened) if (!before.includes(one)) stop(one);
    };
    try {
      for (const place of places) opened.push(before.find((one) => isSamePlace(one.place, place)) ?? this.open(place));
    } catch (error) {
      abort();
      throw error;
    }
    return { abort, commit: () => this.use(opened) };
  }

  private use(places: readonly OpenPlace[]): readonly ListeningSocket[] {
    const before = this.places;
    this.places = places;
    // A socket that no listener wants would go on taking connections that nothing serves.
    for (const { name, fd } of this.given) if (!places.some(({ place }) => place.name === name)) closeSync(fd);
    this.given = [];
    for (const one of before) if (!places.includes(one)) stop(one);
    return places.flatMap(({ place, listeners }) =>
      listeners.map(({ fd, isKept }) => ({ name: place.name, fd, isKept })),
    );
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
