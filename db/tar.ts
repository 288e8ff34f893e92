/** A folder as a stream of tar bytes and back, of any size: files and folders, nothing else. */
import { createReadStream } from 'node:fs'
import { lstat, mkdir, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { BLOCK, paddingOf, sumOf, tarHeader } from '../src/contracts/tar-header.ts'

/** The name of an empty first entry, by which our backups are recognized. */
const MARK = 'svc-embedded-database-1'

/** The folder, and others under names of their own inside it. */
export async function* tarOf(
  folder: string,
  others: ReadonlyMap<string, string> = new Map(),
): AsyncGenerator<Buffer> {
  yield header(MARK, 0, '0')
  yield* entriesOf(folder, '')
  for (const [name, other] of others) {
    yield header(`${name}/`, 0, '5')
    yield* entriesOf(other, `${name}/`)
  }
  yield Buffer.alloc(2 * BLOCK)
}

async function* entriesOf(folder: string, prefix: string): AsyncGenerator<Buffer> {
  for (const name of (await readdir(folder, { recursive: true })).toSorted()) {
    const path = join(folder, name)
    const about = await lstat(path)
    if (about.isDirectory()) yield header(`${prefix}${name}/`, 0, '5')
    else if (about.isFile() && name !== 'postmaster.pid') {
      yield* fileEntry(path, `${prefix}${name}`, about.size)
    }
  }
}

async function* fileEntry(path: string, name: string, size: number): AsyncGenerator<Buffer> {
  yield header(name, size, '0')
  let read = 0
  for await (const bytes of createReadStream(path)) {
    read += (bytes as Buffer).length
    yield bytes as Buffer
  }
  if (read !== size) throw new Error(`${path} changed while it was read: is the database open elsewhere?`)
  yield Buffer.alloc(paddingOf(size))
}

function header(name: string, size: number, type: '0' | '5'): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`${name} has too long a name for a backup`)
  return tarHeader({ name, size, mode: type === '5' ? 0o700 : 0o600, type })
}

export async function untar(source: AsyncIterable<Buffer>, folder: string): Promise<void> {
  const bytes = new ExactReader(source)
  for (let first = true; ; first = false) {
    const block = await bytes.take(BLOCK)
    const entry = block.every((byte) => byte === 0) ? undefined : readHeader(block)
    if (first && entry?.name !== MARK) throw new Error('it was not made by a backup of svc')
    if (!entry) break
    if (first) continue
    if (entry.type === '5') await mkdir(join(folder, entry.name), { recursive: true, mode: 0o700 })
    else await writeEntry(join(folder, entry.name), entry.size, bytes)
  }
  // The checksum of the compression is at the end.
  await bytes.toEnd()
}

function readHeader(block: Buffer): { name: string; size: number; type: '0' | '5' } {
  const text = (from: number, length: number) =>
    block.toString('latin1', from, from + length).replace(/[\0 ].*$/s, '')
  const name = text(0, 100)
  const type = text(156, 1)
  const sum = Number.parseInt(text(148, 8), 8)
  block.fill(' ', 148, 156)
  const size = Number.parseInt(text(124, 12), 8)
  if (sum !== sumOf(block) || !Number.isSafeInteger(size)) throw new Error('an entry is damaged')
  // Nothing may be written outside the folder, whatever the file holds.
  if ((type !== '0' && type !== '5') || !/^(?!.*\.\.)[\w][\w.-]*(\/[\w][\w.-]*)*\/?$/.test(name)) {
    throw new Error('it holds something that is not a file of a database')
  }
  return { name, size, type }
}

async function writeEntry(path: string, size: number, bytes: ExactReader): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for (let left = size; left > 0;) {
      const part = await bytes.take(Math.min(left, 64 * 1024))
      await file.writeFile(part)
      left -= part.length
    }
    await bytes.take(paddingOf(size))
  } finally {
    await file.close()
  }
}

/** Reads an exact number of bytes from a stream of chunks. */
class ExactReader {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  async take(length: number): Promise<Buffer> {
    while (this.#rest.length < length) {
      const { value, done } = await this.#chunks.next()
      if (done) throw new Error('it ends too early')
      this.#rest = Buffer.concat([this.#rest, value])
    }
    const taken = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return taken
  }

  async toEnd(): Promise<void> {
    while (!(await this.#chunks.next()).done);
  }
}
