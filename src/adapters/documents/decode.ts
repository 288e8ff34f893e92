/** Text of a file: UTF-8, or UTF-16 that says so at its beginning, and what Postgres can store. */
import { UnreadableFile } from './blocks.ts'

export function decode(bytes: Uint8Array): string {
  const text = strictly(encodingOf(bytes), bytes).replaceAll(/\r\n?/g, '\n')
  if (text.includes('\0')) throw new UnreadableFile('It is not text: it contains the NUL character.')
  // A half of a character that needs two cannot be stored.
  return text.toWellFormed()
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}

function strictly(encoding: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    throw new UnreadableFile('Its text is not UTF-8. Save it as UTF-8.')
  }
}
