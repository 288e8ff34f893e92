/** End access: somebody else was in, so everything made since then ends, of oneself, a member or the whole organization. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { endAccessSince } from '../../../contracts/access.ts'
import { idPattern } from '../../../contracts/ids.ts'
import { listMembers } from '../../../contracts/members.ts'
import { selectField, type Option } from '../../../pages/parts.ts'
import { memberOptions } from '../../components.ts'
import { createRoutes, hasRole, sessionOf, type PageContext } from '../../context.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { redirectWithMessage } from '../../flash.ts'
import { attempt, formCard, statusOf, text } from '../../forms.ts'
import { page } from '../../layout.ts'

const PATH = '/console/end-access'
const DAY_MS = 24 * 60 * 60 * 1000

const END = formOf(endAccessSince, ['since'], { since: { label: 'Made since (UTC)' } })

export const endAccessRoutes = () =>
  createRoutes()
    .get('/end-access', (c) => showEndAccess(c))
    .post('/end-access', endAccess)

async function showEndAccess(c: PageContext, refused?: Refused) {
  const yesterday = new Date(c.var.deps.clock().getTime() - DAY_MS).toISOString()
  const form = END.show({ now: { since: yesterday }, refused })
  return page(c, {
    title: 'End access',
    lead: 'Somebody else had access? End everything that was made since then.',
    status: statusOf(refused?.problem),
    body: formCard(c, {
      action: PATH,
      of: form,
      fields: html`<ul>
          <li><strong>Sessions</strong> end, except this one. People sign in again.</li>
          <li><strong>API tokens</strong> are revoked, with all tokens that were created with them.</li>
          <li>
            <strong>Agents</strong> are disconnected, credentials of machine agents revoked, and links to the identity
            provider removed that were made by hand.
          </li>
          <li>
            <strong>Tokens of apps</strong> and of <strong>SCIM</strong> that were created or rotated since then are revoked,
            and service accounts that were bound removed: those programs stop.
          </li>
          <li><strong>Invitations</strong> that are still open are revoked.</li>
        </ul>
        ${selectField({
          name: 'whose',
          label: 'Whose',
          value: (refused && text(refused.form, 'whose')) ?? c.req.query('user') ?? 'mine',
          options: await whoseOptions(c),
        })}
        ${form.field('since')}
        <p class="note">It cannot be undone. Change your password too, under <a href="/console/profile">Profile</a>.</p>`,
      submit: 'End access',
      kind: 'danger',
    }),
  })
}

async function whoseOptions(c: PageContext): Promise<Option[]> {
  const session = sessionOf(c)
  const mine = { value: 'mine', label: 'Mine, in all organizations' }
  if (!session.organization || !hasRole(session, 'admin')) return [mine]
  const { id, name } = session.organization
  const { members } = await session.call(listMembers, { org_id: id, limit: 200 })
  return [mine, { value: 'everybody', label: `Everybody in ${name}` }, ...memberOptions(members)]
}

async function endAccess(c: PageContext) {
  const whose = text(c.get('form'), 'whose')
  const result = await attempt(() =>
    sessionOf(c).call(endAccessSince, {
      ...END.read(c.get('form')),
      all: whose === 'everybody',
      ...(idPattern('usr').test(whose) && { user_id: whose }),
    }),
  )
  if ('problem' in result) return showEndAccess(c, refuse(c, result.problem))
  return redirectWithMessage(c, PATH, `Ended: ${countsOf(result.done)}.`)
}

type Ended = z.output<typeof endAccessSince.output>

function countsOf({ sessions, tokens, grants, credentials, invitations }: Ended): string {
  const count = (n: number, one: string) => `${n} ${one}${n === 1 ? '' : 's'}`
  return [
    count(sessions, 'session'),
    count(tokens, 'API token'),
    count(grants, 'agent'),
    // Most people have none.
    ...(credentials > 0 ? [`${count(credentials, 'credential')} of machine agents, apps and SCIM`] : []),
    count(invitations, 'invitation'),
  ].join(', ')
}
