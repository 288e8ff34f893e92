/** Text files in UTF-16, which spreadsheets write: each window is turned into UTF-8, and what was read of it is counted back. */

export type Encoding = 'utf-16le' | 'utf-16be'

/** By its mark, or by the zeros that are in every Latin text. */
export function encodingOf(
  bytes: Buffer,
): { readonly encoding: Encoding; readonly mark: number } | undefined {
  const [a, b, c, d] = bytes
  if (a === 0xff && b === 0xfe) return { encoding: 'utf-16le', mark: 2 }
  if (a === 0xfe && b === 0xff) return { encoding: 'utf-16be', mark: 2 }
  if (bytes.length < 4 || bytes.length % 2 === 1) return undefined
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return { encoding: 'utf-16le', mark: 0 }
  return a === 0 && b !== 0 && c === 0 && d !== 0 ? { encoding: 'utf-16be', mark: 0 } : undefined
}

/** Without half a character at its end, unless nothing follows. */
export function toUtf8(bytes: Buffer, encoding: Encoding, isLast: boolean): Buffer {
  const whole = isLast ? bytes.length : wholeCharacters(bytes, encoding)
  return Buffer.from(new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes.subarray(0, whole)))
}

function wholeCharacters(bytes: Buffer, encoding: Encoding): number {
  const even = bytes.length - (bytes.length % 2)
  if (even === 0) return 0
  const high = bytes[encoding === 'utf-16le' ? even - 1 : even - 2]!
  return high >= 0xd8 && high <= 0xdb ? even - 2 : even
}

/** How many bytes of the file these are, from the beginning of what was turned into UTF-8. */
export const bytesBefore = (utf8: Buffer, consumed: number): number =>
  2 * utf8.toString('utf8', 0, consumed).length
