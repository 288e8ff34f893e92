/** Reads what lies where a skill goes and has a verdict passed on each file. */
import { join } from 'node:path'
import type { BlockPlace, Skill } from '../../skills/bundle.ts'
import type { At, Place } from './places.ts'
import {
  decideBlock,
  decideFile,
  decideGone,
  type Instructions,
  type Step,
  type Target,
  type Verdict,
} from './plan.ts'
import { readPlace, reasonNotToWrite, type Found } from './read-place.ts'
import { resolveInside, shownIn } from './resolve-inside.ts'

export async function targetAt(at: At, skill: Skill, place: Place): Promise<Target> {
  const { shown: dir, real, links, blocked } = place
  if (blocked !== undefined) return { dir, links, steps: [blockedStep(dir, real, blocked)] }
  return { dir, links, steps: [...(await bundled(at, skill, place)), ...(await gone(at, skill, place))] }
}

export async function instructionsAt(
  at: At,
  skill: Skill,
  { shown, real, links, blocked }: Place,
  place: BlockPlace,
): Promise<Instructions> {
  if (blocked !== undefined) return { ...blockedStep(shown, real, blocked), links }
  const step = await stepAt(at, shown, real, (found) => decideBlock(skill, place, found))
  return { ...step, path: shown, links }
}

async function bundled(at: At, skill: Skill, folder: Place): Promise<Step[]> {
  const steps: Step[] = []
  for (const file of skill.files) {
    const shown = `${folder.shown}/${file.path}`
    const resolved = await resolveInside(at.disk, at.root, shown)
    const known = skill.known.get(file.path) ?? new Set()
    const step =
      'blocked' in resolved
        ? blockedStep(shown, join(folder.real, file.path), resolved.blocked)
        : await stepAt(at, shown, resolved.real, (found) => decideFile(file, known, found))
    steps.push({ ...step, path: file.path, sha256: file.sha256 })
  }
  return steps
}

/** Only files of earlier releases are asked for, by name: whatever else lies in the folder is never looked at. */
async function gone(at: At, skill: Skill, folder: Place): Promise<Step[]> {
  const steps: Step[] = []
  for (const [path, known] of skill.known) {
    if (skill.files.some((file) => file.path === path)) continue
    const [shown, real] = [`${folder.shown}/${path}`, join(folder.real, path)]
    const resolved = await resolveInside(at.disk, at.root, shown)
    // What is reached by a link is not where we put it.
    if ('blocked' in resolved || resolved.real !== real) continue
    const step = await stepAt(at, shown, real, (found) => decideGone(known, found))
    if (step.verdict.will !== 'leave') steps.push({ ...step, path })
  }
  return steps
}

async function stepAt(
  { disk, root }: At,
  path: string,
  real: string,
  decide: (found: Found) => Verdict,
): Promise<Step> {
  const found = await readPlace(disk, real)
  const verdict = decide(found)
  const writes = verdict.will !== 'leave' && verdict.will !== 'block'
  const why = writes ? await reasonNotToWrite(disk, real, found) : undefined
  const there = shownIn(root, real)
  const shown = there === path ? path : `${path} (a link to ${there})`
  return { shown, path, real, found, verdict: why === undefined ? verdict : { will: 'block', why } }
}

const blockedStep = (shown: string, real: string, why: string): Step => ({
  shown,
  path: shown,
  real,
  found: { is: 'blocked', why },
  verdict: { will: 'block', why },
})
