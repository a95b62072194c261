/**
 * How label, method and status stand in the key of a series: the label in the high bits, then four bits of method,
 * then nine of status. Status 0 is "no status". Methods are numbers here; their names belong to the message layer.
 */

const METHOD_BITS = 4;
const STATUS_BITS = 9;
const FIRST_STATUS = 99;

/**
 * The key of a request series.
 * @param labelId 0 to 2^18-1
 * @param method 0 to 15
 * @param status 100 to 599, or 0
 */
export function requestKey(labelId: number, method: number, status: number): number {
  return (((labelId << METHOD_BITS) | method) << STATUS_BITS) | (status === 0 ? 0 : status - FIRST_STATUS);
}

/** The label's number in a key. */
export function keyLabelId(key: number): number {
  return key >> (METHOD_BITS + STATUS_BITS);
}

/** The method in a key. */
export function keyMethod(key: number): number {
  return (key >> STATUS_BITS) & ((1 << METHOD_BITS) - 1);
}

/** The status in a key. */
export function keyStatus(key: number): number {
  const column = key & ((1 << STATUS_BITS) - 1);
  return column === 0 ? 0 : column + FIRST_STATUS;
}
