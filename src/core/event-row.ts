/** One field of an event's line; its kind decides what the call may give. */
interface EventField<Value = unknown, Optional extends boolean = boolean> {
  /** The field's content, in a few words. */
  readonly meaning: string;
  readonly isOptional: Optional;
  /** For the compiler alone: nothing is there. */
  readonly value?: Value;
}

/** One kind of event of the log: docs/events.md, `edge help NAME` and the types of the calls are made of it. */
export interface EventRow {
  /** What it tells. */
  readonly meaning: string;
  /** What to do about it. */
  readonly advice: string;
  /** Its fields, beside the times, the name and `not_logged`. */
  readonly fields: Readonly<Record<string, EventField>>;
  /** Whether it has further fields, which others choose. */
  readonly isOpen?: boolean;
  /** `info` without it; a failure (`ok: false`) is an error. docs/operations.md#log-level */
  readonly level?: "debug" | "info" | "warn" | "error" | "always";
  /** Lines a second of one thread; the next one says how many were left out. Without it every event is a line. */
  readonly perSecond?: number;
  /** One line in so many milliseconds for each thing that it is about, likewise. */
  readonly everyMs?: number;
}

/** Events by their names. */
export type EventRows = Readonly<Record<string, EventRow>>;

/** The arguments of a call for a row: each required field, optional ones or not, and no other. */
export type FieldsOf<Row extends EventRow> = Shown<
  {
    readonly [Name in keyof Row["fields"] as Row["fields"][Name]["isOptional"] extends true ? never : Name]: ValueOf<
      Row["fields"][Name]
    >;
  } & {
    readonly [Name in keyof Row["fields"] as Row["fields"][Name]["isOptional"] extends true ? Name : never]?: ValueOf<
      Row["fields"][Name]
    >;
  } & (Row extends { readonly isOpen: true } ? Readonly<Record<string, unknown>> : unknown)
>;

/** The name of an event with its fields: the arguments of a call that writes one. */
export type EventArgs<Rows extends EventRows> = {
  [Name in keyof Rows & string]: [name: Name, fields: FieldsOf<Rows[Name]>];
}[keyof Rows & string];

/** Writes events of these rows. */
export type EventWriter<Rows extends EventRows> = (...event: EventArgs<Rows>) => void;

type ValueOf<Field> = Field extends EventField<infer Value> ? Value : never;
type Shown<Type> = { [Name in keyof Type]: Type[Name] };

/** A field with a text. */
export function textField(meaning: string): EventField<string, false> {
  return { meaning, isOptional: false };
}

/** A field with a number. */
export function numberField(meaning: string): EventField<number, false> {
  return { meaning, isOptional: false };
}

/** A field that is true or false. */
export function flagField(meaning: string): EventField<boolean, false> {
  return { meaning, isOptional: false };
}

/** A field with a list of texts. */
export function texts(meaning: string): EventField<readonly string[], false> {
  return { meaning, isOptional: false };
}

/** A field that may be left out. */
export function optional<Value>({ meaning }: EventField<Value, false>): EventField<Value, true> {
  return { meaning, isOptional: true };
}

/** A field that may be null. */
export function nullable<Value>({ meaning }: EventField<Value, false>): EventField<Value | null, false> {
  return { meaning, isOptional: false };
}

/** For how long the same failure of one thing stays at one line. */
export const CONNECT_FAILURE_LOG_MS = 10_000;

/** What many events say of a request. */
export const OF_REQUEST = {
  request_id: textField("the request, as in its access line"),
  client_ip: textField("address of the client"),
} as const;

/** What it asks for. */
export const OF_TARGET = {
  method: textField("method of the request"),
  path: textField("its path, without the query"),
} as const;

/** The label of a route. */
export const ROUTE: EventField<string, false> = textField("the route");
/** An origin. */
export const UPSTREAM: EventField<string, false> = textField("the origin");
/** The status that the client got. */
export const STATUS: EventField<number, false> = numberField("status of the response");
/** Why something has failed. */
export const ERROR: EventField<string, false> = textField("the reason");
/** Whether the attempt has succeeded. */
export const OK: EventField<boolean, false> = flagField("whether it has succeeded");
