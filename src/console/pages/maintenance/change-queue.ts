/** The change queue: proposals of all apps, those that need a reviewer first of all. */
import { PROPOSAL_STATES } from '../../../contracts/outcomes.ts'
import { listProposalQueue } from '../../../contracts/proposals.ts'
import { html } from 'hono/html'
import { selectField } from '../../../pages/parts.ts'
import { emptyState, listCard } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { page } from '../../layout.ts'
import { MAINTENANCE_PATH, PROPOSAL_LABELS, unlessOff } from './maintenance-labels.ts'
import { proposalColumns, proposalRow } from './proposal-rows.ts'

export const changeQueueRoutes = () => createRoutes().get('/proposals', showQueue)

async function showQueue(c: PageContext) {
  const { id: org_id } = organizationOf(c)
  const query = c.req.query()
  const state = PROPOSAL_STATES.find((one) => one === query['state'])
  const listed = await unlessOff(
    sessionOf(c).call(listProposalQueue, { org_id, state, cursor: query['cursor'], count: 'true' }),
  )
  return page(c, {
    title: 'Change queue',
    lead: 'What the maintenance agent proposes, over all apps. It never decides itself.',
    body: listCard(c, {
      label: 'Filter proposals',
      filters: selectField({
        name: 'state',
        label: 'State',
        value: state ?? '',
        options: [
          { value: '', label: 'Waiting for somebody' },
          ...PROPOSAL_STATES.map((value) => ({ value, label: PROPOSAL_LABELS[value].label })),
        ],
      }),
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
          : emptyState(
              state === undefined ? 'Nothing to review' : 'No proposals in this state',
              state === undefined ? 'New proposals are listed here.' : 'Try a different one.',
            ),
      next: listed?.next_cursor,
      total: listed?.total,
    }),
  })
}
