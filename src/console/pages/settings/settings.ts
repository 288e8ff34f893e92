/** Organization settings > General: name, time zone, who invites, support access. */
import { html } from 'hono/html'
import { removeOrganization, updateOrganization } from '../../../contracts/organizations.ts'
import { formOf, submit, type Refused } from '../../fields.ts'
import { statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage } from '../../flash.ts'
import { page } from '../../layout.ts'
import { pair, day } from '../../components.ts'
import { card, choice } from '../../../pages/parts.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { endAccessLink } from '../receipts/end-access-link.ts'
import { supportAccessCard } from './support-sessions.ts'

const PATH = '/console/settings/organization'

export const settingsRoutes = () =>
  createRoutes()
    .get('/settings', (c) => c.redirect(PATH))
    .get('/settings/organization', (c) => showSettings(c))
    .post('/settings/organization', rename)
    .post('/settings/organization/invitations', setInvitationPolicy)
    .post('/settings/organization/timezone', setTimezone)
    .post('/settings/organization/remove', remove)

const RENAME = formOf(updateOrganization, ['name'])
const REMOVE = formOf(removeOrganization, ['confirm'])
const SET_TIMEZONE = formOf(updateOrganization, ['timezone'])

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
          of: RENAME.show({ now: organization, refused }),
          title: 'Name',
          action: PATH,
          submit: 'Save name',
        })
      }
      ${timezone(c, refused)}
      ${invitationSettings(c)}
      ${await supportAccessCard(c)}
      ${card(
        'Details',
        html`<dl class="pairs">
          ${pair('Name', organization.name)} ${pair('Slug', html`<code>${organization.slug}</code>`)}
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
      ${endAccessLink('organization')}`,
  )}
  ${formCard(c, {
    of: REMOVE.show({ refused }),
    title: 'Remove the organization',
    lead: 'Its databases, documents, apps and everything else are deleted. This cannot be undone. The operator keeps its sealed trail for a while.',
    action: `${PATH}/remove`,
    submit: 'Remove organization',
  })}`

function timezone(c: PageContext, refused: Refused | undefined) {
  const organization = organizationOf(c)
  if (!hasRole(sessionOf(c), 'admin')) return card('Time zone', html`<p>${organization.timezone}</p>`)
  return formCard(c, {
    of: SET_TIMEZONE.show({ now: organization, refused }),
    title: 'Time zone',
    action: `${PATH}/timezone`,
    submit: 'Save time zone',
  })
}

function invitationSettings(c: PageContext) {
  const { admins_may_invite: isOn } = organizationOf(c)
  if (!hasRole(sessionOf(c), 'owner')) {
    return card(
      'Invitations',
      html`<p>${isOn ? 'Owners and admins can invite people.' : 'Owners can invite people.'}</p>`,
    )
  }
  return formCard(c, {
    title: 'Invitations',
    action: `${PATH}/invitations`,
    fields: html`<fieldset>
      <legend>Who can invite people</legend>
      ${choice('radio', 'who', 'owners', !isOn, 'Owners')}
      ${choice('radio', 'who', 'admins', isOn, 'Owners and admins', 'Admins can invite up to admin, not owners.')}
    </fieldset>`,
    submit: 'Save',
  })
}

const rename = (c: PageContext) =>
  submit(c, RENAME, {
    also: { org_id: organizationOf(c).id },
    again: showSettings,
    done: ({ name }) => [PATH, `Organization renamed to ${name}.`],
  })

async function setInvitationPolicy(c: PageContext) {
  const admins_may_invite = text(c.get('form'), 'who') === 'admins'
  await sessionOf(c).call(updateOrganization, { org_id: organizationOf(c).id, admins_may_invite })
  return redirectWithMessage(
    c,
    PATH,
    admins_may_invite ? 'Owners and admins can now invite people.' : 'Only owners can now invite people.',
  )
}

const setTimezone = (c: PageContext) =>
  submit(c, SET_TIMEZONE, {
    also: { org_id: organizationOf(c).id },
    again: showSettings,
    done: ({ timezone }) => [PATH, `Time zone changed to ${timezone}.`],
  })

const remove = (c: PageContext) =>
  submit(c, REMOVE, {
    also: { org_id: organizationOf(c).id },
    again: showSettings,
    done: ({ of }) => ['/console', `${of.name} is removed.`],
  })
