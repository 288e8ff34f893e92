/** A reproducible tar archive of a few small files: the same bytes wherever and whenever it is built. */
import { BLOCK, paddingOf, tarHeader } from '../contracts/tar-header.ts'

type Entry = { readonly path: string; readonly bytes: Uint8Array }

/** 1985-10-26T08:15Z, as npm sets it for every file: some tools complain about 1970. */
const MODIFIED = 499_162_500

/** In the given order: regular files only, owner 0, mode 644. */
export function writeUstar(entries: readonly Entry[]): Buffer {
  const parts = entries.flatMap(({ path, bytes }) => [
    header(path, bytes.length),
    bytes,
    Buffer.alloc(paddingOf(bytes.length)),
  ])
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}

function header(path: string, size: number): Buffer {
  // Longer names need an extension that readers of skill archives do not know.
  if (!/^[\w-][\w./-]{0,98}$/.test(path) || path.split('/').some((part) => /^\.{0,2}$/.test(part))) {
    throw new Error(`${path} is no name for a file of a skill`)
  }
  return tarHeader({ name: path, size, mode: 0o644, type: '0', modified: MODIFIED })
}

/** Reads only what `writeUstar` wrote: the digest was checked before. */
export function readUstar(archive: Buffer): Entry[] {
  const entries: Entry[] = []
  for (let at = 0; archive[at];) {
    const size = Number.parseInt(archive.toString('latin1', at + 124, at + 135), 8)
    const path = archive.toString('latin1', at, at + 100).replace(/\0.*$/s, '')
    const from = at + BLOCK
    entries.push({ path, bytes: archive.subarray(from, from + size) })
    at = from + size + paddingOf(size)
  }
  return entries
}
