/** Reads the existing files and decides what to do with each. */
import { join } from 'node:path'
import type { InstallScope, Skill } from '../../skills/bundle.ts'
import type { InstallPath, InstallRoot } from './install-paths.ts'
import {
  decideBlock,
  decideFile,
  decideRemovedFile,
  type Instructions,
  type Step,
  type Target,
  type Decision,
} from './plan.ts'
import { readExistingFile, whyNotWritable, type Found } from './read-existing-file.ts'
import { resolveInside, shownIn } from './resolve-inside.ts'

export async function targetAt(at: InstallRoot, skill: Skill, folder: InstallPath): Promise<Target> {
  const { shown: dir, real, links, blocked } = folder
  if (blocked !== undefined) return { dir, links, steps: [blockedStep(dir, real, blocked)] }
  return {
    dir,
    links,
    steps: [...(await bundledFiles(at, skill, folder)), ...(await removedFiles(at, skill, folder))],
  }
}

export async function instructionsAt(
  at: InstallRoot,
  skill: Skill,
  { shown, real, links, blocked }: InstallPath,
  scope: InstallScope,
): Promise<Instructions> {
  if (blocked !== undefined) return { ...blockedStep(shown, real, blocked), links }
  const step = await stepAt(at, shown, real, (found) => decideBlock(skill, scope, found))
  return { ...step, path: shown, links }
}

async function bundledFiles(at: InstallRoot, skill: Skill, folder: InstallPath): Promise<Step[]> {
  const steps: Step[] = []
  for (const file of skill.files) {
    const shown = `${folder.shown}/${file.path}`
    const resolved = await resolveInside(at.fs, at.root, shown)
    const known = skill.known.get(file.path) ?? new Set()
    const step =
      'blocked' in resolved
        ? blockedStep(shown, join(folder.real, file.path), resolved.blocked)
        : await stepAt(at, shown, resolved.real, (found) => decideFile(file, known, found))
    steps.push({ ...step, path: file.path, sha256: file.sha256 })
  }
  return steps
}

/** Only files of earlier releases, by name: other files in the folder are never read. */
async function removedFiles(at: InstallRoot, skill: Skill, folder: InstallPath): Promise<Step[]> {
  const steps: Step[] = []
  for (const [path, known] of skill.known) {
    if (skill.files.some((file) => file.path === path)) continue
    const [shown, real] = [`${folder.shown}/${path}`, join(folder.real, path)]
    const resolved = await resolveInside(at.fs, at.root, shown)
    // Reached by a link, so not the file that an install wrote.
    if ('blocked' in resolved || resolved.real !== real) continue
    const step = await stepAt(at, shown, real, (found) => decideRemovedFile(known, found))
    if (step.decision.action !== 'leave') steps.push({ ...step, path })
  }
  return steps
}

async function stepAt(
  { fs, root }: InstallRoot,
  path: string,
  real: string,
  decide: (found: Found) => Decision,
): Promise<Step> {
  const found = await readExistingFile(fs, real)
  const decision = decide(found)
  const writes = decision.action !== 'leave' && decision.action !== 'block'
  const why = writes ? await whyNotWritable(fs, real, found) : undefined
  const there = shownIn(root, real)
  const shown = there === path ? path : `${path} (a link to ${there})`
  return { shown, path, real, found, decision: why === undefined ? decision : { action: 'block', why } }
}

const blockedStep = (shown: string, real: string, why: string): Step => ({
  shown,
  path: shown,
  real,
  found: { is: 'blocked', why },
  decision: { action: 'block', why },
})
