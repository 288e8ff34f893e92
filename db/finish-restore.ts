/**
 * A restore exchanges two folders, ours and that of the managed databases. Which renames that takes is written down in one
 * file first: until it is there nothing has changed, and from then on whoever opens the folder next does what is left.
 */
import { access, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Names in the data folder. */
export type Move = { readonly from: string; readonly to: string }

const markerIn = (dataFolder: string): string => join(dataFolder, 'restore.json')

/** The caller holds the lock of the data folder. */
export async function exchangeFolders(dataFolder: string, moves: readonly Move[]): Promise<void> {
  const marker = markerIn(dataFolder)
  const partial = `${marker}.partial`
  const file = await open(partial, 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify({ moves }))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, marker)
  const moved: Move[] = []
  try {
    await finishRestore(dataFolder, moved)
  } catch (error) {
    // A folder that cannot be moved, a mount say, never can: the next start would fail as well.
    for (const { from, to } of moved.toReversed()) await rename(join(dataFolder, to), join(dataFolder, from))
    await rm(marker, { force: true })
    const reason = error instanceof Error ? error.message : 'unknown reason'
    throw new Error(`The folders cannot be exchanged, and nothing was changed: ${reason}`, { cause: error })
  }
}

/** The caller holds the lock of the data folder. False where nothing was left to do. What it moves is added to `moved`. */
export async function finishRestore(dataFolder: string, moved: Move[] = []): Promise<boolean> {
  const marker = markerIn(dataFolder)
  await rm(`${marker}.partial`, { force: true })
  const text = await readFile(marker, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return false
  const { moves } = JSON.parse(text) as { readonly moves: readonly Move[] }
  for (const { from, to } of moves) {
    const [source, target] = [join(dataFolder, from), join(dataFolder, to)]
    // What was moved already is gone from its place, or somebody else has come there since.
    if (!(await isThere(source)) || (await isThere(target))) continue
    await rename(source, target)
    moved.push({ from, to })
  }
  await rm(marker)
  return true
}

export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
