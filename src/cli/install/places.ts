/** The folders and files an install is about: where the paths that agents look at really lie, each place once. */
import { dirname, join } from 'node:path'
import type { Disk } from './disk.ts'
import type { Where } from './find-root.ts'
import { resolveInside, shownIn } from './resolve-inside.ts'
import { ALWAYS, PROJECT_INSTRUCTIONS, USER_INSTRUCTIONS, WHERE_USED } from './where-agents-look.ts'

export type At = { readonly disk: Disk; readonly root: string }

export type Place = {
  readonly shown: string
  readonly real: string
  /** Paths that lead here by a link. */
  readonly links: readonly string[]
  /** Why nothing may be written here, whatever lies there. */
  readonly blocked?: string
}

export async function skillFolders(at: At, id: string, { user }: Where): Promise<Place[]> {
  const pick = (place: { project: string; user: string }) => (user ? place.user : place.project)
  const used: string[] = []
  for (const folder of WHERE_USED.map(pick)) {
    // A link out of the root is nobody's loss here: the two that are always served will do.
    const home = await resolveInside(at.disk, at.root, dirname(folder))
    if ('real' in home && (await isFolder(at, home.real))) used.push(folder)
  }
  return placesOf(
    at,
    [...ALWAYS.map(pick), ...used].map((folder) => `${folder}/${id}`),
  )
}

export async function instructionFiles(at: At, { user, agents }: Where): Promise<Place[]> {
  if (!agents) return []
  if (!user) return placesOf(at, PROJECT_INSTRUCTIONS)
  const files: string[] = []
  for (const file of USER_INSTRUCTIONS) {
    if (await isFolder(at, join(at.root, dirname(file)))) files.push(file)
  }
  return placesOf(at, files)
}

const isFolder = async ({ disk }: At, path: string): Promise<boolean> =>
  (await disk.stat(path).catch(() => undefined))?.isDirectory() ?? false

/** Paths that lead to the same place are one: the path without a link gives the name. */
async function placesOf({ disk, root }: At, paths: readonly string[]): Promise<Place[]> {
  const found = new Map<string, Place>()
  for (const path of paths) {
    const resolved = await resolveInside(disk, root, path)
    if ('blocked' in resolved) {
      found.set(path, { shown: path, real: join(root, path), links: [], blocked: resolved.blocked })
      continue
    }
    const { real } = resolved
    const shown = shownIn(root, real)
    const links = found.get(real)?.links ?? []
    found.set(real, { shown, real, links: shown === path ? links : [...links, path] })
  }
  return [...found.values()]
}
