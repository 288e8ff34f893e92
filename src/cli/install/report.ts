/** What an install did, would do or refused: as a document for programs and as lines for people. */
import { ServiceError } from '../../contracts/errors.ts'
import { inOrder, type Plan, type Step, type Verdict } from './plan.ts'

export type Refusal = {
  readonly path: string
  readonly why: string
  /** Whether --force would overwrite it. */
  readonly forceable: boolean
}

type Action = 'created' | 'updated' | 'overwritten' | 'removed' | 'unchanged' | 'refused' | 'not_written'

export type Report = {
  readonly id: string
  readonly version: string
  readonly root: string
  /** True: nothing was written, and the actions are what would be done. */
  readonly dry_run: boolean
  readonly targets: readonly {
    readonly dir: string
    readonly links: readonly string[]
    readonly files: readonly { readonly path: string; readonly action: Action; readonly sha256?: string }[]
  }[]
  readonly agents_files: readonly {
    readonly path: string
    readonly links: readonly string[]
    readonly action: Action
  }[]
  readonly refused: readonly Refusal[]
  /** Where an install that had begun came to an end; what stands above is still what was done. */
  readonly failed?: Failure
}

export type Failure = {
  readonly path: string
  readonly why: string
  readonly code: 'CONFLICT' | 'UNEXPECTED'
}

export type Outcome = 'written' | 'already' | 'not reached'

export const refusals = (plan: Plan, { force = false }: { force?: boolean } = {}): Refusal[] =>
  inOrder(plan).flatMap(({ shown: path, verdict }): Refusal[] => {
    if (verdict.will === 'block') return [{ path, why: verdict.why, forceable: false }]
    if (verdict.will === 'refuse' && !force) return [{ path, why: verdict.why, forceable: true }]
    return []
  })

export function reportOn(
  plan: Plan,
  {
    force = false,
    dryRun = false,
    outcomeOf,
    failed,
  }: {
    force?: boolean
    dryRun?: boolean
    outcomeOf: (step: Step) => Outcome
    failed?: Failure | undefined
  },
): Report {
  const refused = refusals(plan, { force })
  const actionOf = (step: Step): Action => {
    const { will } = step.verdict
    if (will === 'leave') return 'unchanged'
    if (will === 'block' || (will === 'refuse' && !force)) return 'refused'
    const outcome = refused.length > 0 ? 'not reached' : outcomeOf(step)
    return outcome === 'written' ? DONE[will] : outcome === 'already' ? 'unchanged' : 'not_written'
  }
  return {
    id: plan.id,
    version: plan.version,
    root: plan.root,
    dry_run: dryRun,
    targets: plan.targets.map(({ dir, links, steps }) => ({
      dir,
      links,
      files: steps.map((step) => ({
        path: step.path,
        action: actionOf(step),
        ...(step.sha256 !== undefined && { sha256: step.sha256 }),
      })),
    })),
    agents_files: plan.instructions.map((step) => ({
      path: step.shown,
      links: step.links,
      action: actionOf(step),
    })),
    refused,
    ...(failed && { failed }),
  }
}

const DONE: Record<Exclude<Verdict['will'], 'leave' | 'block'>, Action> = {
  create: 'created',
  update: 'updated',
  add: 'updated',
  refuse: 'overwritten',
  remove: 'removed',
}

/** One line for every folder and file: `.claude/skills/svc: updated 3, unchanged 7`. */
export const linesOf = (report: Report): string[] => [
  ...report.targets.map(({ dir, links, files }) => {
    const counts = new Map<Action, number>()
    for (const { action } of files) counts.set(action, (counts.get(action) ?? 0) + 1)
    return `${named(dir, links)}: ${[...counts].map(([action, count]) => `${words(action)} ${count}`).join(', ')}`
  }),
  ...report.agents_files.map(({ path, links, action }) => `${named(path, links)}: ${words(action)}`),
]

const words = (action: Action): string => action.replace('_', ' ')
const named = (path: string, links: readonly string[]): string =>
  printable(links.length > 0 ? `${path} (also ${links.join(', ')})` : path)

/** Folders and links may be named by whoever made the repository, with what a terminal would obey. */
const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- those are meant
  text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')

/** The failure to leave the program with, if this was one. */
export function objectionTo({ refused, failed }: Report): ServiceError | undefined {
  if (failed) {
    return new ServiceError(failed.code, printable(`${failed.path}: ${failed.why}`), {
      hint: 'What is listed as done is done and whole; run the same command again for the rest.',
    })
  }
  if (refused.length === 0) return undefined
  const forceable = refused.every((refusal) => refusal.forceable)
  return new ServiceError('CONFLICT', 'Nothing was written: some files are not for svc to overwrite', {
    problems: refused.map(({ path, why }) => printable(`${path} ${why}`)),
    hint: forceable
      ? 'Keep your version, or overwrite it: run the same command with --force.'
      : 'Put right what is listed; --force does not overwrite what svc would have to guess about.',
  })
}
