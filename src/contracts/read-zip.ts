/**
 * Reads the directory of a zip archive. What it says of sizes is not believed: whoever inflates an entry decides how much of
 * it there may be. Plain: it inflates nothing itself.
 */
const [END, ENTRY, FILE] = [0x06054b50, 0x02014b50, 0x04034b50]
const END_BYTES = 22
/** Behind the end there may be a comment of so many bytes. */
const COMMENT_BYTES = 65_535
const [STORED, DEFLATED] = [0, 8]
const ENCRYPTED = 1

export type ZipEntry = {
  readonly name: string
  readonly isFolder: boolean
  readonly isEncrypted: boolean
  readonly isDeflated: boolean
  /** As it is stored. Throws `BrokenZip`. */
  data(): Buffer
}

export class BrokenZip extends Error {
  override readonly name = 'BrokenZip'
}

/** By the directory at its end, as every program does it. Throws `BrokenZip`. */
export function readZip(content: Uint8Array): ZipEntry[] {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
  let end = bytes.length - END_BYTES
  const first = Math.max(0, end - COMMENT_BYTES)
  while (end >= first && bytes.readUInt32LE(end) !== END) end--
  if (end < first || bytes.length < END_BYTES) throw new BrokenZip()
  const entries: ZipEntry[] = []
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== ENTRY) throw new BrokenZip()
    const [name, extra, comment] = [28, 30, 32].map((place) => bytes.readUInt16LE(at + place)) as [
      number,
      number,
      number,
    ]
    entries.push(entryAt(bytes, at, bytes.toString('utf8', at + 46, at + 46 + name)))
    at += 46 + name + extra + comment
  }
  return entries
}

function entryAt(bytes: Buffer, at: number, name: string): ZipEntry {
  const method = bytes.readUInt16LE(at + 10)
  const [length, start] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 42)]
  return {
    name,
    isFolder: name.endsWith('/'),
    isEncrypted: (bytes.readUInt16LE(at + 8) & ENCRYPTED) !== 0,
    isDeflated: method === DEFLATED,
    data() {
      if (start + 30 > bytes.length || bytes.readUInt32LE(start) !== FILE) throw new BrokenZip()
      if (method !== STORED && method !== DEFLATED) throw new BrokenZip()
      const from = start + 30 + bytes.readUInt16LE(start + 26) + bytes.readUInt16LE(start + 28)
      if (from + length > bytes.length) throw new BrokenZip()
      return bytes.subarray(from, from + length)
    },
  }
}
