/** To the proposal that has waited longest for somebody who may approve it. */
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listProposalQueue } from '../../../contracts/proposals.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { redirectWithMessage } from '../../flash.ts'
import { proposalPath, QUEUE_PATH, unlessOff } from '../maintenance/maintenance-labels.ts'

/** Nobody waits for more of them. */
const PAGES_MAX = 20

export const nextProposalRoutes = () => createRoutes().get('/proposals/next', openNext)

async function openNext(c: PageContext) {
  const { id: org_id } = organizationOf(c)
  const asked = { org_id, state: 'ready', limit: PAGE_MAX } as const
  let next: { readonly app: string; readonly id: string } | undefined
  let cursor: string | undefined
  // Newest first: the one that has waited longest is on the last page that has one.
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const listed = await unlessOff(
      sessionOf(c).call(listProposalQueue, { ...asked, ...(cursor && { cursor }) }),
    )
    next = listed?.proposals.findLast(({ decision }) => decision.can.approve) ?? next
    cursor = listed?.next_cursor
    if (cursor === undefined) break
  }
  if (!next) return redirectWithMessage(c, QUEUE_PATH, 'No proposal waits for your approval.')
  return c.redirect(proposalPath(next.app, next.id), 302)
}
