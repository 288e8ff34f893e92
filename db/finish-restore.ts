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
  await finishRestore(dataFolder)
}

/** The caller holds the lock of the data folder. False where nothing was left to do. */
export async function finishRestore(dataFolder: string): Promise<boolean> {
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
    if ((await isThere(source)) && !(await isThere(target))) await rename(source, target)
  }
  await rm(marker)
  return true
}

export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
