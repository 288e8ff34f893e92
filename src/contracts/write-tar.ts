/** Writes files as a tar archive, the same bytes for the same files. Plain, for the client too. */
import { BLOCK, paddingOf, tarHeader } from './tar-header.ts'

export type FileToArchive = {
  readonly path: string
  readonly content: Uint8Array
  readonly isExecutable: boolean
}

export function writeTar(files: readonly FileToArchive[]): Buffer {
  const parts: Buffer[] = []
  for (const { path, content, isExecutable } of files) {
    // Names that do not fit, or are not plain, stand in a record before the entry (POSIX pax).
    if (Buffer.byteLength(path) > 100 || !/^[\x20-\x7e]*$/.test(path)) {
      parts.push(...entry('x', 'PaxHeader', Buffer.from(paxRecord('path', path)), 0o644))
    }
    parts.push(...entry('0', path, content, isExecutable ? 0o755 : 0o644))
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}

function entry(type: '0' | 'x', name: string, content: Uint8Array, mode: number): Buffer[] {
  const size = content.length
  const bytes = Buffer.from(content.buffer, content.byteOffset, size)
  return [tarHeader({ name, size, mode, type }), bytes, Buffer.alloc(paddingOf(size))]
}

/** The length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest + String(rest).length
  if (rest + String(length).length !== length) length = rest + String(length).length
  return `${length} ${key}=${value}\n`
}
