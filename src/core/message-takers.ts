/** A message between threads. */
interface Message {
  readonly kind: string;
}

/** What takes the messages of another thread, one function a kind: a kind without one does not compile. */
export type Takers<Received extends Message, Sent = never> = {
  readonly [Kind in Received["kind"]]: (
    message: Extract<Received, { readonly kind: Kind }>,
    worker: number,
    response: (message: Sent) => void,
  ) => void;
};

/** The same of a service, whatever it takes. */
export type AnyTakers = Readonly<Record<string, (message: never, worker: number, response: never) => void>>;

/** The messages that the services of a list take together. */
export type TakersOf<Listed> = Together<
  { [Name in keyof Listed]: Listed[Name] extends { readonly onMessage: infer Own } ? Own : never }[keyof Listed]
>;

/** The messages that the services of a list take. */
export type MessagesOf<Listed> = {
  [Name in keyof Listed]: Listed[Name] extends { readonly onMessage: infer Own }
    ? {
        [Kind in keyof Own]: Own[Kind] extends (message: infer Message, ...others: never) => void ? Message : never;
      }[keyof Own]
    : never;
}[keyof Listed];

/** What all members of a union are at once. */
export type Together<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** @throws when two of the services take one kind */
export function takersOf<Listed extends { readonly [Name in keyof Listed]: { readonly onMessage?: AnyTakers } }>(
  listed: Listed,
): TakersOf<Listed> {
  const all = new Map<string, AnyTakers[string]>();
  for (const { onMessage = {} } of Object.values<{ readonly onMessage?: AnyTakers }>(listed)) {
    for (const [kind, take] of Object.entries(onMessage)) {
      if (all.has(kind)) throw new Error(`two services take messages of kind ${kind}`);
      all.set(kind, take);
    }
  }
  return Object.fromEntries(all) as TakersOf<Listed>;
}

/** Has a message taken. @param worker whose it is */
export function takeMessage<Received extends Message, Sent>(
  takers: Takers<Received, Sent>,
  message: Received,
  worker: number,
  response: (message: Sent) => void,
): void {
  const take = takers[message.kind as Received["kind"]] as Takers<Message, Sent>[string];
  take(message, worker, response);
}
