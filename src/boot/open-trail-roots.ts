/** The folder of signed roots, where the operator has named one and the worker runs here. */
import type { Clock } from '../cores/dependencies.ts'
import type { TrailRoots } from '../cores/trail/index.ts'
import type { Config } from './config.ts'

export async function openTrailRoots(
  { TRAIL_ROOTS: folder, SVC_SERVICES }: Config,
  clock: Clock,
): Promise<TrailRoots | undefined> {
  if (folder === undefined || !SVC_SERVICES.includes('worker')) return undefined
  const { openRootsFolder } = await import('../adapters/trail/roots-folder.ts')
  return openRootsFolder(folder, { clock })
}
