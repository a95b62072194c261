// Where the micro-benchmarks register: a file tests/bench/micro/NAME.ts calls `bench` for each of its operations.

/** One operation to be timed. It gives back a number that depends on its work, so that the work cannot be left out. */
export type Operation = () => number;

/** A registered operation. */
export interface MicroBenchmark {
  readonly name: string;
  readonly operation: Operation;
  readonly operationsPerCall: number;
}

const registered: MicroBenchmark[] = [];

/**
 * Registers an operation under `name` ("h1 parser: 12 fields"). For one that takes only a few nanoseconds, let a call
 * do it many times over and say how often in `operationsPerCall`: the call itself costs about one nanosecond.
 */
export function bench(name: string, operation: Operation, operationsPerCall = 1): void {
  registered.push({ name, operation, operationsPerCall });
}

/** All that has been registered so far, in order. */
export function benchmarks(): readonly MicroBenchmark[] {
  return registered;
}
