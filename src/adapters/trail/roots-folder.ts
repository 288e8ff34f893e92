/** The operator's folder of signed roots: one file a month, one seal a line, only ever appended to. */
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../cores/dependencies.ts'
import type { TrailRoots } from '../../cores/trail/index.ts'

/** Rejects, by the name of the setting, where the folder cannot be written to: that is tried. */
export async function openRootsFolder(
  folder: string,
  { clock }: { readonly clock: Clock },
): Promise<TrailRoots> {
  const append = async (text: string): Promise<void> => {
    const file = await open(join(folder, `trail-${clock().toISOString().slice(0, 7)}.ndjson`), 'a', 0o600)
    try {
      await file.appendFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
  }
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await append('')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    throw new Error(`TRAIL_ROOTS: ${folder} cannot be written to (${code})`, { cause: error })
  }
  return {
    append: (seals) => append(seals.map((seal) => `${JSON.stringify(seal)}\n`).join('')),
  }
}
