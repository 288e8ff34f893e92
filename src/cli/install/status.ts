/** The state of an installed skill, compared with the bundled one. */
import type { Decision, Plan } from './plan.ts'

export type Status = {
  readonly id: string
  readonly version: string
  readonly root: string
  readonly state: State
  readonly targets: readonly { readonly dir: string; readonly state: State }[]
  readonly agents_files: readonly { readonly path: string; readonly state: State }[]
}

/** From best to worst; a folder has the worst state of its files. */
const STATES = ['current', 'missing', 'outdated', 'edited', 'blocked'] as const
export type State = (typeof STATES)[number]

const STATE_OF: Record<Decision['action'], State> = {
  leave: 'current',
  create: 'missing',
  add: 'missing',
  update: 'outdated',
  remove: 'outdated',
  refuse: 'edited',
  block: 'blocked',
}

export function statusOf({ id, version, root, targets, instructions }: Plan): Status {
  const folders = targets.map(({ dir, steps }) => ({
    dir,
    state: worstState(steps.map(({ decision }) => STATE_OF[decision.action])),
  }))
  const files = instructions.map(({ shown, decision }) => ({
    path: shown,
    state: STATE_OF[decision.action],
  }))
  return {
    id,
    version,
    root,
    state: worstState([...folders, ...files].map(({ state }) => state)),
    targets: folders,
    agents_files: files,
  }
}

function worstState(states: readonly State[]): State {
  const worst = STATES.findLast((state) => states.includes(state)) ?? 'current'
  // Some files exist and others do not: interrupted, or of an earlier release.
  return worst === 'missing' && states.includes('current') ? 'outdated' : worst
}
