/** Part of releasing: records what the skills of this version hold, and copies their bytes for the site to serve. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { History } from '../src/skills/history.ts'
import type { Manifest } from '../src/skills/read-published.ts'
import {
  asRelease,
  changedSinceRelease,
  PUBLISHED,
  publishedSkills,
  readHistory,
  RELEASED,
} from './generated/skills.ts'

/** `isTagged`: whether people have that version. Until then its entry is made anew; afterwards it never changes. */
export function recordRelease(root: string, isTagged: (version: string) => boolean): string {
  const history = readHistory(root)
  const manifest = manifestOf(root)
  const { version } = manifest
  if (changedSinceRelease(history, manifest) && isTagged(version)) {
    throw new Error(`${version} was released with other texts: raise the version first`)
  }
  const earlier = history.releases.filter((release) => release.version !== version)
  const next: History = { releases: [...earlier, asRelease(manifest)] }
  writeFileSync(join(root, 'skills/history.json'), `${JSON.stringify(next, null, 2)}\n`)

  rmSync(join(root, RELEASED), { recursive: true, force: true })
  // Once more, because clients tell a released file from an edited one by the history.
  for (const { path, bytes } of publishedSkills(root)) {
    write(root, path, bytes)
    write(root, path.replace(PUBLISHED, RELEASED), bytes)
  }
  return version
}

function manifestOf(root: string): Manifest {
  const file = publishedSkills(root).find(({ path }) => path === `${PUBLISHED}/manifest.json`)
  return JSON.parse(file!.bytes.toString('utf8')) as Manifest
}

function write(root: string, path: string, bytes: Buffer): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), bytes)
}
