/** The change queue: proposals of all apps, those that need a reviewer first of all. */
import { listProposalQueue } from '../../../contracts/proposals.ts'
import { html } from 'hono/html'
import { emptyState, listCard } from '../../components.ts'
import { createRoutes, organizationOf, type PageContext } from '../../context.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'
import { MAINTENANCE_PATH, PROPOSAL_LABELS, unlessOff } from './maintenance-labels.ts'
import { proposalColumns, proposalRow } from './proposal-rows.ts'

const QUEUE = listOf(listProposalQueue, {
  state: { label: 'State', all: 'Waiting for somebody', labels: PROPOSAL_LABELS },
})

export const changeQueueRoutes = () => createRoutes().get('/proposals', showQueue)

async function showQueue(c: PageContext) {
  const { id: org_id } = organizationOf(c)
  const listed = await unlessOff(QUEUE.call(c, { org_id }))
  return page(c, {
    title: 'Change queue',
    lead: 'What the maintenance agent proposes, over all apps. It never decides itself.',
    body: listCard(c, {
      changes: ['proposals', 'deployments'],
      noun: 'proposals',
      ...QUEUE.parts(c, listed ?? {}),
      caption: 'Proposals of all apps, newest first',
      columns: proposalColumns(true),
      rows: (listed?.proposals ?? []).map((one) => proposalRow(one, true)),
      empty:
        listed === undefined
          ? emptyState(
              'The maintenance agent is off',
              'Once it is on, its proposals are listed here.',
              html`<a href="${MAINTENANCE_PATH}">Maintenance agent</a>`,
            )
          : emptyState('Nothing to review', 'New proposals are listed here.'),
    }),
  })
}
