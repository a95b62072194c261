import { closeSync } from "node:fs";
import type { ListenAt, Listener } from "../edge/listener.ts";
import {
  isSamePlace,
  type ListenerName,
  type ListenerPlace,
  type ListeningSocket,
  type OpeningListener,
} from "./listeners.ts";

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
  opening: OpeningListener = "http";
  private readonly openOne: OpenListener;
  private given: readonly ListeningSocket[];
  private places: readonly OpenPlace[] = [];
  /** Opened on the sockets of other workers, by their number. */
  private readonly helped: Map<number, readonly OpenPlace[]> = new Map();

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
    this.leaveGone(places);
    return places.flatMap(({ place, listeners }) =>
      listeners.map(({ fd, isKept }) => ({ name: place.name, fd, isKept })),
    );
  }

  /**
   * Accepts on the sockets of another worker too; they are the caller's no longer. One without a listener of its name here is closed.
   * @param worker whose they are
   */
  help(worker: number, sockets: readonly ListeningSocket[]): void {
    this.leave(worker);
    const opened: OpenPlace[] = [];
    this.helped.set(worker, opened);
    for (const { name, fd } of sockets) {
      const place = this.places.find((one) => one.place.name === name)?.place;
      if (place === undefined) closeSync(fd);
      else opened.push({ place, listeners: [this.openOne(name, { fd })] });
    }
  }

  /** That worker accepts by itself. */
  leave(worker: number): void {
    for (const one of this.helped.get(worker) ?? []) stop(one);
    this.helped.delete(worker);
  }

  /** Accepts no more. */
  stop(): void {
    for (const one of this.places) stop(one);
    for (const worker of [...this.helped.keys()]) this.leave(worker);
  }

  /** Closes the listeners that a configuration no longer has. */
  private leaveGone(places: readonly OpenPlace[]): void {
    for (const [worker, opened] of this.helped) {
      const gone = opened.filter(({ place }) => !places.some((one) => isSamePlace(one.place, place)));
      for (const one of gone) stop(one);
      this.helped.set(
        worker,
        opened.filter((one) => !gone.includes(one)),
      );
    }
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
