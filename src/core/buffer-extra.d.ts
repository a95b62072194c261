/** Methods that every Buffer has (Node and Bun) and that the type definitions leave out. */
interface Buffer {
  latin1Write(text: string, offset?: number, length?: number): number;
  latin1Slice(from?: number, to?: number): string;
  utf8Write(text: string, offset?: number, length?: number): number;
}
