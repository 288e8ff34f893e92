/** The loops that send the trail on. Several, so that a receiver that is slow keeps no other waiting. */
import { sendTrail, type SendTrailDeps } from '../cores/trail/index.ts'
import type { Log } from '../cores/dependencies.ts'
import { startLoops } from '../cores/work/index.ts'
import { nextDue } from './next-due.ts'

const LOOPS = 4

export const startTrail = (deps: SendTrailDeps & Log): { stop(): Promise<void> } =>
  startLoops(deps, [
    {
      name: 'trail: send',
      beside: LOOPS,
      due: () => nextDue(deps, 'trailStream'),
      turn: async () => ((await sendTrail(deps)) ? 'again' : null),
    },
  ])
