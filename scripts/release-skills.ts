/** `node scripts/release-skills.ts`: writes down what this version's skills hold, as part of releasing it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Manifest } from '../src/skills/read-published.ts'
import { ROOT } from './generated/files.ts'
import {
  asRelease,
  changedSinceRelease,
  publishedSkills,
  readHistory,
  type History,
} from './generated/skills.ts'

const history = readHistory(ROOT)
const manifest = JSON.parse(readFileSync(join(ROOT, 'skills/published/manifest.json'), 'utf8')) as Manifest

const isStale = publishedSkills(ROOT).some(({ path, bytes }) => !readFileSync(join(ROOT, path)).equals(bytes))
if (isStale) throw new Error('skills/published is not fresh; run: npm run generate')
if (changedSinceRelease(history, manifest)) {
  throw new Error(`${manifest.version} was released with other texts: raise the version first`)
}
if (history.releases.some(({ version }) => version === manifest.version)) {
  console.log(`${manifest.version} is in the history already`)
} else {
  const next: History = { releases: [...history.releases, asRelease(manifest)] }
  writeFileSync(join(ROOT, 'skills/history.json'), `${JSON.stringify(next, null, 2)}\n`)
  console.log(`wrote ${manifest.version} into skills/history.json; now run: npm run generate`)
}
