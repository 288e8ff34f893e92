/** Counts the questions to the cluster that are open, so that nobody can make this process ask without end. */
import { ClusterUnavailable } from '../../contracts/cluster-errors.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { createFairQueue } from '../work/index.ts'

type OpenQuestions = <T>(kind: Kind, orgId: string, ask: () => Promise<T>) => Promise<T>

type Kind = 'acceptedBefore' | 'newcomer' | 'account'

export function createOpenQuestions(): OpenQuestions {
  const open = {
    acceptedBefore: createFairQueue(FAIR_QUEUES.clusterAcceptedBefore),
    newcomer: createFairQueue(FAIR_QUEUES.clusterNewcomers),
    account: createFairQueue(FAIR_QUEUES.clusterAccounts),
  }
  return async (kind, orgId, ask) => {
    const turn = open[kind].start([orgId], undefined)
    if (!turn) throw new ClusterUnavailable('too many questions are open')
    try {
      return await ask()
    } finally {
      turn.end()
    }
  }
}
