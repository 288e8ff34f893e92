/** The report of an install: as data, as lines, and as an error. */
import { ServiceError } from '../../contracts/errors.ts'
import { inOrder, type Decision, type Plan, type Step } from './plan.ts'

export type RefusedFile = {
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
  /** True: nothing was written; the actions are what would be done. */
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
  readonly refused: readonly RefusedFile[]
  /** Where the install stopped; the actions above it were done. */
  readonly failed?: Failure
}

export type Failure = {
  readonly path: string
  readonly why: string
  readonly code: 'CONFLICT' | 'UNEXPECTED'
}

export type Outcome = 'written' | 'already' | 'not reached'

export const refusedFiles = (plan: Plan, { force = false }: { force?: boolean } = {}): RefusedFile[] =>
  inOrder(plan).flatMap(({ shown: path, decision }): RefusedFile[] => {
    if (decision.action === 'block') return [{ path, why: decision.why, forceable: false }]
    if (decision.action === 'refuse' && !force) return [{ path, why: decision.why, forceable: true }]
    return []
  })

export function buildReport(
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
  const refused = refusedFiles(plan, { force })
  const actionOf = (step: Step): Action => {
    const { action } = step.decision
    if (action === 'leave') return 'unchanged'
    if (action === 'block' || (action === 'refuse' && !force)) return 'refused'
    const outcome = refused.length > 0 ? 'not reached' : outcomeOf(step)
    return outcome === 'written' ? DONE[action] : outcome === 'already' ? 'unchanged' : 'not_written'
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

const DONE: Record<Exclude<Decision['action'], 'leave' | 'block'>, Action> = {
  create: 'created',
  update: 'updated',
  add: 'updated',
  refuse: 'overwritten',
  remove: 'removed',
}

/** One line for every folder and file: `.claude/skills/svc: updated 3, unchanged 7`. */
export const formatReport = (report: Report): string[] => [
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

/** Names of folders and links come from the repository and may contain control characters. */
const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')

export function installError({ refused, failed }: Report): ServiceError | undefined {
  if (failed) {
    return new ServiceError(failed.code, printable(`${failed.path}: ${failed.why}`), {
      hint: 'Files listed as written are complete. Run the command again for the rest.',
    })
  }
  if (refused.length === 0) return undefined
  const forceable = refused.every((file) => file.forceable)
  return new ServiceError('CONFLICT', 'Nothing was written: some files cannot be overwritten', {
    problems: refused.map(({ path, why }) => printable(`${path} ${why}`)),
    hint: forceable
      ? 'To overwrite your edits, run the command again with --force.'
      : 'Fix the listed files first; --force does not overwrite them.',
  })
}
