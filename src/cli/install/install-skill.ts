/** Installs a skill where coding agents look for it: first a plan, made by reading only, then the writes. Content alone decides. */
import { join } from 'node:path'
import type { Skill } from '../../skills/bundle.ts'
import { DISK, sentenceFor, type Disk } from './disk.ts'
import { findRoot, type Where } from './find-root.ts'
import {
  decideBlock,
  decideFile,
  decideGone,
  inOrder,
  withoutCollisions,
  type Plan,
  type Step,
  type Target,
  type Verdict,
} from './plan.ts'
import { readPlace, reasonNotToWrite, type Found } from './read-place.ts'
import { refusals, reportOn, type Failure, type Outcome, type Report } from './report.ts'
import { resolveInside, shownIn } from './resolve-inside.ts'
import { clearStaleTemps } from './stale-temps.ts'
import { ALWAYS, PROJECT_INSTRUCTIONS, USER_INSTRUCTIONS, WHERE_USED } from './where-agents-look.ts'
import { ChangedMeanwhile, removeFile, replaceFile } from './write-file.ts'

export { linesOf, objectionTo, refusals } from './report.ts'
export type { Plan } from './plan.ts'
export type { Report } from './report.ts'

export async function planInstall(skill: Skill, where: Where, disk: Disk = DISK): Promise<Plan> {
  const root = await findRoot(disk, where)
  const at = { disk, root }
  const targets: Target[] = []
  for (const { shown, real, links, blocked } of await places(at, await skillFolders(at, skill.id, where))) {
    const steps = blocked === undefined ? await stepsIn(at, skill, real) : [blockedStep(shown, real, blocked)]
    targets.push({ dir: shown, links, steps })
  }
  const instructions: (Step & { links: readonly string[] })[] = []
  for (const { shown, real, links, blocked } of await places(at, await instructionFiles(at, where))) {
    const step =
      blocked === undefined
        ? await stepAt(at, { shown, path: shown, real }, (found) =>
            decideBlock(skill, where.user ? 'user' : 'project', found),
          )
        : blockedStep(shown, real, blocked)
    instructions.push({ ...step, links })
  }
  return withoutCollisions({ id: skill.id, version: skill.version, root, targets, instructions })
}

/** What `applyPlan` would do. */
export const tryPlan = (plan: Plan, { force = false }: { force?: boolean } = {}): Report =>
  reportOn(plan, { force, dryRun: true, outcomeOf: () => 'written' })

/** Writes nothing at all if anything is refused. Ends at the first failure, with every file either old or new. */
export async function applyPlan(
  plan: Plan,
  { force = false }: { force?: boolean } = {},
  disk: Disk = DISK,
): Promise<Report> {
  const outcomes = new Map<Step, Outcome>()
  const outcomeOf = (step: Step): Outcome => outcomes.get(step) ?? 'not reached'
  if (refusals(plan, { force }).length > 0) return reportOn(plan, { force, outcomeOf })
  const steps = inOrder(plan)
  await clearStaleTemps(
    disk,
    steps.map(({ real }) => real),
  )
  for (const step of steps) {
    try {
      outcomes.set(step, await take(disk, step))
    } catch (error) {
      return reportOn(plan, { force, outcomeOf, failed: failureAt(step, error) })
    }
  }
  return reportOn(plan, { force, outcomeOf })
}

async function take(disk: Disk, { real, found, verdict }: Step): Promise<Outcome> {
  if ('after' in verdict) return replaceFile(disk, { real, found, after: verdict.after })
  if (verdict.will !== 'remove') return 'already'
  await removeFile(disk, real, found)
  return 'written'
}

const failureAt = ({ shown: path }: Step, error: unknown): Failure =>
  error instanceof ChangedMeanwhile
    ? { path, code: 'CONFLICT', why: 'was changed by somebody else during the install' }
    : { path, code: 'UNEXPECTED', why: `could not be written: ${sentenceFor(error)}` }

export type Status = {
  readonly id: string
  readonly version: string
  readonly root: string
  readonly state: State
  readonly targets: readonly { readonly dir: string; readonly state: State }[]
  readonly agents_files: readonly { readonly path: string; readonly state: State }[]
}

/** From best to worst: what is made of several is in the worst state of them. */
const STATES = ['current', 'missing', 'outdated', 'edited', 'blocked'] as const
export type State = (typeof STATES)[number]

const STATE_OF: Record<Verdict['will'], State> = {
  leave: 'current',
  create: 'missing',
  update: 'outdated',
  remove: 'outdated',
  refuse: 'edited',
  block: 'blocked',
}

/** How what is there compares with what this client would install. */
export function statusOf({ id, version, root, targets, instructions }: Plan): Status {
  const folders = targets.map(({ dir, steps }) => ({
    dir,
    state: together(steps.map(({ verdict }) => STATE_OF[verdict.will])),
  }))
  const files = instructions.map(({ shown, found, verdict }) => ({
    path: shown,
    // A file of the user's without our block is not an old one of ours.
    state: verdict.will === 'update' && !hadBlock(found, verdict.after) ? 'missing' : STATE_OF[verdict.will],
  }))
  return {
    id,
    version,
    root,
    state: together([...folders, ...files].map(({ state }) => state)),
    targets: folders,
    agents_files: files,
  }
}

/** A new block is put behind all that was there. */
const hadBlock = (found: Found, after: Buffer): boolean =>
  found.is === 'file' && !after.subarray(0, found.bytes.length).equals(found.bytes)

function together(states: readonly State[]): State {
  const worst = STATES.findLast((state) => states.includes(state)) ?? 'current'
  // Some files there and others not: begun, or of an earlier release.
  return worst === 'missing' && states.includes('current') ? 'outdated' : worst
}

type At = { readonly disk: Disk; readonly root: string }

async function skillFolders(at: At, id: string, { user }: Where): Promise<string[]> {
  const folders = ALWAYS.map((place) => (user ? place.user : place.project))
  for (const place of WHERE_USED) {
    const folder = user ? place.user : place.project
    if (await isUsed(at, folder)) folders.push(folder)
  }
  return folders.map((folder) => `${folder}/${id}`)
}

async function instructionFiles(at: At, { user, agents }: Where): Promise<string[]> {
  if (!agents) return []
  if (!user) return [...PROJECT_INSTRUCTIONS]
  const files: string[] = []
  for (const file of USER_INSTRUCTIONS) if (await isUsed(at, file)) files.push(file)
  return files
}

/** The agent's own folder is there: the one above. */
async function isUsed({ disk, root }: At, path: string): Promise<boolean> {
  const seen = await disk.stat(join(root, path, '..')).catch(() => undefined)
  return seen?.isDirectory() ?? false
}

type Place = { shown: string; real: string; links: string[]; blocked?: string }

/** Where each path leads; those that lead to the same place are one, and the path without a link gives the name. */
async function places({ disk, root }: At, paths: readonly string[]): Promise<Place[]> {
  const found = new Map<string, Place>()
  for (const path of paths) {
    const resolved = await resolveInside(disk, root, path)
    if ('blocked' in resolved) {
      found.set(path, { shown: path, real: join(root, path), links: [], blocked: resolved.blocked })
      continue
    }
    const { real } = resolved
    const shown = shownIn(root, real)
    const place = found.get(real) ?? { shown, real, links: [] }
    if (shown !== path) place.links.push(path)
    found.set(real, place)
  }
  return [...found.values()]
}

async function stepsIn(at: At, skill: Skill, folder: string): Promise<Step[]> {
  const steps: Step[] = []
  const dir = shownIn(at.root, folder)
  for (const file of skill.files) {
    const shown = `${dir}/${file.path}`
    const resolved = await resolveInside(at.disk, at.root, shown)
    const known = skill.known.get(file.path) ?? new Set()
    const step =
      'blocked' in resolved
        ? blockedStep(shown, join(folder, file.path), resolved.blocked)
        : await stepAt(at, { shown, path: file.path, real: resolved.real }, (found) =>
            decideFile(file, known, found),
          )
    steps.push({ ...step, path: file.path, sha256: file.sha256 })
  }
  for (const [path, known] of skill.known) {
    if (skill.files.some((file) => file.path === path)) continue
    const real = join(folder, path)
    const resolved = await resolveInside(at.disk, at.root, `${dir}/${path}`)
    // What is reached by a link is not where we put it.
    if ('blocked' in resolved || resolved.real !== real) continue
    const step = await stepAt(at, { shown: `${dir}/${path}`, path, real }, (found) =>
      decideGone(known, found),
    )
    if (step.verdict.will !== 'leave') steps.push(step)
  }
  return steps
}

async function stepAt(
  { disk, root }: At,
  { shown, path, real }: { shown: string; path: string; real: string },
  decide: (found: Found) => Verdict,
): Promise<Step> {
  const found = await readPlace(disk, real)
  const verdict = decide(found)
  const reason =
    verdict.will === 'leave' || verdict.will === 'block'
      ? undefined
      : await reasonNotToWrite(disk, real, found)
  const there = shownIn(root, real)
  return {
    shown: there === shown ? shown : `${shown} (a link to ${there})`,
    path,
    real,
    found,
    verdict: reason === undefined ? verdict : { will: 'block', why: reason },
  }
}

const blockedStep = (shown: string, real: string, why: string): Step => ({
  shown,
  path: shown,
  real,
  found: { is: 'blocked', why },
  verdict: { will: 'block', why },
})
