/** Counts the questions to the cluster that are open, so that nobody can make this process ask without end. */
import { ClusterUnavailable } from '../../contracts/cluster-errors.ts'
import { CLUSTER_QUESTIONS } from '../../contracts/limits.ts'

type OpenQuestions = <T>(
  kind: keyof typeof CLUSTER_QUESTIONS,
  orgId: string,
  ask: () => Promise<T>,
) => Promise<T>

export function createOpenQuestions(): OpenQuestions {
  const open = new Map<string, number>()
  const add = (key: string, more: 1 | -1): void => {
    const count = (open.get(key) ?? 0) + more
    if (count > 0) open.set(key, count)
    else open.delete(key)
  }

  return async (kind, orgId, ask) => {
    const { total, perOrganization } = CLUSTER_QUESTIONS[kind]
    const own = `${kind} ${orgId}`
    if ((open.get(kind) ?? 0) >= total || (open.get(own) ?? 0) >= perOrganization) {
      throw new ClusterUnavailable('too many questions are open')
    }
    for (const key of [kind, own]) add(key, 1)
    try {
      return await ask()
    } finally {
      for (const key of [kind, own]) add(key, -1)
    }
  }
}
