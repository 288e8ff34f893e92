/** To the proposal that has waited longest for somebody who may approve it. */
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listProposalQueue } from '../../../contracts/proposals.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { redirectWithMessage } from '../../flash.ts'
import { proposalPath, QUEUE_PATH, unlessOff } from '../maintenance/maintenance-labels.ts'

export const nextProposalRoutes = () => createRoutes().get('/proposals/next', openNext)

async function openNext(c: PageContext) {
  const { id: org_id } = organizationOf(c)
  const asked = { org_id, state: 'ready', limit: PAGE_MAX } as const
  const listed = await unlessOff(sessionOf(c).call(listProposalQueue, asked))
  const next = listed?.proposals.findLast(({ decision }) => decision.can.approve)
  if (!next) return redirectWithMessage(c, QUEUE_PATH, 'No proposal waits for your approval.')
  return c.redirect(proposalPath(next.app, next.id), 302)
}
