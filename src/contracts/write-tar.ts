/** Writes files as a tar archive, the same bytes for the same files. Plain, for the client too. */

export type FileToArchive = {
  readonly path: string
  readonly content: Uint8Array
  readonly isExecutable: boolean
}

const BLOCK = 512

export function writeTar(files: readonly FileToArchive[]): Buffer {
  const parts: Buffer[] = []
  for (const { path, content, isExecutable } of files) {
    // Names that do not fit, or are not plain, stand in a record before the entry (POSIX pax).
    if (Buffer.byteLength(path) > 100 || !/^[\x20-\x7e]*$/.test(path)) {
      parts.push(...entry('x', 'PaxHeader', Buffer.from(paxRecord('path', path)), 0o644))
    }
    parts.push(
      ...entry('0', Buffer.from(path).toString('latin1', 0, 100), content, isExecutable ? 0o755 : 0o644),
    )
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}

function entry(type: string, name: string, content: Uint8Array, mode: number): Buffer[] {
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0, 100, 'latin1')
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
  octal(mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(content.length, 124, 12)
  octal(0, 136, 12)
  header.write('        ', 148, 'latin1')
  header.write(type, 156, 'latin1')
  header.write('ustar\u000000', 257, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)
  return [header, Buffer.from(content.buffer, content.byteOffset, content.byteLength), padding]
}

/** The length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest + String(rest).length
  if (rest + String(length).length !== length) length = rest + String(length).length
  return `${length} ${key}=${value}\n`
}
