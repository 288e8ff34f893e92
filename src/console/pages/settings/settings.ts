/** Organization settings > General: name, time zone and who invites in one form, and support access. */
import { html } from 'hono/html'
import { removeOrganization, updateOrganization } from '../../../contracts/organizations.ts'
import { submit } from '../../act.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { attempt, statusOf, text, formCard } from '../../forms.ts'
import { page } from '../../layout.ts'
import { pair, day } from '../../components.ts'
import { card, choice } from '../../../pages/parts.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { endAccessLink } from '../receipts/end-access-link.ts'
import { showRemoved } from '../receipts/receipts.ts'
import { supportAccessCard } from './support-sessions.ts'

const PATH = '/console/settings/organization'

export const settingsRoutes = () =>
  createRoutes()
    .get('/settings', (c) => c.redirect(PATH))
    .get('/settings/organization', (c) => showSettings(c))
    .post('/settings/organization', save)
    .post('/settings/organization/remove', remove)

const SETTINGS = formOf(updateOrganization, ['name', 'timezone'])
const REMOVE = formOf(removeOrganization, ['confirm'])

async function showSettings(c: PageContext, refused?: Refused) {
  const organization = organizationOf(c)
  const session = sessionOf(c)
  return page(c, {
    title: 'General',
    lead: hasRole(session, 'admin') ? undefined : 'Owners and admins can change these settings.',
    status: statusOf(refused?.problem),
    body: html`
      ${
        hasRole(session, 'admin') &&
        formCard(c, {
          of: SETTINGS.show({ now: organization, refused }),
          title: 'Organization',
          action: PATH,
          fields: html`${SETTINGS.show({ now: organization, refused }).all()} ${whoInvites(c, refused)}`,
          submit: 'Save settings',
        })
      }
      ${await supportAccessCard(c)}
      ${card(
        'Details',
        html`<dl class="pairs">
          ${!hasRole(session, 'admin') && html`${pair('Name', organization.name)} ${pair('Time zone', organization.timezone)} ${pair('Invitations', organization.admins_may_invite ? 'By owners and admins' : 'By owners')}`}
          ${pair('Slug', html`<code>${organization.slug}</code>`)}
          ${pair('ID', html`<code>${organization.id}</code>`)}
          ${pair('Email domains', organization.domains.length > 0 ? organization.domains.join(', ') : 'None. The operator of this service sets them.')}
          ${pair('Created', day(organization.created_at))}
        </dl>`,
      )}
      ${hasRole(session, 'owner') && session.support === undefined && endings(c, refused)}
    `,
  })
}

const endings = (c: PageContext, refused: Refused | undefined) =>
  html`${card(
    'End all access',
    html`<p>All agents, API tokens and credentials end, in all processes. Members stay, and sign in again.</p>
      <div class="actions">${endAccessLink('organization')}</div>`,
  )}
  ${formCard(c, {
    of: REMOVE.show({ refused }),
    title: 'Remove the organization',
    lead: 'Its databases, documents, apps and everything else are deleted. This cannot be undone. The operator keeps its sealed trail for a while.',
    action: `${PATH}/remove`,
    submit: 'Remove organization',
  })}`

/** Only owners decide who invites. */
function whoInvites(c: PageContext, refused: Refused | undefined) {
  if (!hasRole(sessionOf(c), 'owner')) return null
  const isOn = refused ? text(refused.form, 'who') === 'admins' : organizationOf(c).admins_may_invite
  return html`<fieldset>
    <legend>Who can invite people</legend>
    ${choice('radio', 'who', 'owners', !isOn, 'Owners')}
    ${choice('radio', 'who', 'admins', isOn, 'Owners and admins', 'Admins can invite up to admin, not owners.')}
  </fieldset>`
}

const save = submit(SETTINGS, {
  input: (sent) => (sent.has('who') ? { admins_may_invite: text(sent, 'who') === 'admins' } : {}),
  again: showSettings,
  done: () => [PATH, 'Settings saved.'],
})

/** Nobody is a member who could open the receipt later, so the page has it. */
async function remove(c: PageContext) {
  const input = { confirm: text(c.get('form'), 'confirm'), org_id: organizationOf(c).id }
  const result = await attempt(() => sessionOf(c).call(removeOrganization, input))
  if ('problem' in result) return showSettings(c, refuse(c, result.problem, REMOVE))
  return showRemoved(c, result.done)
}
