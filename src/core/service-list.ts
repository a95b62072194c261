import { type AnyTakers, type TakersOf, takersOf } from "./message-takers.ts";

/** The parts of one thread, in the order in which they are called: that in which they are listed. */
export class ServiceList<
  Service extends { readonly onMessage?: AnyTakers },
  Listed extends { readonly [Name in keyof Listed]: Service },
> {
  readonly all: readonly Service[];
  /** The messages of other threads that parts take. */
  readonly takers: TakersOf<Listed>;

  constructor(listed: Listed) {
    this.all = Object.values(listed);
    this.takers = takersOf(listed);
  }
}
