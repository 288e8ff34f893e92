/** The loop of pull requests: what is to be opened, and what is watched until it has landed. */
import { workPullRequest, type PullRequestDeps } from '../cores/remotes/index.ts'
import { startLoops } from '../cores/work/index.ts'
import { nextDue } from './next-due.ts'

/** In a process: a host that hangs keeps one of them for minutes. */
const BESIDE = 4

export const startPullRequests = (deps: PullRequestDeps): { stop(): Promise<void> } =>
  startLoops(deps, [
    {
      name: 'pull requests',
      topics: ['pull-requests'],
      beside: BESIDE,
      due: () => nextDue(deps, 'pullRequest'),
      turn: async (stopping) => ((await workPullRequest(deps, stopping)) ? 'again' : null),
    },
  ])
