/** How much memory the engine of a managed database gets for pages of its tables and indexes. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The engine uses its buffers up to the last byte as soon as it starts. A database that fits into few loses nothing by them; one
 * of 100,000 vectors answers a third more slowly with the fewest than with the most (docs/decisions/0006-what-was-tried-for-speed.md).
 */
const BUFFERS_MB = { fewest: 16, most: 128 }

/** As much as it has files, and as much again to grow into. */
export async function buffersFor(folder: string): Promise<number> {
  const needed = Math.ceil(2 * (await megabytesOf(folder)))
  return Math.min(BUFFERS_MB.most, Math.max(BUFFERS_MB.fewest, needed))
}

/** Whether its files have become more than the buffers that it was opened with, and more can be given. */
export const hasOutgrown = async (folder: string, buffersMb: number): Promise<boolean> =>
  buffersMb < BUFFERS_MB.most && (await megabytesOf(folder)) > buffersMb

async function megabytesOf(folder: string): Promise<number> {
  const base = join(folder, 'base')
  const files = await readdir(base, { recursive: true }).catch(() => [])
  // One may be dropped meanwhile.
  const sizes = await Promise.all(
    files.map((file) =>
      stat(join(base, file)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0) / 2 ** 20
}
