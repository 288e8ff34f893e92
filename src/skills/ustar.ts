/** A reproducible tar archive of a few small files: the same bytes wherever and whenever it is built. */

type Entry = { readonly path: string; readonly bytes: Uint8Array }

/** The format works in blocks of this size. */
const BLOCK = 512
/** 1985-10-26T08:15Z, as npm sets it for every file: some tools complain about 1970. */
const MODIFIED = 499_162_500

/** POSIX.1-1988 "ustar", in the given order: regular files only, owner 0, mode 644. */
export function writeUstar(entries: readonly Entry[]): Buffer {
  const parts = entries.flatMap(({ path, bytes }) => [
    header(path, bytes.length),
    bytes,
    Buffer.alloc(padding(bytes.length)),
  ])
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}

function header(path: string, size: number): Buffer {
  // Longer names need an extension that readers of skill archives do not know.
  if (!/^[\w-][\w./-]{0,98}$/.test(path) || path.split('/').some((part) => /^\.{0,2}$/.test(part))) {
    throw new Error(`${path} is no name for a file of a skill`)
  }
  const block = Buffer.alloc(BLOCK)
  block.write(path, 0)
  block.write('0000644', 100)
  block.write('0000000', 108)
  block.write('0000000', 116)
  block.write(octal(size), 124)
  block.write(octal(MODIFIED), 136)
  block.write('        ', 148)
  block.write('0', 156)
  block.write('ustar\u000000', 257)
  const sum = block.reduce((all, byte) => all + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** Reads only what `writeUstar` wrote: the digest was checked before. */
export function readUstar(archive: Buffer): Entry[] {
  const entries: Entry[] = []
  for (let at = 0; archive[at];) {
    const size = Number.parseInt(archive.toString('latin1', at + 124, at + 135), 8)
    const path = archive.toString('latin1', at, at + 100).replace(/\0.*$/s, '')
    const from = at + BLOCK
    entries.push({ path, bytes: archive.subarray(from, from + size) })
    at = from + size + padding(size)
  }
  return entries
}

const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK
const octal = (value: number): string => value.toString(8).padStart(11, '0')
