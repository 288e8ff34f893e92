/** What our tar archives are made of: blocks, each entry with a header and padded. Plain, for the client too. */

/** The format works in blocks of this size. */
export const BLOCK = 512

type Entry = {
  /** What does not fit into 100 bytes is cut off. */
  readonly name: string
  readonly size: number
  readonly mode: number
  readonly type: '0' | '5' | 'x'
  /** In seconds since 1970. */
  readonly modified?: number
}

/** POSIX.1-1988 "ustar": fixed fields, numbers in octal, a sum over the header with its own field as spaces. */
export function tarHeader({ name, size, mode, type, modified = 0 }: Entry): Buffer {
  const header = Buffer.alloc(BLOCK)
  header.set(Buffer.from(name).subarray(0, 100))
  const octal = (value: number, at: number, digits: number) =>
    header.write(value.toString(8).padStart(digits, '0'), at)
  octal(mode, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(size, 124, 11)
  octal(modified, 136, 11)
  header.write('        ', 148)
  header.write(type, 156)
  header.write('ustar\u000000', 257)
  header.write(`${sumOf(header).toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

export const sumOf = (block: Buffer): number => block.reduce((sum, byte) => sum + byte, 0)

/** How many bytes fill the last block of a content. */
export const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK
