/** Reads files of a zip archive by name. What it says of their sizes is not believed: no more is inflated than there is room for. */
import { inflateRawSync } from 'node:zlib'
import { UnreadableFile } from './blocks.ts'

const [END, ENTRY, FILE] = [0x06054b50, 0x02014b50, 0x04034b50]
const END_BYTES = 22
/** Behind the end there may be a comment of so many bytes. */
const COMMENT_BYTES = 65_535
const [STORED, DEFLATED] = [0, 8]
const ENCRYPTED = 1

type Entry = {
  readonly method: number
  readonly bytes: number
  readonly at: number
  readonly isLocked: boolean
}

const broken = () => new UnreadableFile('It is broken: its archive cannot be read.')

export type Zip = { read(name: string): Buffer | undefined }

export function openZip(content: Uint8Array, inflatedMax: number): Zip {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
  const entries = entriesOf(bytes)
  let left = inflatedMax
  return {
    read(name) {
      const entry = entries.get(name)
      if (!entry) return undefined
      if (entry.isLocked) throw new UnreadableFile('It is protected by a password.')
      const data = dataOf(bytes, entry)
      const read = entry.method === STORED ? data : inflate(data, left)
      left -= read.length
      return read
    },
  }
}

function inflate(data: Buffer, maxOutputLength: number): Buffer {
  try {
    return inflateRawSync(data, { maxOutputLength: Math.max(1, maxOutputLength) })
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_BUFFER_TOO_LARGE') throw broken()
    throw new UnreadableFile('It becomes too large when it is unpacked.')
  }
}

/** By the directory at its end, as every program does it. */
function entriesOf(bytes: Buffer): Map<string, Entry> {
  let end = bytes.length - END_BYTES
  const first = Math.max(0, end - COMMENT_BYTES)
  while (end >= first && bytes.readUInt32LE(end) !== END) end--
  if (end < first || bytes.length < END_BYTES) throw broken()
  const entries = new Map<string, Entry>()
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== ENTRY) throw broken()
    const [name, extra, comment] = [28, 30, 32].map((place) => bytes.readUInt16LE(at + place)) as [
      number,
      number,
      number,
    ]
    entries.set(bytes.toString('utf8', at + 46, at + 46 + name), {
      isLocked: (bytes.readUInt16LE(at + 8) & ENCRYPTED) !== 0,
      method: bytes.readUInt16LE(at + 10),
      bytes: bytes.readUInt32LE(at + 20),
      at: bytes.readUInt32LE(at + 42),
    })
    at += 46 + name + extra + comment
  }
  return entries
}

function dataOf(bytes: Buffer, { at, bytes: length, method }: Entry): Buffer {
  if (at + 30 > bytes.length || bytes.readUInt32LE(at) !== FILE) throw broken()
  if (method !== STORED && method !== DEFLATED) throw broken()
  const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28)
  if (start + length > bytes.length) throw broken()
  return bytes.subarray(start, start + length)
}
