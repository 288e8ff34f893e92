/** Text of a file: UTF-8, and what Postgres can store. */
const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function decodeText(
  bytes: Buffer,
  start: number,
  end: number,
): { readonly text: string; readonly problem?: string } {
  const text = bytes.toString('utf8', start, end)
  // The character that stands for broken ones may also be in the file itself.
  if (text.includes('\uFFFD') && !isUtf8(bytes.subarray(start, end))) {
    return { text: '', problem: 'the text is not UTF-8; save the file as UTF-8' }
  }
  if (text.includes('\0')) {
    return { text: '', problem: 'a value contains the NUL character, which cannot be stored' }
  }
  return { text }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    STRICT.decode(bytes)
    return true
  } catch {
    return false
  }
}
