/** The skills of the newest release: what the site serves, whatever the texts of this checkout say. */
import { readFileSync } from 'node:fs'
import type { PublishedBundle, PublishedSkill } from './bundle.ts'
import type { History, ReleasedSkill } from './history.ts'
import { readPublishedSkills } from './read-published.ts'

const SKILLS = new URL('../../skills/', import.meta.url)

/** Undefined before the first release. */
export function readReleasedSkills(folder: URL = SKILLS): PublishedBundle | undefined {
  const { releases } = JSON.parse(readFileSync(new URL('history.json', folder), 'utf8')) as History
  const newest = releases.at(-1)
  if (!newest) return undefined
  const bundle = readPublishedSkills(new URL('released/', folder))
  const isNewest =
    bundle.version === newest.version &&
    bundle.skills.length === Object.keys(newest.skills).length &&
    bundle.skills.every((skill) => holds(newest.skills[skill.id], skill))
  if (!isNewest) throw new Error(`skills/released is not what skills/history.json says of ${newest.version}`)
  return bundle
}

const holds = (released: ReleasedSkill | undefined, { files }: PublishedSkill): boolean =>
  released !== undefined &&
  files.length === Object.keys(released.files).length &&
  files.every(({ path, sha256 }) => released.files[path] === sha256)

/** Whether a program whose own texts are `own` is of that release: only then its commit is the release's. */
export const hasSameFiles = (released: PublishedBundle, own: PublishedBundle): boolean =>
  released.version === own.version && digestsOf(released) === digestsOf(own)

const digestsOf = ({ skills }: PublishedBundle): string =>
  skills.flatMap(({ id, files }) => files.map(({ path, sha256 }) => `${id}/${path} ${sha256}`)).join('\n')
