/** How what is installed compares with what this client would install. */
import type { Plan, Verdict } from './plan.ts'

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
  add: 'missing',
  update: 'outdated',
  remove: 'outdated',
  refuse: 'edited',
  block: 'blocked',
}

export function statusOf({ id, version, root, targets, instructions }: Plan): Status {
  const folders = targets.map(({ dir, steps }) => ({
    dir,
    state: together(steps.map(({ verdict }) => STATE_OF[verdict.will])),
  }))
  const files = instructions.map(({ shown, verdict }) => ({
    path: shown,
    state: STATE_OF[verdict.will],
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

function together(states: readonly State[]): State {
  const worst = STATES.findLast((state) => states.includes(state)) ?? 'current'
  // Some files there and others not: begun, or of an earlier release.
  return worst === 'missing' && states.includes('current') ? 'outdated' : worst
}
