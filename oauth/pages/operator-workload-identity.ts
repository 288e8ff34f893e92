/** For the operator: whether workload identity works in this process, and who may use it. */
import { html } from 'hono/html'
import { card } from '../../src/pages/parts.ts'
import { checkPermission } from '../../src/cores/workloads/index.ts'
import type { Content } from '../../src/pages/skeleton.ts'
import type { AuthDeps } from '../dependencies.ts'
import { operatorPage } from './operator.ts'

type Workloads = NonNullable<AuthDeps['workloads']>

const LEADS = {
  workers: 'It does not work: workers that come without a token are not let in.',
  binding: 'No further service account can be bound. Those that are bound work.',
} as const

export const showWorkloadIdentity = operatorPage('workload-identity', async ({ workloads }) => {
  if (!workloads) {
    return {
      lead: 'Workload identity is off in this process.',
      body: card(
        'Why',
        html`<p>The auth-service does not run in a cluster, or WORKLOAD_IDENTITY_ENABLED is off. Workers use a token.</p>`,
      ),
    }
  }
  checkPermission(workloads)
  const { problem } = workloads.status()
  return {
    lead: problem ? LEADS[problem.stops] : 'No problem is known.',
    body: html`${card('This process', facts(thisProcess(workloads)))}
    ${card('Namespaces', namespaceList(workloads), 'WORKLOAD_NAMESPACES gives them to organizations.')}`,
  }
})

function thisProcess(workloads: Workloads): [string, Content][] {
  const { problem, answeredAt } = workloads.status()
  return [
    ['API server', workloads.address],
    ['Audience', workloads.audience],
    ['Last answer', answeredAt?.toISOString() ?? 'none yet'],
    ['Problem', problem ? `${problem.reason} (since ${problem.since.toISOString()})` : 'none'],
  ]
}

const namespaceList = ({ namespaces }: Workloads) =>
  namespaces.size === 0
    ? html`<p>None: no service account can be bound.</p>`
    : facts([...namespaces].map(([orgId, names]) => [orgId, names.join(', ')]))

const facts = (pairs: readonly (readonly [string, Content])[]) =>
  html`<dl class="pairs">
    ${pairs.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
  </dl>`
