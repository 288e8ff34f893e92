/** Reads files of a zip archive by name, and no more of them than there is room for. */
import { inflateRawSync } from 'node:zlib'
import { BrokenZip, readZip } from '../../contracts/read-zip.ts'
import { UnreadableFile } from './blocks.ts'

export type Zip = { read(name: string): Buffer | undefined }

export function openZip(content: Uint8Array, inflatedMax: number): Zip {
  const entries = new Map(unlessBroken(() => readZip(content)).map((entry) => [entry.name, entry]))
  let left = inflatedMax
  return {
    read(name) {
      const entry = entries.get(name)
      if (!entry) return undefined
      if (entry.isEncrypted) throw new UnreadableFile('It is protected by a password.')
      const data = unlessBroken(() => entry.data())
      const read = entry.isDeflated ? inflate(data, left) : data
      left -= read.length
      return read
    },
  }
}

const broken = () => new UnreadableFile('It is broken: its archive cannot be read.')

function unlessBroken<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof BrokenZip ? broken() : error
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
